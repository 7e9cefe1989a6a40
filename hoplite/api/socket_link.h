// SocketLink is the connection of a client to its node, with the node's memory
// mapped: what has to live for as long as any object is read.
//
// Thread safety: thread-safe; Receive and Flush by one thread at a time.
// Units: bytes; offsets are of the node's store.

#ifndef HOPLITE_API_SOCKET_LINK_H_
#define HOPLITE_API_SOCKET_LINK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hoplite/runtime/client_protocol.h"
#include "hoplite/runtime/frame_socket.h"
#include "hoplite/store/shared_mapping.h"

namespace hoplite {

class SocketLink {
 public:
  // Connects and greets. Errors: kUnavailable: nobody listens there.
  // kDeadlineExceeded: no answer within `timeout`, or 5 s.
  // kFailedPrecondition: the node speaks another version.
  static absl::StatusOr<std::shared_ptr<SocketLink>> Connect(
      std::string socket_path,
      absl::Duration timeout = absl::InfiniteDuration());

  const std::string& socket_path() const { return socket_path_; }
  // False where the node is gone.
  bool Send(const ClientMessage& message) {
    return socket_.Send(EncodeFrame(message));
  }
  // Errors: kInvalidArgument: not inside the node's memory.
  absl::StatusOr<std::span<const std::byte>> Readable(
      std::uint64_t offset, std::uint64_t size) const {
    return readable_->Bytes(offset, size);
  }
  absl::StatusOr<std::span<std::byte>> Writable(std::uint64_t offset,
                                                std::uint64_t size) const {
    return writable_->WritableBytes(offset, size);
  }

  // Blocks until a message, the node's end, or Wake. False: the node is gone,
  // or sends what is no message.
  bool Wait(absl::FunctionRef<bool(ClientMessage&)> take);
  // Lets the thread that waits go on once.
  void Wake();

  // For Connect only.
  SocketLink(std::string socket_path, FileDescriptor socket,
             FileDescriptor wake, std::unique_ptr<SharedMapping> readable,
             std::unique_ptr<SharedMapping> writable);

 private:
  const std::string socket_path_;
  const FileDescriptor wake_;  // eventfd
  FrameSocket socket_;
  const std::unique_ptr<SharedMapping> readable_;
  const std::unique_ptr<SharedMapping> writable_;
};

}  // namespace hoplite

#endif  // HOPLITE_API_SOCKET_LINK_H_
