#include "hoplite/store/object_buffer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "hoplite/base/check.h"

namespace hoplite {

ObjectBuffer::ObjectBuffer(BufferId id, std::span<std::byte> memory,
                           std::uint64_t offset)
    : id_(id), memory_(memory), offset_(offset), checksums_(memory.size()) {}

void ObjectBuffer::Advance(std::uint64_t to) {
  const std::uint64_t from = watermark_.load(std::memory_order_relaxed);
  HOPLITE_CHECK(from <= to);
  HOPLITE_CHECK(to <= size());
  if (from == to) return;
  watermark_.store(to);
  if (waiter_count_.load() != 0) {
    MutexLock lock(mutex_);
    changed_.NotifyAll();
  }
  listeners_.Notify();
}

void ObjectBuffer::Fail(absl::Status reason) {
  HOPLITE_CHECK(!reason.ok());
  {
    MutexLock lock(mutex_);
    if (!failure_.ok()) return;
    failure_ = std::move(reason);
    changed_.NotifyAll();
  }
  listeners_.Notify();
}

absl::Status ObjectBuffer::failure() const {
  MutexLock lock(mutex_);
  return failure_;
}

absl::Status ObjectBuffer::WaitFor(std::uint64_t to,
                                   absl::Time deadline) const {
  HOPLITE_CHECK(to <= size());
  if (watermark() >= to) return absl::OkStatus();
  MutexLock lock(mutex_);
  waiter_count_.fetch_add(1);
  // The condition variable takes no time before the epoch.
  absl::Status status = WaitLocked(to, std::max(deadline, absl::UnixEpoch()));
  waiter_count_.fetch_sub(1);
  return status;
}

absl::Status ObjectBuffer::WaitLocked(std::uint64_t to,
                                      absl::Time deadline) const {
  bool in_time = true;
  for (;;) {
    if (watermark() >= to) return absl::OkStatus();
    if (!failure_.ok()) return failure_;
    if (!in_time) {
      return absl::DeadlineExceededError(absl::StrFormat(
          "waited for byte %d of a buffer of %d bytes; %d were there at the "
          "deadline",
          to, size(), watermark()));
    }
    in_time = changed_.WaitUntil(mutex_, deadline);
  }
}

ListenerId ObjectBuffer::AddListener(std::function<void()> listener) {
  return listeners_.Add(std::move(listener));
}

void ObjectBuffer::RemoveListener(ListenerId id) { listeners_.Remove(id); }

}  // namespace hoplite
