// The bytes that chaos moves, and what they say of themselves.
//
// Value i of an object is pattern(i) * factor + offset, in f32: the pattern is
// the operation's, the two whole numbers are the object's weight. So a sum of
// objects has the sum of their weights, and whoever reads it learns which went
// in, how often, and whether each byte is where it belongs. All values are
// whole numbers below 2^24, so that sums are exact in any order.
//
// Thread safety: thread-safe.
// Units: bytes.

#ifndef HOPLITE_CLI_CHAOS_CONTENT_H_
#define HOPLITE_CLI_CHAOS_CONTENT_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "hoplite/base/id.h"

namespace hoplite::cli {

struct ChaosWeight {
  std::uint32_t factor = 0;
  std::uint32_t offset = 0;

  friend bool operator==(const ChaosWeight&, const ChaosWeight&) = default;
  friend ChaosWeight operator+(const ChaosWeight& a, const ChaosWeight& b) {
    return {a.factor + b.factor, a.offset + b.offset};
  }
};

// What a reader has found.
struct ChaosReading {
  ChaosWeight weight;
  // Bytes that do not agree with it; a wrong size counts whole.
  std::uint64_t wrong_bytes = 0;
};

// The objects of one operation.
struct ChaosContent {
  std::uint64_t seed = 1;
  std::uint64_t operation = 0;

  ObjectId Id(std::uint32_t object) const;
  ChaosWeight Weight(std::uint32_t object) const;
  // REQUIRES: a multiple of 4, 8 at least.
  void Fill(std::uint32_t object, std::span<std::byte> bytes) const;
  // Of a single object or of any sum. REQUIRES: size as of Fill.
  ChaosReading Read(std::uint64_t size, std::span<const std::byte> bytes) const;
};

// Whether the weight is the sum of `count` of the first `objects` objects.
bool IsSumOf(const ChaosContent& content, std::uint32_t objects,
             std::uint32_t count, const ChaosWeight& weight);

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_CHAOS_CONTENT_H_
