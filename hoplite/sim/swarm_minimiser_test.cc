#include "hoplite/sim/swarm_minimiser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <variant>

namespace hoplite::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

SwarmOptions SomeOptions() {
  SwarmOptions options;
  options.seed = 7;
  options.workload.collectives = 5;
  options.faults.crashes = 3;
  options.faults.stopped_nodes = 3;
  return options;
}

TEST(MinimiserTest, WhatTheFailureNeedsIsLeft) {
  const SwarmOptions options = SomeOptions();
  const SwarmDraw draw = DrawSwarm(options);
  const auto get = std::ranges::find_if(draw.workload, [](const auto& each) {
    return std::holds_alternative<GetSpec>(each.spec);
  });
  ASSERT_NE(get, draw.workload.end());
  const auto place = static_cast<std::size_t>(get - draw.workload.begin());
  int calls = 0;
  const SwarmOptions less = Minimise(options, [&](const SwarmOptions& each) {
    ++calls;
    return !each.without_faults.contains(1) &&
           !each.without_faults.contains(4) &&
           !each.without_operations.contains(place);
  });
  EXPECT_EQ(less.without_faults, (std::set<std::size_t>{0, 2, 3, 5}));
  EXPECT_FALSE(less.without_operations.contains(place));
  EXPECT_LT(calls, 500);
  for (std::size_t i = 0; i < draw.workload.size(); ++i) {
    if (!std::holds_alternative<GetSpec>(draw.workload[i].spec)) continue;
    EXPECT_EQ(less.without_operations.contains(i), i != place) << i;
  }
  EXPECT_THAT(DescribeRest(less), HasSubstr("fault 1: at "));
  EXPECT_THAT(DescribeRest(less), Not(HasSubstr("fault 0")));
  EXPECT_THAT(ReplayCommand(less), HasSubstr("--without-faults=0,2,3,5"));
}

TEST(MinimiserTest, NothingNeedBeLeft) {
  const SwarmOptions less =
      Minimise(SomeOptions(), [](const SwarmOptions&) { return true; });
  EXPECT_EQ(DescribeRest(less), "");
}

TEST(MinimiserTest, ARunWithoutSomeRunsTheOthers) {
  SwarmOptions options = SomeOptions();
  const std::size_t all = DrawSwarm(options).workload.size();
  options.without_operations = {0, 2};
  options.without_faults = {0, 1, 2, 3, 4, 5};
  EXPECT_EQ(RunSwarm(options).operations, all - 2);
}

}  // namespace
}  // namespace hoplite::sim
