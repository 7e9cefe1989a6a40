#include "hoplite/cli/chaos_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hoplite/base/testing/status_matchers.h"

namespace hoplite::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ChaosOptionsTest, FaultsAreNamed) {
  for (const ChaosFault fault : kChaosFaults) {
    const auto parsed = ParseChaosFaults(ToString(fault));
    ASSERT_THAT(parsed, IsOk());
    EXPECT_THAT(*parsed, ElementsAre(fault));
  }
  const auto two = ParseChaosFaults("cut,kill");
  ASSERT_THAT(two, IsOk());
  EXPECT_THAT(*two, ElementsAre(ChaosFault::kCut, ChaosFault::kKill));
}

TEST(ChaosOptionsTest, OtherNamesAreRefusedWithTheRightOnes) {
  for (const char* const names : {"", "kil", "kill,", "kill,kill"}) {
    const auto parsed = ParseChaosFaults(names);
    EXPECT_FALSE(parsed.ok()) << names;
  }
  EXPECT_THAT(ParseChaosFaults("kil").status().message(),
              HasSubstr("kill,stop,restart,cut,head"));
}

TEST(ChaosOptionsTest, WhatMakesNoSenseIsRefused) {
  EXPECT_THAT(Validate({}), IsOk());
  EXPECT_FALSE(Validate({.nodes = 3}).ok());
  EXPECT_FALSE(Validate({.nodes = 65}).ok());
  EXPECT_FALSE(Validate({.link_bits_per_second = 0}).ok());
  EXPECT_FALSE(Validate({.length = absl::Seconds(9)}).ok());
}

}  // namespace
}  // namespace hoplite::cli
