// Sources of reductions that tell whether they went in: source i holds the
// number 2^i, so that a sum names its sources.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_TESTS_CASES_BIT_SOURCES_H_
#define HOPLITE_TESTS_CASES_BIT_SOURCES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/testing/status_matchers.h"
#include "tests/cases/cases_cluster.h"

namespace hoplite {

// Puts source i, of `count` numbers.
inline absl::Status PutBit(Client& client, const ObjectId& id, int i,
                           std::size_t count) {
  const std::vector<std::uint32_t> numbers(count, std::uint32_t{1} << i);
  return client.Put(id, std::as_bytes(std::span(numbers)), kPatiently);
}

inline ReduceOptions OfBits(std::uint32_t count) {
  return {.type = DataType::kU32, .count = count, .timeout = kPatience};
}

// The sources that the answer names are those in the bytes, and so many.
inline void ExpectNamed(Client& reader, const ObjectId& target,
                        const std::vector<ObjectId>& ids,
                        const absl::StatusOr<ReduceResult>& result,
                        std::size_t expected_count) {
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->sources.size(), expected_count);
  std::uint32_t named = 0;
  for (const ObjectId& source : result->sources) {
    const auto at = std::find(ids.begin(), ids.end(), source);
    ASSERT_NE(at, ids.end());
    named |= std::uint32_t{1} << (at - ids.begin());
  }
  const auto got = reader.Get(target, kPatiently);
  ASSERT_THAT(got, IsOk());
  ASSERT_EQ(got->size() % sizeof named, 0u);
  // The store aligns its objects.
  const std::span numbers(reinterpret_cast<const std::uint32_t*>(got->data()),
                          got->size() / sizeof named);
  EXPECT_TRUE(
      std::all_of(numbers.begin(), numbers.end(),
                  [named](std::uint32_t each) { return each == named; }))
      << "not all numbers are " << named;
}

}  // namespace hoplite

#endif  // HOPLITE_TESTS_CASES_BIT_SOURCES_H_
