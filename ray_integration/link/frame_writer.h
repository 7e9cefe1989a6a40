// FrameWriter puts the frames of one link into its socket, without blocking.
//
// Whoever sends writes. While one thread is writing, the frames of others
// collect, and that thread writes them all at once when its own are out. What
// the socket does not take waits until the socket is writable.
//
// Thread safety: thread-safe; OnWritable by one thread at a time.
// Units: bytes.

#ifndef HOPLITE_RAY_INTEGRATION_LINK_FRAME_WRITER_H_
#define HOPLITE_RAY_INTEGRATION_LINK_FRAME_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "hoplite/base/mutex.h"
#include "hoplite/runtime/socket_folder.h"
#include "ray_integration/link/event_set.h"

namespace hoplite::task {

class FrameWriter {
 public:
  // `events` must outlive this.
  explicit FrameWriter(EventSet& events) : events_(events) {}

  // The connection stands: has `socket` watched, for `number`, and writes what
  // has collected. After End it only closes `socket`.
  //
  // Errors: kResourceExhausted: it cannot be watched, and is closed.
  absl::Status Stand(FileDescriptor socket, EventSet::Number number);

  // Writes a frame or lets it collect. With `hold` it collects until Flush,
  // unless much has: true where this frame is the first that waits for that.
  bool Send(std::span<const absl::string_view> pieces, bool hold);
  void Flush();
  // The socket has room again.
  void OnWritable();

  // Writes what the socket takes now; frames sent from now on are nothing.
  void Close();
  // Drops all and closes the socket, at the latest when a write that is under
  // way has returned.
  void End();

  std::size_t unsent_bytes() const;

 private:
  enum class State : std::uint8_t {
    kConnecting,
    kIdle,
    kWriting,  // one thread does
    kFull,     // waits for OnWritable
    kBroken,   // the reader finds the end of the stream, after all that came
    kEnded,
  };

  void Collect(std::span<const absl::string_view> pieces, std::size_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // True: this thread is the one that writes now.
  bool BeginWriting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The rest by the thread that writes. From the caller's memory:
  void WriteDirectly(std::span<const absl::string_view> pieces,
                     std::size_t frame_bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Until nothing waits or the socket is full.
  void WriteCollected() ABSL_LOCKS_EXCLUDED(mutex_);
  // After a write of so much, or its errno; false where nothing is left to do.
  bool AfterWrite(std::size_t sent, int error) ABSL_LOCKS_EXCLUDED(mutex_);
  void DropAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  EventSet& events_;

  mutable Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kConnecting;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  EventSet::Number number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string collected_ ABSL_GUARDED_BY(mutex_);
  std::size_t unsent_bytes_ ABSL_GUARDED_BY(mutex_) = 0;

  // Of the thread that writes; in other states under the lock.
  FileDescriptor socket_;
  std::string writing_;
  std::size_t written_bytes_ = 0;  // of writing_
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_LINK_FRAME_WRITER_H_
