#include "hoplite/cli/bench_fault.h"

#include <gtest/gtest.h>

namespace hoplite::cli {
namespace {

TEST(BenchFaultTest, TheTextOfAFaultGoesBothWays) {
  for (const char* text : {"none", "relay@50%", "leaf@10%", "inner@99%",
                           "holder@1%:kill", "root@50%:stop", "relay@7%:cut"}) {
    const std::optional<Fault> fault = ParseFault(text);
    ASSERT_TRUE(fault.has_value()) << text;
    EXPECT_EQ(ParseFault(ToString(*fault)), fault) << text;
  }
  EXPECT_EQ(ToString({.place = FaultPlace::kLeaf}), "leaf@50%");
  EXPECT_EQ(
      ToString(
          {.place = FaultPlace::kRoot, .percent = 9, .kind = FaultKind::kCut}),
      "root@9%:cut");
  EXPECT_EQ(ToString({}), "none");
}

TEST(BenchFaultTest, OtherTextIsNoFault) {
  for (const char* text :
       {"", "relay", "relay@", "relay@50", "relay@0%", "relay@100%", "@50%",
        "none@50%", "head@50%", "leaf@x%", "leaf@-5%",
        "leaf@50%:", "leaf@50%:burn", "leaf:stop@50%", "leaf@50%stop"}) {
    EXPECT_FALSE(ParseFault(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace hoplite::cli
