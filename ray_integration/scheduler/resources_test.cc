#include "ray_integration/scheduler/resources.h"

#include <gtest/gtest.h>

namespace hoplite::task {
namespace {

TEST(ResourcesTest, AmountsOfOneNameAddUpAndStandInOrder) {
  const Resources some{{"gpu", 1000}, {"cpu", 500}, {"gpu", 500}};
  EXPECT_EQ(some.milli("gpu"), 1500);
  EXPECT_EQ(some.milli("memory"), 0);
  EXPECT_EQ(ToString(some), "cpu 0.5, gpu 1.5");
}

TEST(ResourcesTest, WhatIsAddedAndTakenAgainLeavesNoTrace) {
  Resources some = Resources::Cpus(4);
  some.Add({{"gpu", 1000}});
  some.Subtract({{"gpu", 1000}});
  EXPECT_EQ(some, Resources::Cpus(4));
  some.Subtract(Resources::Cpus(4));
  EXPECT_TRUE(some.empty());
  EXPECT_EQ(ToString(some), "nothing");
}

TEST(ResourcesTest, HoldingMeansAsMuchOfEachName) {
  const Resources node{{"cpu", 4000}, {"gpu", 1000}};
  EXPECT_TRUE(node.Hold({}));
  EXPECT_TRUE(node.Hold({{"cpu", 4000}, {"gpu", 1000}}));
  EXPECT_FALSE(node.Hold({{"cpu", 4001}}));
  EXPECT_FALSE(node.Hold({{"memory", 1}}));
}

TEST(ResourcesTest, TooMuchTakenIsNegativeAndStillHoldsWhatIsNotNeeded) {
  Resources node = Resources::Cpus(1);
  EXPECT_FALSE(node.AnyNegative());
  node.Subtract(Resources::Cpus(2));
  EXPECT_TRUE(node.AnyNegative());
  EXPECT_EQ(node.milli("cpu"), -1000);
  EXPECT_TRUE(node.Hold({}));
  EXPECT_FALSE(node.Hold({{"cpu", 1}}));
}

TEST(ResourcesTest, OneNameCanBeLeftOut) {
  const Resources need{{"cpu", 1000}, {"gpu", 1000}};
  EXPECT_EQ(need.Without("cpu"), Resources({{"gpu", 1000}}));
  EXPECT_EQ(need.Without("memory"), need);
}

}  // namespace
}  // namespace hoplite::task
