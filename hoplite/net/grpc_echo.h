// A bare echo over one gRPC stream: what a message there and back costs when
// nothing but gRPC is in between. The peer that control messages are measured
// against.
//
// It is as quick as gRPC's asynchronous interface lets it be: raw bytes, no
// protobuf; each end polls in the thread that uses the answer.
//
// Thread safety: EchoServer is thread-safe; EchoClient has none, one thread
// at a time.

#ifndef HOPLITE_NET_GRPC_ECHO_H_
#define HOPLITE_NET_GRPC_ECHO_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace hoplite {

// Answers every message on every stream with itself, in a thread of its own.
class EchoServer {
 public:
  // `listen` is HOST:PORT, port 0 for a free one.
  // Errors: kInvalidArgument; kUnavailable where it cannot listen there.
  static absl::StatusOr<std::unique_ptr<EchoServer>> Listen(
      absl::string_view listen);
  virtual ~EchoServer() = default;

  // HOST:PORT, with the real port.
  virtual std::string address() const = 0;
};

// One stream to a server.
class EchoClient {
 public:
  // Errors: kInvalidArgument; kUnavailable where nobody answers there.
  static absl::StatusOr<std::unique_ptr<EchoClient>> Connect(
      absl::string_view address);
  virtual ~EchoClient() = default;

  // Sends `bytes` and blocks until they are back.
  // Errors: kUnavailable where the stream is broken.
  virtual absl::StatusOr<std::string> Echo(absl::string_view bytes) = 0;
};

}  // namespace hoplite

#endif  // HOPLITE_NET_GRPC_ECHO_H_
