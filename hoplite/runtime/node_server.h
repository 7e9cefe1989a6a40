// NodeServer is one node of a cluster: it wires machine, transports, store and
// clients together, and runs them.
//
// Start listens, joins (or begins) a cluster, and serves until Stop. A node
// that learns that it was declared dead drops everything and joins again, as a
// new one and empty; a head whose address was that of another cluster's head
// becomes that one's successor. Both are a new life of the same NodeServer:
// requests of the old one, and those in between, end with kUnavailable, and the
// connections of workers end.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_RUNTIME_NODE_SERVER_H_
#define HOPLITE_RUNTIME_NODE_SERVER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hoplite/base/id_prefix.h"
#include "hoplite/base/mutex.h"
#include "hoplite/net/control_transport.h"
#include "hoplite/runtime/background_thread.h"
#include "hoplite/runtime/event_recorder.h"
#include "hoplite/runtime/membership_notifier.h"
#include "hoplite/runtime/node_life.h"
#include "hoplite/runtime/node_options.h"
#include "hoplite/runtime/request_port.h"
#include "hoplite/runtime/transfer_log.h"

namespace hoplite {

class NodeServer final : public RequestPort {
 public:
  // Makes the transports of a life, which listen where the options say.
  using Opener = std::function<absl::StatusOr<Transports>(const NodeOptions&)>;

  // Listens over gRPC and TCP. Joins as soon as the head is up, at most
  // options.join_timeout from now.
  // Errors: kUnavailable: cannot listen, or could not reach the head in that
  // time, and why; kDeadlineExceeded: the head did not answer in that time;
  // kInvalidArgument: an address is none, or options.record no file that can
  // be written; kResourceExhausted: no memory for the store; kAlreadyExists:
  // another node serves options.socket_path.
  // Ownership: options.membership_observer outlives the node.
  static absl::StatusOr<std::unique_ptr<NodeServer>> Start(
      const NodeOptions& options);
  // The same over other transports. The options of a later life name the
  // address at which the first one listened.
  static absl::StatusOr<std::unique_ptr<NodeServer>> StartOver(
      const NodeOptions& options, Opener opener);
  // As Stop does.
  ~NodeServer() override;

  // Answers every request with kCancelled, leaves the cluster and ends all
  // connections, also where a next life is beginning; takes at most a second or
  // two. REQUIRES: not called by a RequestObserver or MembershipObserver.
  void Stop();

  // host:port of the control plane, with the real port: what others join by.
  std::string control_address() const;
  // Empty where it serves no clients.
  std::string socket_path() const;

  // Whoever made the ids that begin so is gone. The shards that this node
  // hosts, now or later in this life, delete every such object as Delete does,
  // and refuse later Puts and Reduces of one with kNotFound: ten minutes, or
  // until 4,096 later prefixes. A later life knows nothing of it.
  void EndPrefix(const IdPrefix& prefix);

  // What has been pulled into this node in this life: the last ones.
  std::vector<TransferRecord> Transfers();

  RequestId NewRequest() override;
  void Submit(Event event, std::shared_ptr<RequestObserver> observer) override;
  void Filled(RequestId request) override;
  void Cancel(RequestId request) override;
  NodeReport Report() override;

 private:
  // How a life begins, beside the options.
  struct Beginning {
    ClusterId cluster;              // of a head that succeeds another
    std::uint64_t head_number = 0;  // likewise
  };
  using LifePtr = std::shared_ptr<NodeLife>;

  NodeServer(const NodeOptions& options, Opener opener);

  // Null between two lives.
  LifePtr life() const;
  absl::StatusOr<LifePtr> Begin(const Beginning& beginning);
  absl::StatusOr<Welcome> Join(ControlTransport& control,
                               absl::string_view data_address,
                               absl::string_view agent_address);
  // On the own thread: ends the present life, and begins the next one.
  void LiveAgain(const command::EndLife& end);
  // False: it stops.
  bool Pause();

  NodeOptions options_;  // changed by Begin only
  const Opener opener_;
  std::unique_ptr<EventRecorder> recorder_;               // or null
  const std::unique_ptr<MembershipNotifier> membership_;  // or null
  std::atomic<std::uint64_t> lives_ = 0;

  mutable Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  LifePtr life_ ABSL_GUARDED_BY(mutex_);
  ControlTransport* joining_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::string control_address_ ABSL_GUARDED_BY(mutex_);
  std::string socket_path_ ABSL_GUARDED_BY(mutex_);

  BackgroundThread next_life_;  // last: its work uses the rest
};

// `listen`, with the real port of a node that listens there at `address`.
std::string SamePlace(absl::string_view listen, absl::string_view address);

// `listen` as others dial it: a wildcard becomes the host of `address`, at
// which they reach the node.
std::string Advertised(absl::string_view listen, absl::string_view address);

}  // namespace hoplite

#endif  // HOPLITE_RUNTIME_NODE_SERVER_H_
