#include "apps/parameter_server/overdue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace hoplite::apps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Workers = std::vector<std::size_t>;

TEST(Overdue, WhoIsReadyAndPassedOverTwiceIsLookedAtOnce) {
  Overdue overdue(3);
  EXPECT_THAT(overdue.Update(Workers{0, 2}, Workers{0}), IsEmpty());
  EXPECT_THAT(overdue.Update(Workers{1, 2}, Workers{1}), ElementsAre(2));
  EXPECT_THAT(overdue.Update(Workers{2}, Workers{0}), IsEmpty());
  EXPECT_THAT(overdue.Update(Workers{2}, Workers{0}), ElementsAre(2));
}

TEST(Overdue, WhoIsTakenInTimeIsNot) {
  Overdue overdue(2);
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(overdue.Update(Workers{0, 1}, Workers{0}), IsEmpty());
    EXPECT_THAT(overdue.Update(Workers{0, 1}, Workers{1}), IsEmpty());
  }
}

TEST(Overdue, WhoComputesIsNot) {
  Overdue overdue(2);
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(overdue.Update(Workers{0}, Workers{0}), IsEmpty());
  }
}

}  // namespace
}  // namespace hoplite::apps
