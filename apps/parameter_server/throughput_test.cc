#include "apps/parameter_server/throughput.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/time.h"

namespace hoplite::apps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

absl::Time At(int seconds) { return absl::FromUnixSeconds(1000 + seconds); }

TEST(Throughput, WarmUpIsNotCounted) {
  Throughput throughput(At(0), 2);
  throughput.Count(At(50), 300);
  throughput.Count(At(90), 300);
  EXPECT_EQ(throughput.samples_per_second(), 0);
  throughput.Count(At(91), 300);
  throughput.Count(At(94), 100);
  EXPECT_EQ(throughput.samples_per_second(), 100);
  EXPECT_EQ(throughput.timed_updates(), 2);
  EXPECT_EQ(throughput.updates(), 4);
  EXPECT_EQ(throughput.samples(), 1000);
}

TEST(Throughput, WithoutWarmUpTheClockStartsAtTheBeginning) {
  Throughput throughput(At(0), 0);
  throughput.Count(At(2), 300);
  EXPECT_EQ(throughput.samples_per_second(), 150);
}

TEST(Throughput, ItsPartsFollowOneAnother) {
  Throughput throughput(At(0), 1);
  throughput.Count(At(10), 1);
  throughput.Count(At(11), 10);
  throughput.Count(At(12), 10);
  throughput.Count(At(14), 10);
  throughput.Count(At(16), 10);
  throughput.Count(At(99), 10);
  EXPECT_THAT(throughput.Parts(2), ElementsAre(10, 5));
  EXPECT_EQ(throughput.Parts(9).size(), 5u);
  EXPECT_THAT(Throughput(At(0), 1).Parts(5), IsEmpty());
}

}  // namespace
}  // namespace hoplite::apps
