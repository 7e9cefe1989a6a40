#include "hoplite/net/grpc_control.h"

#include <utility>

#include "absl/synchronization/mutex.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/net/grpc_node.h"
#include "hoplite/net/host_port.h"

namespace hoplite {

absl::StatusOr<std::unique_ptr<ControlTransport>> GrpcControl::Listen(
    const GrpcControlOptions& options) {
  HOPLITE_ASSIGN_OR_RETURN(HostPort listen, HostPort::Parse(options.listen));
  // gRPC locks with absl::Mutex, whose search for deadlocks is on in Debian's
  // build and costs a twentieth of a message.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  auto node = std::make_unique<GrpcNode>(std::move(listen), options.advertise);
  HOPLITE_RETURN_IF_ERROR(node->Open());
  return node;
}

}  // namespace hoplite
