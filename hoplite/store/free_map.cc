#include "hoplite/store/free_map.h"

#include <iterator>

#include "hoplite/base/check.h"

namespace hoplite {

FreeMap::FreeMap(std::uint64_t capacity) : capacity_(capacity) {
  if (capacity > 0) Insert(0, capacity);
}

std::optional<std::uint64_t> FreeMap::Take(std::uint64_t size) {
  HOPLITE_CHECK(size > 0);
  const auto fit = by_size_.lower_bound({size, 0});
  if (fit == by_size_.end()) return std::nullopt;
  const auto [span_size, offset] = *fit;
  Erase(by_offset_.find(offset));
  if (span_size > size) Insert(offset + size, span_size - size);
  return offset;
}

void FreeMap::GiveBack(std::uint64_t offset, std::uint64_t size) {
  HOPLITE_CHECK(size > 0);
  HOPLITE_CHECK(size <= capacity_ && offset <= capacity_ - size);
  std::uint64_t begin = offset;
  std::uint64_t end = offset + size;
  const auto after = by_offset_.lower_bound(begin);
  HOPLITE_CHECK(after == by_offset_.end() || end <= after->first);
  if (after != by_offset_.begin()) {
    const auto before = std::prev(after);
    const std::uint64_t before_end = before->first + before->second;
    HOPLITE_CHECK(before_end <= begin);
    if (before_end == begin) {
      begin = before->first;
      Erase(before);
    }
  }
  if (after != by_offset_.end() && after->first == end) {
    end += after->second;
    Erase(after);
  }
  Insert(begin, end - begin);
}

std::uint64_t FreeMap::largest() const {
  return by_size_.empty() ? 0 : by_size_.rbegin()->first;
}

void FreeMap::Insert(std::uint64_t offset, std::uint64_t size) {
  by_offset_.emplace(offset, size);
  by_size_.emplace(size, offset);
  free_bytes_ += size;
}

void FreeMap::Erase(Spans::iterator span) {
  HOPLITE_CHECK(span != by_offset_.end());
  free_bytes_ -= span->second;
  by_size_.erase({span->second, span->first});
  by_offset_.erase(span);
}

}  // namespace hoplite
