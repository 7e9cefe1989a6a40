// ObjectBuffer is a span of memory that is filled from its beginning, while
// others already read what is there.
//
// The watermark is the end of the verified bytes: [0, watermark()) never
// changes again. A writer fills data() behind it and then advances it; readers
// wait for it, or listen.
//
// Not responsible for: which object the bytes are of, eviction.
// Thread safety: thread-safe, with one writer at a time: Advance, and data()
// behind the watermark. Fail may come from any thread.
// Units: bytes.

#ifndef HOPLITE_STORE_OBJECT_BUFFER_H_
#define HOPLITE_STORE_OBJECT_BUFFER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "hoplite/base/mutex.h"
#include "hoplite/store/frame_checksums.h"
#include "hoplite/store/listener_list.h"

namespace hoplite {

class ObjectBuffer {
 public:
  // Over `memory`, which begins at `offset` of the store's and outlives this.
  ObjectBuffer(BufferId id, std::span<std::byte> memory, std::uint64_t offset);
  ObjectBuffer(const ObjectBuffer&) = delete;
  ObjectBuffer& operator=(const ObjectBuffer&) = delete;

  BufferId id() const { return id_; }
  std::uint64_t size() const { return memory_.size(); }
  // Where it begins in the store's memory, for who has mapped that.
  std::uint64_t offset() const { return offset_; }
  // For the writer: all of it.
  std::span<std::byte> data() { return memory_; }
  // For readers: all of it, of which [0, watermark()) may be read.
  std::span<const std::byte> bytes() const { return memory_; }

  // The end of the verified bytes. What was written before the Advance that
  // led here is visible to the caller.
  std::uint64_t watermark() const { return watermark_.load(); }
  bool complete() const { return watermark() == size(); }

  // Moves the watermark, wakes who waits and calls the listeners; costs one
  // store and two loads where there are none.
  // REQUIRES: watermark() <= to <= size(); one writer at a time.
  void Advance(std::uint64_t to);

  // The writer has ended before the end, for this reason: who waits for more
  // than there is gets it, now and later, and the listeners are called. The
  // first reason counts; a later call does nothing. REQUIRES: !reason.ok().
  void Fail(absl::Status reason);
  // OK unless Fail was called.
  absl::Status failure() const;

  // Blocks, without spinning, until watermark() >= to.
  // Errors: kDeadlineExceeded: it was not by then. Else the reason given to
  // Fail, for bytes that are not there. REQUIRES: to <= size().
  absl::Status WaitFor(std::uint64_t to, absl::Time deadline) const;

  // Calls `listener` after each Advance that moves the watermark and after
  // Fail, on that thread, with no lock held; two at once where Fail and
  // Advance meet. What came before AddListener returns must be looked at
  // afterwards: nothing is lost between the two. The listener may call
  // anything here, but not remove itself.
  ListenerId AddListener(std::function<void()> listener);
  // Afterwards no call is running or will come. Unknown ids are ignored.
  // REQUIRES: not called from within that listener.
  void RemoveListener(ListenerId id);

  // The frames of the object as its origin cut them, and their CRC32C as it
  // computed them. See FrameChecksums.
  bool SetFrameBytes(std::uint64_t frame_bytes) {
    return checksums_.SetFrameBytes(frame_bytes);
  }
  std::uint64_t frame_bytes() const { return checksums_.frame_bytes(); }
  std::optional<std::uint32_t> frame_checksum(std::uint64_t index) const {
    return checksums_.Find(index);
  }
  void SetFrameChecksum(std::uint64_t index, std::uint32_t checksum) {
    checksums_.Set(index, checksum);
  }

 private:
  absl::Status WaitLocked(std::uint64_t to, absl::Time deadline) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Constant after construction.
  const BufferId id_;
  const std::span<std::byte> memory_;
  const std::uint64_t offset_;

  // Sequentially consistent with waiter_count_ and the listeners: either the
  // writer sees who waits, or who waits sees the watermark.
  std::atomic<std::uint64_t> watermark_ = 0;
  mutable std::atomic<int> waiter_count_ = 0;

  // Have their own locks.
  FrameChecksums checksums_;
  ListenerList listeners_;

  mutable Mutex mutex_;
  mutable CondVar changed_;  // watermark_, failure_
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hoplite

#endif  // HOPLITE_STORE_OBJECT_BUFFER_H_
