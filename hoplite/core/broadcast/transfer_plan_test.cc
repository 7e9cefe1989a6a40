#include "hoplite/core/broadcast/transfer_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "hoplite/core/config.h"

namespace hoplite {
namespace {

constexpr double kGigabit = 1e9 / 8;

LinkEstimate Link(absl::Duration latency, double bytes_per_second = kGigabit) {
  return {.latency = latency, .bytes_per_second = bytes_per_second};
}

TEST(TreeDepthTest, CountsHopsToTheLastNode) {
  struct Case {
    std::uint32_t nodes;
    std::uint32_t degree;
    std::uint32_t depth;
  };
  constexpr Case kCases[] = {
      {0, 1, 0}, {0, 3, 0}, {1, 1, 0},       {1, 8, 0},     {2, 1, 1},
      {2, 2, 1}, {8, 1, 7}, {3, 2, 1},       {4, 2, 2},     {7, 2, 2},
      {8, 2, 3}, {5, 4, 1}, {6, 4, 2},       {21, 4, 2},    {22, 4, 3},
      {9, 8, 1}, {9, 9, 1}, {4096, 1, 4095}, {4095, 2, 11}, {4096, 2, 12},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(absl::StrCat(c.nodes, " nodes, degree ", c.degree));
    EXPECT_EQ(TreeDepth(c.nodes, c.degree), c.depth);
  }
}

TEST(TreeDepthTest, DoesNotOverflowForTheLargestClusters) {
  EXPECT_EQ(TreeDepth(UINT32_MAX, UINT32_MAX), 1u);
  EXPECT_EQ(TreeDepth(UINT32_MAX, 65536), 2u);
}

TEST(TreeDepthDeathTest, DegreeZeroIsAMistake) {
  EXPECT_DEATH(TreeDepth(2, 0), "degree > 0");
}

TEST(ChooseFrameBytesTest, IsAPowerOfTwoWithinTheBounds) {
  for (std::uint64_t size = 0; size <= (std::uint64_t{1} << 34);
       size = size * 3 + 1) {
    for (std::uint32_t depth : {0u, 1u, 2u, 7u, 15u, 255u, 4095u}) {
      for (double bandwidth : {1e6, kGigabit / 4, kGigabit, 100 * kGigabit}) {
        const std::uint64_t frame = ChooseFrameBytes(
            size, depth, Link(absl::Microseconds(100), bandwidth));
        SCOPED_TRACE(absl::StrCat(size, " bytes, depth ", depth, ", ",
                                  bandwidth, " bytes/s: ", frame));
        EXPECT_TRUE(std::has_single_bit(frame));
        EXPECT_GE(frame, kFrameBytesMin);
        EXPECT_LE(frame, kFrameBytesMax);
      }
    }
  }
}

TEST(ChooseFrameBytesTest, DeeperTreesHaveSmallerFrames) {
  const LinkEstimate link = Link(absl::Microseconds(100), kGigabit / 4);
  std::uint64_t last = kFrameBytesMax;
  for (std::uint32_t depth : {1u, 3u, 7u, 15u, 63u, 255u}) {
    const std::uint64_t frame = ChooseFrameBytes(8 << 20, depth, link);
    EXPECT_LE(frame, last) << depth;
    last = frame;
  }
  EXPECT_LT(last, ChooseFrameBytes(8 << 20, 1, link));
}

TEST(ChooseFrameBytesTest, LargerObjectsHaveLargerFrames) {
  const LinkEstimate link = Link(absl::Microseconds(100));
  std::uint64_t last = 0;
  for (std::uint64_t size = 1 << 10; size <= std::uint64_t{4} << 30;
       size *= 4) {
    const std::uint64_t frame = ChooseFrameBytes(size, 15, link);
    EXPECT_GE(frame, last) << size;
    last = frame;
  }
  EXPECT_GT(last, ChooseFrameBytes(1 << 10, 15, link));
}

class PlanTest : public ::testing::TestWithParam<std::uint32_t> {};

// A large object loads every link once; a chain is the only such tree.
TEST_P(PlanTest, LargeObjectsGoThroughAChain) {
  const LinkEstimate link = Link(absl::Microseconds(100));
  EXPECT_EQ(PlanBroadcast(256 << 20, GetParam(), link).degree, 1u);
  EXPECT_EQ(PlanReduce(256 << 20, GetParam(), link).degree, 1u);
}

// Where a hop costs more than the bytes of all receivers, depth is what counts.
TEST_P(PlanTest, TinyObjectsGoThroughAStar) {
  const std::uint32_t star = std::max(GetParam(), 2u) - 1;
  const LinkEstimate link = Link(absl::Seconds(1));
  EXPECT_EQ(PlanBroadcast(8, GetParam(), link).degree, star);
  EXPECT_EQ(PlanReduce(8, GetParam(), link).degree, star);
}

TEST_P(PlanTest, ModelledTimeIsPositiveAndCountsTheBytesOnce) {
  for (std::uint64_t size = 1; size < std::uint64_t{1} << 32; size *= 16) {
    for (absl::Duration latency :
         {absl::ZeroDuration(), absl::Microseconds(50), absl::Seconds(1)}) {
      const LinkEstimate link = Link(latency);
      const TransferPlan plan = PlanBroadcast(size, GetParam(), link);
      SCOPED_TRACE(absl::StrCat(size, " bytes, degree ", plan.degree));
      EXPECT_GE(plan.modelled,
                absl::Seconds(static_cast<double>(size) / kGigabit));
      EXPECT_LT(plan.modelled, absl::InfiniteDuration());
      EXPECT_GE(plan.degree, 1u);
      EXPECT_LT(plan.degree, std::max(GetParam(), 2u));
      EXPECT_TRUE(std::has_single_bit(plan.frame_bytes));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Nodes, PlanTest,
                         ::testing::Values(0, 1, 2, 3, 8, 16, 50),
                         ::testing::PrintToStringParamName());

TEST(PlanTest, ASizeOfZeroHasAPlan) {
  const TransferPlan plan = PlanBroadcast(0, 16, Link(absl::Microseconds(100)));
  EXPECT_GE(plan.degree, 1u);
  EXPECT_EQ(plan.frame_bytes, kFrameBytesMin);
}

// As the size grows the degree only falls.
TEST(PlanTest, DegreeFallsWithTheSize) {
  const LinkEstimate link = Link(absl::Milliseconds(1));
  std::uint32_t last = UINT32_MAX;
  for (std::uint64_t size = 1; size <= std::uint64_t{1} << 32; size *= 2) {
    const std::uint32_t degree = PlanBroadcast(size, 64, link).degree;
    EXPECT_LE(degree, last) << size;
    last = degree;
  }
  EXPECT_EQ(last, 1u);
}

TEST(PlanTest, SomeSizesGoThroughATreeBetweenChainAndStar) {
  bool found = false;
  for (std::uint64_t size = 1; size <= 1 << 24; size *= 2) {
    const std::uint32_t degree =
        PlanBroadcast(size, 64, Link(absl::Milliseconds(1))).degree;
    found |= degree > 1 && degree < 63;
  }
  EXPECT_TRUE(found);
}

TEST(PlanTest, ThousandsOfNodesMayFormAStar) {
  EXPECT_EQ(PlanBroadcast(1, 4096, Link(absl::Seconds(1))).degree, 4095u);
}

TEST(IsSmallTest, SendingTakesNoLongerThanARoundTrip) {
  // 2 L B = 25,000 bytes.
  const LinkEstimate link = Link(absl::Microseconds(100));
  EXPECT_TRUE(IsSmall(0, link));
  EXPECT_TRUE(IsSmall(25'000, link));
  EXPECT_FALSE(IsSmall(25'001, link));
}

TEST(IsSmallTest, NeverAbove64KiBHoweverFarTheNodes) {
  const LinkEstimate link = Link(absl::Seconds(1));
  EXPECT_TRUE(IsSmall((64 << 10) - 1, link));
  EXPECT_TRUE(IsSmall(64 << 10, link));
  EXPECT_FALSE(IsSmall((64 << 10) + 1, link));
}

TEST(IsSmallTest, SlowLinksHaveSmallerSmallObjects) {
  EXPECT_FALSE(IsSmall(20'000, Link(absl::Microseconds(100), kGigabit / 4)));
  EXPECT_TRUE(IsSmall(6'000, Link(absl::Microseconds(100), kGigabit / 4)));
}

}  // namespace
}  // namespace hoplite
