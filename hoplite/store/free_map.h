// FreeMap says which spans of a memory of fixed size are free.
//
// Best fit: the smallest free span that is large enough, the lowest of equal
// ones; what comes back joins its free neighbours at once. Large holes so stay
// whole for large objects.
//
// Not responsible for: the memory itself, alignment, locks.
// Thread safety: none; one thread at a time.
// Units: bytes.
// Complexity: O(log n) for each call, n the number of free spans.

#ifndef HOPLITE_STORE_FREE_MAP_H_
#define HOPLITE_STORE_FREE_MAP_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace hoplite {

class FreeMap {
 public:
  // All of [0, capacity) is free.
  explicit FreeMap(std::uint64_t capacity);

  // Takes `size` bytes; returns where they begin, nullopt where no free span
  // is that large. REQUIRES: size > 0.
  std::optional<std::uint64_t> Take(std::uint64_t size);
  // Gives back a span that Take returned.
  // REQUIRES: every byte of it is taken.
  void GiveBack(std::uint64_t offset, std::uint64_t size);

  std::uint64_t free_bytes() const { return free_bytes_; }
  // The most that one Take can have now.
  std::uint64_t largest() const;
  std::size_t span_count() const { return by_offset_.size(); }

 private:
  using Spans = std::map<std::uint64_t, std::uint64_t>;

  void Insert(std::uint64_t offset, std::uint64_t size);
  void Erase(Spans::iterator span);

  const std::uint64_t capacity_;
  std::uint64_t free_bytes_ = 0;
  Spans by_offset_;                                            // offset to size
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;  // size, offset
};

}  // namespace hoplite

#endif  // HOPLITE_STORE_FREE_MAP_H_
