// The bytes that a benchmark moves, and what must have come of them.
//
// Object i of a run holds f32 values that are small whole numbers and depend
// on the run, the object and the place, so that a sum of objects is exact in
// any order and each misplaced byte shows.
//
// Thread safety: thread-safe.
// Units: bytes.

#ifndef HOPLITE_CLI_BENCH_CONTENT_H_
#define HOPLITE_CLI_BENCH_CONTENT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "hoplite/base/id.h"

namespace hoplite::cli {

// The objects of one run: object `objects` stands for a sum of them.
struct RunContent {
  std::string nonce;  // of the ids only: no two benchmarks share an id
  std::uint64_t seed = 1;
  std::uint64_t row = 0;
  std::uint64_t run = 0;
  std::uint32_t objects = 1;

  ObjectId Id(std::uint32_t object) const;
  ObjectId Target() const { return Id(objects); }

  // Fills `bytes`, which begin at `offset` of the object. REQUIRES: offset a
  // multiple of 4.
  void Fill(std::uint32_t object, std::uint64_t offset,
            std::span<std::byte> bytes) const;

  // How many bytes differ from the object's; a wrong size counts whole.
  std::uint64_t WrongBytes(std::uint32_t object, std::uint64_t size,
                           std::span<const std::byte> bytes) const;
  // The same of the sum of these objects.
  std::uint64_t WrongSumBytes(std::span<const std::uint32_t> summands,
                              std::uint64_t size,
                              std::span<const std::byte> bytes) const;
};

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_BENCH_CONTENT_H_
