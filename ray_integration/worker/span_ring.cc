#include "ray_integration/worker/span_ring.h"

#include <algorithm>
#include <cstring>

#include "ray_integration/wire/pack.h"

namespace hoplite::task {
namespace {

using Length = std::uint32_t;

bool IsSpan(absl::string_view packed) {
  TaskSpan span;
  Unpacker unpacker(packed);
  unpacker.Take(span);
  return unpacker.AtEnd();
}

}  // namespace

bool SpanRing::Write(const TaskSpan& span) {
  if (area_ == nullptr) return false;
  packed_.assign(sizeof(Length), '\0');
  Pack(span, packed_);
  const auto length = static_cast<Length>(packed_.size() - sizeof(Length));
  std::memcpy(packed_.data(), &length, sizeof(length));
  const std::uint64_t written = area_->written.load(std::memory_order_relaxed);
  const std::uint64_t used =
      written - area_->taken.load(std::memory_order_acquire);
  const bool fits = used + packed_.size() <= kSize;
  if (fits) {
    CopyIn(written, packed_);
    area_->written.store(written + packed_.size(), std::memory_order_release);
  } else {
    area_->left_out.fetch_add(1);
  }
  return used > kSize / 2 && area_->told.exchange(1) == 0;
}

std::uint64_t SpanRing::Take(absl::FunctionRef<void(std::string packed)> take) {
  if (area_ == nullptr) return 0;
  // Before it looks: what is written from here on is told of again.
  area_->told.store(0);
  const std::uint64_t written = area_->written.load(std::memory_order_acquire);
  std::uint64_t taken = area_->taken.load(std::memory_order_relaxed);
  // One whose memory is damaged has nothing to say.
  if (written - taken > kSize) taken = written;
  while (written - taken >= sizeof(Length)) {
    Length length = 0;
    std::memcpy(&length, CopyOut(taken, sizeof(length)).data(), sizeof(length));
    taken += sizeof(length);
    if (length > written - taken) break;
    std::string packed = CopyOut(taken, length);
    taken += length;
    if (IsSpan(packed)) take(std::move(packed));
  }
  area_->taken.store(written, std::memory_order_release);
  return area_->left_out.exchange(0);
}

void SpanRing::CopyIn(std::uint64_t at, absl::string_view bytes) {
  const std::size_t begin = at % kSize;
  const std::size_t first = std::min(bytes.size(), kSize - begin);
  std::memcpy(area_->bytes.data() + begin, bytes.data(), first);
  std::memcpy(area_->bytes.data(), bytes.data() + first, bytes.size() - first);
}

std::string SpanRing::CopyOut(std::uint64_t at, std::size_t size) const {
  const std::size_t begin = at % kSize;
  const std::size_t first = std::min(size, kSize - begin);
  std::string bytes(area_->bytes.data() + begin, first);
  bytes.append(area_->bytes.data(), size - first);
  return bytes;
}

}  // namespace hoplite::task
