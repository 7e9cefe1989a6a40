#include "hoplite/cli/bench_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace hoplite::cli {
namespace {

using ::testing::Each;

TEST(BenchPlanTest, TheBucketIsAnEighthOfTheMessageWithinLimits) {
  EXPECT_EQ(BucketFor(1 << 10), 16 << 10);
  EXPECT_EQ(BucketFor(128 << 10), 16 << 10);
  EXPECT_EQ(BucketFor(256 << 10), 32 << 10);
  EXPECT_EQ(BucketFor(32 << 20), 64 << 10);
}

TEST(BenchPlanTest, AStoreHoldsWhatItsMemberDoes) {
  constexpr std::uint64_t kBytes = 32 << 20;
  BenchOptions options;
  options.operation = Operation::kGather;
  const std::vector<std::uint64_t> gather = StoreBytesFor(options, kBytes);
  ASSERT_EQ(gather.size(), 8);
  EXPECT_GT(gather[0], 7 * kBytes);
  EXPECT_LT(gather[1], 2 * kBytes);
  options.operation = Operation::kReduce;
  options.schedule = Schedule::kPlain;
  EXPECT_GT(StoreBytesFor(options, kBytes)[0], 9 * kBytes);
  EXPECT_GT(StoreBytesFor(options, kBytes)[1], 3 * kBytes);
}

TEST(BenchPlanTest, AFaultBringsAMemberMore) {
  BenchOptions options;
  options.operation = Operation::kReduce;
  options.fault = Fault();
  const std::vector<std::uint64_t> stores = StoreBytesFor(options, 32 << 20);
  ASSERT_EQ(stores.size(), 9);
  EXPECT_GT(stores[8], 32 << 20);
  EXPECT_LT(stores[8], stores[7]);
}

TEST(BenchPlanTest, WithoutArrivalsAllBeginAtOnce) {
  EXPECT_THAT(DrawArrivals({}, 0), Each(0));
}

TEST(BenchPlanTest, MembersArriveOneAfterAnotherInAnOrderOfTheSeed) {
  BenchOptions options;
  options.operation = Operation::kAllreduce;
  options.nodes = 16;
  options.arrive = absl::Milliseconds(100);
  const std::vector<std::int64_t> arrivals = DrawArrivals(options, 0);
  std::vector<std::int64_t> sorted = arrivals;
  std::ranges::sort(sorted);
  for (std::int64_t i = 0; i < 16; ++i) {
    EXPECT_EQ(sorted[static_cast<std::size_t>(i)], i * 100'000'000);
  }
  EXPECT_NE(arrivals, sorted);
  EXPECT_EQ(arrivals, DrawArrivals(options, 0));
  EXPECT_NE(arrivals, DrawArrivals(options, 1));
  options.seed = 2;
  EXPECT_NE(arrivals, DrawArrivals(options, 0));
}

TEST(BenchPlanTest, WhoHasTheObjectIsThereFirst) {
  BenchOptions options;
  options.operation = Operation::kBroadcast;
  options.arrive = absl::Milliseconds(100);
  for (std::uint64_t run = 0; run < 20; ++run) {
    const std::vector<std::int64_t> arrivals = DrawArrivals(options, run);
    EXPECT_EQ(arrivals[0], 0);
    const std::set<std::int64_t> all(arrivals.begin(), arrivals.end());
    EXPECT_EQ(all.size(), 8);
  }
}

}  // namespace
}  // namespace hoplite::cli
