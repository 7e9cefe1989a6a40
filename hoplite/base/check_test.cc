#include "hoplite/base/check.h"

#include <gtest/gtest.h>

namespace hoplite {
namespace {

TEST(CheckTest, AConditionThatHoldsIsEvaluatedOnce) {
  int evaluated = 0;
  HOPLITE_CHECK(++evaluated == 1);
  EXPECT_EQ(evaluated, 1);
}

TEST(CheckTest, ACheckIsOneStatement) {
  bool took_else = false;
  if (false)
    HOPLITE_CHECK(false);
  else
    took_else = true;
  EXPECT_TRUE(took_else);
}

TEST(CheckDeathTest, ABrokenInvariantNamesItsPlaceAndItself) {
  EXPECT_DEATH(HOPLITE_CHECK(1 + 1 == 3),
               "check_test.cc:[0-9]+: CHECK failed: 1 \\+ 1 == 3");
}

#ifndef NDEBUG
TEST(CheckDeathTest, TheDefaultBuildHasTheChecksOfHotPathsToo) {
  EXPECT_DEATH(HOPLITE_DCHECK(false), "CHECK failed: false");
}
#endif

}  // namespace
}  // namespace hoplite
