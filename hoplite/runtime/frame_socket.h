// FrameSocket sends and receives frames (client_protocol.h) over a connected
// Unix socket, without ever blocking.
//
// Send writes at once what the socket takes; the rest waits until its owner's
// loop says that the socket is writable.
//
// Thread safety: Send and ShutDown from any thread; the rest by one thread at
// a time, the owner's loop.
// Units: bytes.

#ifndef HOPLITE_RUNTIME_FRAME_SOCKET_H_
#define HOPLITE_RUNTIME_FRAME_SOCKET_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "hoplite/base/mutex.h"
#include "hoplite/runtime/socket_folder.h"

namespace hoplite {

class FrameSocket {
 public:
  // `wants_write` is called, by whoever sends, when something begins to wait.
  // Frames received are at most `frame_bytes_max` long.
  FrameSocket(FileDescriptor descriptor, std::uint32_t frame_bytes_max,
              std::function<void()> wants_write);

  int descriptor() const { return descriptor_.get(); }

  // Sends a whole frame. False where the connection is ending, or so much
  // waits already that the other side cannot be reading: then it is ended.
  bool Send(std::string frame);
  // Ends the connection; the owner's loop sees it as readable, at its end.
  void ShutDown();

  // The socket is writable. True where something still waits.
  bool Flush();
  bool wants_write() const;
  // The socket is readable: calls `take` with each whole frame, without its
  // length. False: the connection has ended, or the other side sends garbage,
  // which is what `take` returning false says too.
  bool Receive(absl::FunctionRef<bool(absl::string_view)> take);

 private:
  // False: the connection has ended.
  bool WriteSome() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool TakeFrames(absl::FunctionRef<bool(absl::string_view)> take);

  const FileDescriptor descriptor_;
  const std::uint32_t frame_bytes_max_;
  const std::function<void()> wants_write_;

  // Owned by the loop.
  std::string received_;

  mutable Mutex mutex_;
  std::string unsent_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace hoplite

#endif  // HOPLITE_RUNTIME_FRAME_SOCKET_H_
