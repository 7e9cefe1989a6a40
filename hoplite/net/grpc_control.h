// The control transport over gRPC, one polling thread for all streams.
//
// That thread reads, decodes and hands over; who sends, writes from its own
// thread. A message to a peer goes on the stream that this node uses for it:
// one that the peer has opened, if there is any, else one of its own. A stream
// begins with a hello, with the first messages in the same write.
//
// A peer that cannot be reached is tried again after a pause that doubles from
// 50 ms to 1 s; what is sent meanwhile waits.
//
// Thread safety: thread-safe; see control_transport.h. Shutdown and the
// destructor may not be called from a callback.

#ifndef HOPLITE_NET_GRPC_CONTROL_H_
#define HOPLITE_NET_GRPC_CONTROL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "hoplite/net/control_transport.h"

namespace hoplite {

struct GrpcControlOptions {
  // HOST:PORT; port 0 takes a free one.
  std::string listen = "127.0.0.1:0";
  // The host that peers are told; empty: that of `listen`, or, where that is a
  // wildcard, this machine's on the way to the head (for the head itself: on
  // its default route).
  std::string advertise;
};

class GrpcControl {
 public:
  // Errors: kInvalidArgument where an address is malformed or not this
  // machine's, kFailedPrecondition "address in use", kPermissionDenied.
  static absl::StatusOr<std::unique_ptr<ControlTransport>> Listen(
      const GrpcControlOptions& options);
};

}  // namespace hoplite

#endif  // HOPLITE_NET_GRPC_CONTROL_H_
