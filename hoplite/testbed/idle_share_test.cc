#include "hoplite/testbed/idle_share.h"

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace hoplite::testbed {
namespace {

TEST(IdleShareTest, WaitingForADiskIsIdleAndGuestsCountOnce) {
  const auto ticks = ParseProcessorTicks(
      "cpu  10 1 20 300 40 5 6 7 999 999\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
  ASSERT_TRUE(ticks.ok()) << ticks.status();
  EXPECT_EQ(ticks->idle, 340);
  EXPECT_EQ(ticks->total, 389);
}

TEST(IdleShareTest, OtherTextIsRefused) {
  for (const char* text : {"", "cpu", "cpu  1 2 3", "cpu0 1 2 3 4 5 6 7 8",
                           "cpu a b c d e f g h"}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(ParseProcessorTicks(text).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(IdleShareTest, TheShareOfThisMachineIsAShare) {
  auto sampler = IdleShareSampler::Create();
  ASSERT_TRUE(sampler.ok()) << sampler.status();
  const auto share = sampler->Take();
  ASSERT_TRUE(share.ok()) << share.status();
  EXPECT_GE(*share, 0.0);
  EXPECT_LE(*share, 1.0);
}

}  // namespace
}  // namespace hoplite::testbed
