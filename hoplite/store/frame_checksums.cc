#include "hoplite/store/frame_checksums.h"

#include "hoplite/base/check.h"

namespace hoplite {
namespace {

constexpr std::uint64_t kKnown = std::uint64_t{1} << 32;

}  // namespace

bool FrameChecksums::SetFrameBytes(std::uint64_t frame_bytes) {
  if (frame_bytes == 0) return false;
  std::uint64_t fixed = 0;
  return frame_bytes_.compare_exchange_strong(fixed, frame_bytes) ||
         fixed == frame_bytes;
}

std::optional<std::uint32_t> FrameChecksums::Find(std::uint64_t index) const {
  const Entry* const table = table_.load(std::memory_order_acquire);
  if (table == nullptr || index >= FrameCount()) return std::nullopt;
  const std::uint64_t entry = table[index].load(std::memory_order_acquire);
  if ((entry & kKnown) == 0) return std::nullopt;
  return static_cast<std::uint32_t>(entry);
}

void FrameChecksums::Set(std::uint64_t index, std::uint32_t checksum) {
  HOPLITE_CHECK(frame_bytes() != 0);
  HOPLITE_CHECK(index < FrameCount());
  Table()[index].store(kKnown | checksum, std::memory_order_release);
}

std::uint64_t FrameChecksums::FrameCount() const {
  const std::uint64_t frame = frame_bytes();
  return object_bytes_ / frame + (object_bytes_ % frame != 0 ? 1 : 0);
}

FrameChecksums::Entry* FrameChecksums::Table() {
  Entry* table = table_.load(std::memory_order_acquire);
  if (table != nullptr) return table;
  MutexLock lock(mutex_);
  if (owned_ == nullptr) {
    owned_ = std::make_unique<Entry[]>(FrameCount());
    table_.store(owned_.get(), std::memory_order_release);
  }
  return owned_.get();
}

}  // namespace hoplite
