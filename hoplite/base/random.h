// A random source that gives the same numbers everywhere.
//
// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
// generators", OOPSLA 2014), specified bit for bit; the standard library's
// distributions are not.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_BASE_RANDOM_H_
#define HOPLITE_BASE_RANDOM_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "hoplite/base/check.h"

namespace hoplite {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // A number of [0, bound), without bias. REQUIRES: bound > 0.
  std::uint64_t Below(std::uint64_t bound) {
    HOPLITE_CHECK(bound > 0);
    const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    for (;;) {
      const std::uint64_t draw = Next();
      if (draw < limit) return draw % bound;
    }
  }
  // A number of [low, high]. REQUIRES: low <= high.
  std::uint64_t Between(std::uint64_t low, std::uint64_t high) {
    HOPLITE_CHECK(low <= high);
    return low + (high - low == UINT64_MAX ? Next() : Below(high - low + 1));
  }
  // True `numerator` times of `denominator`.
  bool Chance(std::uint64_t numerator, std::uint64_t denominator) {
    return Below(denominator) < numerator;
  }
  template <typename T>
  void Shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[Below(i)]);
    }
  }
  // A source of its own: what is drawn from it shifts nothing here.
  Random Fork() { return Random(Next()); }

 private:
  std::uint64_t state_;
};

}  // namespace hoplite

#endif  // HOPLITE_BASE_RANDOM_H_
