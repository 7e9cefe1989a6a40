#include "experiments/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/time.h"

namespace hoplite::experiments {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Progress, WhatIsLeftIsWhatWasExpected) {
  Progress progress({absl::Seconds(10), absl::Seconds(30)});
  EXPECT_EQ(progress.Left(absl::ZeroDuration()), absl::Seconds(40));
  EXPECT_EQ(progress.Left(absl::Seconds(4)), absl::Seconds(36));
  EXPECT_EQ(progress.Left(absl::Seconds(100)), absl::Seconds(30));
}

TEST(Progress, WhatIsDoneCorrectsTheRest) {
  Progress progress({absl::Seconds(10), absl::Seconds(30), absl::Seconds(5)});
  progress.Done(absl::Seconds(20));
  EXPECT_EQ(progress.Left(absl::Seconds(1)), absl::Seconds(69));
  progress.Done(absl::Seconds(20));
  EXPECT_EQ(progress.Left(absl::ZeroDuration()), absl::Seconds(5));
  progress.Done(absl::Seconds(1));
  EXPECT_EQ(progress.Left(absl::ZeroDuration()), absl::ZeroDuration());
  EXPECT_EQ(progress.done(), 3u);
}

TEST(Progress, ALineHasTheBarTheCountTheTimeAndTheTitle) {
  Progress progress({absl::Seconds(30), absl::Minutes(4)});
  EXPECT_EQ(progress.Line(absl::ZeroDuration(), "first"),
            "[--------------------]  0/2  4 min left  first");
  progress.Done(absl::Seconds(30));
  EXPECT_THAT(progress.Line(absl::Seconds(200), "second"),
              StartsWith("[##########----------]  1/2  40 s left  second"));
  progress.Done(absl::Seconds(240));
  EXPECT_THAT(progress.Line(absl::ZeroDuration(), ""),
              HasSubstr("[####################]  2/2  0 s left"));
}

}  // namespace
}  // namespace hoplite::experiments
