#include "ray_integration/scheduler/load_publisher.h"

#include <gtest/gtest.h>

namespace hoplite::task {
namespace {

scheduler_command::PublishLoad Load(std::int64_t free, std::uint32_t queued) {
  return {Resources::Cpus(free), Resources::Cpus(4), queued};
}

class LoadPublisherTest : public testing::Test {
 protected:
  absl::Time now_ = absl::UnixEpoch();
  LoadPublisher publisher_{absl::Milliseconds(500), absl::Milliseconds(10)};
};

TEST_F(LoadPublisherTest, TheFirstRowIsPublishedAndThenOnlyWhatChanges) {
  EXPECT_TRUE(publisher_.Due(now_, Load(4, 0)));
  now_ += absl::Hours(1);
  EXPECT_FALSE(publisher_.Due(now_, Load(4, 0)));
  EXPECT_EQ(publisher_.next(), std::nullopt);
}

TEST_F(LoadPublisherTest, ASmallChangeWaitsForHalfASecond) {
  EXPECT_TRUE(publisher_.Due(now_, Load(3, 0)));
  now_ += absl::Milliseconds(499);
  EXPECT_FALSE(publisher_.Due(now_, Load(2, 0)));
  EXPECT_EQ(publisher_.next(), now_ + absl::Milliseconds(1));
  now_ += absl::Milliseconds(1);
  EXPECT_TRUE(publisher_.Due(now_, Load(2, 0)));
}

TEST_F(LoadPublisherTest, ANodeThatFillsOrEmptiesSaysSoAtOnce) {
  EXPECT_TRUE(publisher_.Due(now_, Load(3, 0)));
  now_ += absl::Milliseconds(10);
  EXPECT_TRUE(publisher_.Due(now_, Load(0, 0)));
  now_ += absl::Milliseconds(10);
  EXPECT_TRUE(publisher_.Due(now_, Load(1, 0)));
  now_ += absl::Milliseconds(10);
  EXPECT_TRUE(publisher_.Due(now_, Load(4, 0)));
}

TEST_F(LoadPublisherTest, NotMoreOftenThanTheMinimumHowevermuchItFlickers) {
  int published = 0;
  for (int i = 0; i < 1000; ++i, now_ += absl::Milliseconds(1)) {
    published += publisher_.Due(now_, Load(i % 2 == 0 ? 0 : 1, 0));
  }
  EXPECT_LE(published, 101);
  EXPECT_GE(published, 50);
}

}  // namespace
}  // namespace hoplite::task
