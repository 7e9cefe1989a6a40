// Joining a cluster: the call of who wants in, and the head's desk for it.
//
// A join is answered when the core has admitted the caller, so the desk keeps
// the call open meanwhile. What comes before this node knows who it is waits
// too.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_NET_GRPC_JOIN_H_
#define HOPLITE_NET_GRPC_JOIN_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "hoplite/base/mutex.h"
#include "hoplite/net/control_transport.h"
#include "hoplite/net/exchange_call.h"
#include "hoplite/net/host_port.h"

namespace hoplite {

// Asks the head, by the deadline of `context`, and waits for the answer.
// Errors: kUnavailable, kDeadlineExceeded, kFailedPrecondition, kCancelled
// where `context` was; each names the head.
absl::StatusOr<Welcome> CallJoin(const HostPort& head,
                                 const std::string& control_address,
                                 const std::string& data_address,
                                 const std::string& agent_address,
                                 grpc::ClientContext& context);
// The same for a member that returns. Errors: kAborted too, where the head says
// that this incarnation is over.
absl::StatusOr<Welcome> CallReturn(const HostPort& head,
                                   const ClusterView& view,
                                   grpc::ClientContext& context);

class JoinDesk {
 public:
  using Notify = std::function<void(Event)>;

  // Takes calls from now on. Ownership: both must outlive Close.
  JoinDesk(wire::Control::AsyncService* service,
           grpc::ServerCompletionQueue* queue);

  // Says who this node is; only the head, node 1, takes anybody in. Waiting
  // calls are handed to `notify` at once, later ones as they come, each under
  // no lock.
  void Start(NodeRef self, Notify notify);
  // Answers a call by its token; one that is gone or unknown is passed over.
  void Admit(std::uint64_t token, const Welcome& welcome);
  void RefuseReturn(std::uint64_t token, absl::string_view reason);
  // Refuses all that wait. The server must be shut down beside.
  void BeginClose();
  // Returns when no operation is under way. REQUIRES: BeginClose; the server
  // shuts down.
  void AwaitClosed();

 private:
  struct Call {
    grpc::ServerContext context;
    wire::JoinRequest request;
    grpc::ServerAsyncResponseWriter<wire::JoinReply> writer{&context};
    Operation arrived;
    Operation finished;
  };

  void Await() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void HandleArrived(Call* call, bool ok);
  void HandleFinished(Call* call);
  // What the head is to hear of the call, which has its token then; nullopt
  // where it is refused.
  std::optional<Event> Consider(Call* call)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<Event> ConsiderReturn(Call* call)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The call that waits under the token, which it no longer does; or null.
  Call* Take(std::uint64_t token) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Refuse(Call* call, grpc::StatusCode code, std::string reason)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  wire::Control::AsyncService* const service_;
  grpc::ServerCompletionQueue* const queue_;

  Mutex mutex_;
  CondVar gone_;
  NodeRef self_ ABSL_GUARDED_BY(mutex_);
  Notify notify_ ABSL_GUARDED_BY(mutex_);
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::uint64_t last_token_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<Call*, std::unique_ptr<Call>> calls_ ABSL_GUARDED_BY(mutex_);
  std::vector<Call*> early_ ABSL_GUARDED_BY(mutex_);
  std::map<std::uint64_t, Call*> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hoplite

#endif  // HOPLITE_NET_GRPC_JOIN_H_
