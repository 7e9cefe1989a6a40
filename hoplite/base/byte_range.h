// Half-open ranges of bytes, and sets of them.
//
// Thread safety: values; as safe as int.
// Units: bytes; ranges are [begin, end).

#ifndef HOPLITE_BASE_BYTE_RANGE_H_
#define HOPLITE_BASE_BYTE_RANGE_H_

#include <compare>
#include <cstdint>
#include <vector>

namespace hoplite {

struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
  friend constexpr auto operator<=>(const ByteRange&,
                                    const ByteRange&) = default;
};

// Disjoint, sorted, never adjacent ranges.
//
// Complexity: O(number of ranges) for each call; holdings have very few.
class RangeSet {
 public:
  RangeSet() = default;
  explicit RangeSet(ByteRange range) { Add(range); }

  void Add(ByteRange range);
  void Subtract(ByteRange range);
  // True where every byte of `range` is in the set; so for an empty range.
  bool Covers(ByteRange range) const;
  // The first byte of [0, size) that is missing; `size` where none is.
  std::uint64_t FirstGap(std::uint64_t size) const;
  std::uint64_t TotalBytes() const;
  const std::vector<ByteRange>& ranges() const { return ranges_; }

  friend bool operator==(const RangeSet&, const RangeSet&) = default;

 private:
  std::vector<ByteRange> ranges_;
};

}  // namespace hoplite

#endif  // HOPLITE_BASE_BYTE_RANGE_H_
