#include "hoplite/base/byte_range.h"

#include <algorithm>
#include <vector>

#include "hoplite/base/check.h"

namespace hoplite {

void RangeSet::Add(ByteRange range) {
  HOPLITE_CHECK(range.begin <= range.end);
  if (range.empty()) return;
  std::vector<ByteRange> merged;
  for (const ByteRange& old : ranges_) {
    if (old.end < range.begin || old.begin > range.end) {
      merged.push_back(old);
    } else {
      range.begin = std::min(range.begin, old.begin);
      range.end = std::max(range.end, old.end);
    }
  }
  merged.push_back(range);
  std::ranges::sort(merged);
  ranges_ = std::move(merged);
}

void RangeSet::Subtract(ByteRange range) {
  HOPLITE_CHECK(range.begin <= range.end);
  if (range.empty()) return;
  std::vector<ByteRange> left;
  for (const ByteRange& old : ranges_) {
    const ByteRange before{old.begin, std::min(old.end, range.begin)};
    const ByteRange after{std::max(old.begin, range.end), old.end};
    if (before.begin < before.end) left.push_back(before);
    if (after.begin < after.end) left.push_back(after);
  }
  ranges_ = std::move(left);
}

bool RangeSet::Covers(ByteRange range) const {
  if (range.empty()) return true;
  return std::ranges::any_of(ranges_, [&](const ByteRange& held) {
    return held.begin <= range.begin && range.end <= held.end;
  });
}

std::uint64_t RangeSet::FirstGap(std::uint64_t size) const {
  if (ranges_.empty() || ranges_.front().begin > 0) return 0;
  return std::min(size, ranges_.front().end);
}

std::uint64_t RangeSet::TotalBytes() const {
  std::uint64_t total = 0;
  for (const ByteRange& range : ranges_) total += range.size();
  return total;
}

}  // namespace hoplite
