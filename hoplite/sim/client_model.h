// The clients of all nodes: they ask, write the buffers that they are handed,
// read what they get, and let go of it again.
//
// Not responsible for: what to ask and when (Workload); judging the answers.
// Thread safety: none; one thread at a time.
// Units: bytes.

#ifndef HOPLITE_SIM_CLIENT_MODEL_H_
#define HOPLITE_SIM_CLIENT_MODEL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "hoplite/core/command.h"
#include "hoplite/sim/node_host.h"

namespace hoplite::sim {

// How a client puts an object.
struct PutSpec {
  NodeId node;
  ObjectId object;
  std::uint64_t size = 0;
  absl::Time deadline = absl::InfiniteFuture();
  bool with_payload = false;    // small, in one go
  bool streams = false;         // reductions may read before the Seal
  bool abandons = false;        // gives up instead of sealing
  absl::Duration writing_time;  // from HandBuffer to the last byte
};
struct GetSpec {
  NodeId node;
  ObjectId object;
  absl::Time deadline = absl::InfiniteFuture();
  absl::Duration reading_time;  // how long the answer is held
};
struct DeleteSpec {
  NodeId node;
  ObjectId object;
  absl::Time deadline = absl::InfiniteFuture();
};
struct ReduceSpec {
  NodeId node;
  ObjectId target;
  std::vector<ObjectId> sources;
  std::uint32_t count = 0;
  ReduceOp op = ReduceOp::kSum;
  DataType type = DataType::kF32;
  absl::Time deadline = absl::InfiniteFuture();
};

// A request, named over the whole cluster.
using RequestKey = std::pair<NodeId, RequestId>;
using OnAnswer = std::function<void(const command::AnswerRequest&)>;

class ClientModel {
 public:
  // Ownership: keeps `host`.
  explicit ClientModel(NodeHost* host) : host_(host) {}

  // Each asks at once; `on_answer`, where there is one, hears the answer.
  RequestKey Put(const PutSpec& spec, OnAnswer on_answer = nullptr);
  RequestKey Get(const GetSpec& spec, OnAnswer on_answer = nullptr);
  RequestKey Delete(const DeleteSpec& spec, OnAnswer on_answer = nullptr);
  RequestKey Reduce(const ReduceSpec& spec, OnAnswer on_answer = nullptr);
  // Gives a request up; nothing where it is answered.
  void Cancel(RequestKey request);

  // The commands that concern clients.
  void HandBuffer(NodeId node, const command::HandBuffer& order);
  void Answer(NodeId node, const command::AnswerRequest& answer);

  // The node's life has ended: its clients are told, by nobody in particular.
  void NodeDown(NodeId node);

  // Requests that have not been answered.
  std::size_t open_requests() const { return open_.size(); }

 private:
  struct Request {
    OnAnswer on_answer;
    PutSpec put;      // of a Put
    BufferId writes;  // the buffer that it has been handed
    bool is_get = false;
    absl::Duration reading_time;  // of a Get
  };

  RequestKey Open(NodeId node, Request request);
  void Abort(RequestKey key);
  // Writes the next piece of the Put's buffer.
  void Write(RequestKey key, std::uint64_t pieces_left);
  void EndWriting(RequestKey key);

  NodeHost* const host_;
  std::map<NodeId, RequestId> last_request_;
  std::map<RequestKey, Request> open_;
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_CLIENT_MODEL_H_
