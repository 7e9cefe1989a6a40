// Reductions: same bytes for all, error bounds, inputs on one node, counts.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <latch>
#include <span>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/random.h"
#include "hoplite/base/testing/status_matchers.h"
#include "tests/cases/bit_sources.h"
#include "tests/cases/cases_cluster.h"

namespace hoplite {
namespace {

using ::testing::Each;

constexpr std::size_t kSmall = 100;
constexpr std::size_t kLarge = 100'000;

std::uint64_t NewSeed() {
  const auto seed = static_cast<std::uint64_t>(absl::ToUnixMicros(absl::Now()));
  std::cout << "seed " << seed << std::endl;
  return seed;
}

template <typename T>
absl::Status PutNumbers(Client& client, const ObjectId& id,
                        const std::vector<T>& numbers) {
  return client.Put(id, std::as_bytes(std::span(numbers)), kPatiently);
}

template <typename T>
std::vector<T> Numbers(const absl::StatusOr<Buffer>& buffer) {
  EXPECT_THAT(buffer, IsOk());
  if (!buffer.ok()) return {};
  std::vector<T> numbers(buffer->size() / sizeof(T));
  std::memcpy(numbers.data(), buffer->data(), numbers.size() * sizeof(T));
  return numbers;
}

// E6. open-mpi/ompi PR#12258: each rank added in an order of its own, and they
// ended with different sums.
TEST(ReduceCaseTest, AllReadersOfAReductionGetTheSameBytes) {
  constexpr int kNodes = 8;
  Random random(NewSeed());
  CasesCluster cluster(kNodes);
  for (const std::size_t count : {kSmall, kLarge, kSmall, kLarge}) {
    const std::vector<ObjectId> ids = NewIds(kNodes);
    const ObjectId target = NewId();
    std::vector<Future<Buffer>> gets;
    for (int i = 0; i < kNodes; ++i) {
      gets.push_back(cluster[i].GetAsync(target, kPatiently));
    }
    const auto reduction =
        cluster[0].ReduceAsync(target, ids, {.timeout = kPatience});
    std::vector<double> sums(count);
    std::vector<int> order = {0, 1, 2, 3, 4, 5, 6, 7};
    random.Shuffle(order);
    for (const int i : order) {
      std::vector<float> floats(count);
      for (std::size_t e = 0; e < count; ++e) {
        floats[e] = static_cast<float>(random.Below(1 << 24)) / 3.0F;
        sums[e] += floats[e];
      }
      ASSERT_THAT(PutNumbers(cluster[i], ids[i], floats), IsOk());
    }
    ASSERT_THAT(reduction.Get(), IsOk());
    const std::vector<float> first = Numbers<float>(gets[0].Get());
    ASSERT_EQ(first.size(), count);
    for (std::size_t e = 0; e < count; ++e) {
      ASSERT_NEAR(first[e], sums[e], sums[e] * 8 * 0x1p-24);
    }
    for (const Future<Buffer>& get : gets) {
      EXPECT_EQ(Numbers<float>(get.Get()), first);
    }
  }
}

float FromBf16(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t{bits} << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

// The sum of `sources` objects of bf16(1/3) on eight nodes, all its elements.
std::vector<std::uint16_t> SumOfThirds(int sources, std::size_t count) {
  constexpr std::uint16_t kThird = 0x3eab;
  CasesCluster cluster(8);
  const std::vector<ObjectId> ids = NewIds(sources);
  for (int i = 0; i < sources; ++i) {
    EXPECT_THAT(PutNumbers(cluster[i % 8], ids[i],
                           std::vector<std::uint16_t>(count, kThird)),
                IsOk());
  }
  const ObjectId target = NewId();
  EXPECT_THAT(cluster[0].Reduce(
                  target, ids, {.type = DataType::kBF16, .timeout = kPatience}),
              IsOk());
  return Numbers<std::uint16_t>(cluster[5].Get(target, kPatiently));
}

// E7. What NCCL and PCCL promise of sums in bf16; the bound is that of
// hoplite/kernels/fold.h.
TEST(ReduceCaseTest, ASumOfManyHalvesStaysWithinItsBound) {
  const double third = FromBf16(0x3eab);
  // Small objects are folded by one call, which rounds once.
  for (const std::uint16_t bits : SumOfThirds(1024, 64)) {
    ASSERT_NEAR(FromBf16(bits), 1024 * third, 1024 * third * 0x1p-8);
  }
  // Large ones go through a tree, at most as deep as there are sources.
  constexpr int kSources = 16;
  const double bound = std::expm1(kSources * std::log1p(0x1p-8));
  const std::vector<std::uint16_t> sums = SumOfThirds(kSources, kLarge);
  EXPECT_EQ(sums.size(), kLarge);
  for (const std::uint16_t bits : sums) {
    ASSERT_NEAR(FromBf16(bits), kSources * third, kSources * third * bound);
  }
}

// E7. The average of integers truncates towards zero; f16 overflows to
// infinity.
TEST(ReduceCaseTest, AveragesTruncateAndHalvesOverflow) {
  constexpr std::uint16_t kLargestHalf = 0x7bff;
  constexpr std::uint16_t kInfiniteHalf = 0x7c00;
  CasesCluster cluster(3);
  for (const std::size_t count : {kSmall, kLarge}) {
    const std::vector<ObjectId> integers = NewIds(3);
    const std::vector<ObjectId> halves = NewIds(3);
    for (int i = 0; i < 3; ++i) {
      ASSERT_THAT(PutNumbers(cluster[i], integers[i],
                             std::vector<std::int32_t>(count, -3 - i * i)),
                  IsOk());
      ASSERT_THAT(PutNumbers(cluster[i], halves[i],
                             std::vector<std::uint16_t>(count, kLargestHalf)),
                  IsOk());
    }
    const ObjectId average = NewId();
    const ObjectId sum = NewId();
    ASSERT_THAT(cluster[1].Reduce(average, integers,
                                  {.op = ReduceOp::kAverage,
                                   .type = DataType::kI32,
                                   .timeout = kPatience}),
                IsOk());
    ASSERT_THAT(
        cluster[2].Reduce(sum, halves,
                          {.type = DataType::kF16, .timeout = kPatience}),
        IsOk());
    // -14 / 3.
    EXPECT_THAT(Numbers<std::int32_t>(cluster[0].Get(average, kPatiently)),
                Each(-4));
    EXPECT_THAT(Numbers<std::uint16_t>(cluster[0].Get(sum, kPatiently)),
                Each(kInfiniteHalf));
  }
}

// F9. suquark/hoplite@946bd6f ended the process where two inputs of one
// reduction lay on one node.
TEST(ReduceCaseTest, SeveralInputsLieOnOneNode) {
  CasesCluster cluster(4);
  for (const std::size_t count : {kSmall, kLarge}) {
    for (const int local : {5, 8}) {
      for (const int caller : {0, 2}) {
        SCOPED_TRACE(testing::Message() << count << " numbers, " << local
                                        << " local, caller " << caller);
        const std::vector<ObjectId> ids = NewIds(8);
        for (int i = 0; i < 8; ++i) {
          ASSERT_THAT(
              PutBit(cluster[i < local ? 0 : i - local + 1], ids[i], i, count),
              IsOk());
        }
        const ObjectId target = NewId();
        const auto result = cluster[caller].Reduce(target, ids, OfBits(8));
        ExpectNamed(cluster[3], target, ids, result, 8);
      }
    }
  }
}

// F11. suquark/hoplite@946bd6f: counts of none, all, and more than there are.
TEST(ReduceCaseTest, EveryCountIsReachedOrRefused) {
  constexpr std::uint32_t kSources = 6;
  CasesCluster cluster(4);
  for (const std::size_t size : {kSmall, kLarge}) {
    const std::vector<ObjectId> ids = NewIds(kSources);
    for (std::uint32_t i = 0; i < kSources; ++i) {
      ASSERT_THAT(PutBit(cluster[i % 4], ids[i], i, size), IsOk());
    }
    for (const std::uint32_t count : {0u, 2u, 3u, 5u, kSources, kSources + 1}) {
      SCOPED_TRACE(testing::Message() << count << " of " << kSources);
      const ObjectId target = NewId();
      const auto result = cluster[1].Reduce(target, ids, OfBits(count));
      if (count == 0 || count > kSources) {
        EXPECT_THAT(result, StatusIs(absl::StatusCode::kInvalidArgument));
      } else {
        ExpectNamed(cluster[2], target, ids, result, count);
      }
    }
  }
}

// F11. More than have been put: the wait ends, the reduction does not.
TEST(ReduceCaseTest, MoreThanThereAreYetEndsAtTheDeadline) {
  constexpr absl::Duration kTimeout = absl::Milliseconds(300);
  CasesCluster cluster(2);
  for (const std::size_t size : {kSmall, kLarge}) {
    const std::vector<ObjectId> ids = NewIds(4);
    for (int i = 0; i < 3; ++i) {
      ASSERT_THAT(PutBit(cluster[i % 2], ids[i], i, size), IsOk());
    }
    const ObjectId target = NewId();
    ReduceOptions options = OfBits(4);
    options.timeout = kTimeout;
    const absl::Time start = absl::Now();
    EXPECT_THAT(cluster[0].Reduce(target, ids, options),
                StatusIs(absl::StatusCode::kDeadlineExceeded));
    EXPECT_GE(absl::Now() - start, kTimeout);
    EXPECT_LT(absl::Now() - start, kTimeout + absl::Seconds(10));
    ASSERT_THAT(PutBit(cluster[1], ids[3], 3, size), IsOk());
    EXPECT_THAT(Numbers<std::uint32_t>(cluster[1].Get(target, kPatiently)),
                Each(15u));
  }
}

// F11. The k-th source comes at the same time as the one after it.
TEST(ReduceCaseTest, OfSourcesThatComeTogetherTheNamedOnesAreIn) {
  constexpr int kSources = 4;
  const int rounds = IsSoak() ? 1000 : 20;
  CasesCluster cluster(kSources);
  for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
    const std::size_t size = round % 2 == 0 ? kSmall : kLarge;
    const std::uint32_t count = 1 + round % kSources;
    const std::vector<ObjectId> ids = NewIds(kSources);
    const ObjectId target = NewId();
    const auto reduction =
        cluster[round % kSources].ReduceAsync(target, ids, OfBits(count));
    std::latch start(kSources);
    std::vector<std::thread> threads;
    for (int i = 0; i < kSources; ++i) {
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        EXPECT_THAT(PutBit(cluster[i], ids[i], i, size), IsOk());
      });
    }
    for (std::thread& thread : threads) thread.join();
    ExpectNamed(cluster[0], target, ids, reduction.Get(), count);
    EXPECT_THAT(cluster[0].Delete(target, kPatiently), IsOk());
    for (const ObjectId& id : ids) {
      EXPECT_THAT(cluster[0].Delete(id, kPatiently), IsOk());
    }
  }
}

}  // namespace
}  // namespace hoplite
