#include "hoplite/cli/amounts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hoplite/base/testing/status_matchers.h"

namespace hoplite::cli {
namespace {

using ::testing::HasSubstr;

TEST(AmountsTest, SizesArePowersOf1024) {
  EXPECT_THAT(ParseBytes("0"), IsOkAndHolds(0));
  EXPECT_THAT(ParseBytes("4096"), IsOkAndHolds(4096));
  EXPECT_THAT(ParseBytes("1K"), IsOkAndHolds(1024));
  EXPECT_THAT(ParseBytes("32m"), IsOkAndHolds(32 << 20));
  EXPECT_THAT(ParseBytes("4GiB"), IsOkAndHolds(std::uint64_t{4} << 30));
  EXPECT_THAT(ParseBytes("64kib"), IsOkAndHolds(64 << 10));
  EXPECT_THAT(ParseBytes("2T"), IsOkAndHolds(std::uint64_t{2} << 40));
  EXPECT_THAT(ParseBytes("3PiB"), IsOkAndHolds(std::uint64_t{3} << 50));
  EXPECT_THAT(ParseBytes("1E"), IsOkAndHolds(std::uint64_t{1} << 60));
}

TEST(AmountsTest, ASizeThatNothingHoldsIsTooLarge) {
  for (const char* text : {"99999999999999999999", "9999999999G", "8EiB"}) {
    EXPECT_THAT(ParseBytes(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("too large")))
        << text;
  }
}

TEST(AmountsTest, RatesArePowersOf1000) {
  EXPECT_THAT(ParseBitRate("250mbit"), IsOkAndHolds(250'000'000));
  EXPECT_THAT(ParseBitRate("1gbit"), IsOkAndHolds(1'000'000'000));
  EXPECT_THAT(ParseBitRate("64kbit"), IsOkAndHolds(64'000));
}

TEST(AmountsTest, DurationsHaveUnits) {
  EXPECT_THAT(ParseDuration("100ms"), IsOkAndHolds(absl::Milliseconds(100)));
  EXPECT_THAT(ParseDuration("1m30s"), IsOkAndHolds(absl::Seconds(90)));
}

TEST(AmountsTest, WhatIsNoAmountIsNamedWithWhatIsWanted) {
  for (const char* text : {"", "K", "-1", "1.5M", "12X", " 1K", "0x10",
                           "99999999999999999999", "9999999999G"}) {
    EXPECT_THAT(ParseBytes(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("32K")))
        << text;
  }
  for (const char* text : {"", "0", "0mbit", "mbit", "fast"}) {
    EXPECT_THAT(ParseBitRate(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("250mbit")))
        << text;
  }
  for (const char* text : {"", "60", "-1s", "soon"}) {
    EXPECT_THAT(
        ParseDuration(text),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("100ms")))
        << text;
  }
}

TEST(AmountsTest, SizesAreWrittenInTheirLargestWholeUnit) {
  EXPECT_EQ(FormatBytes(0), "0");
  EXPECT_EQ(FormatBytes(1023), "1023");
  EXPECT_EQ(FormatBytes(1025), "1025");
  EXPECT_EQ(FormatBytes(32 << 20), "32M");
  EXPECT_EQ(FormatBytes(std::uint64_t{3} << 30), "3G");
}

}  // namespace
}  // namespace hoplite::cli
