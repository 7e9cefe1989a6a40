#include "hoplite/cli/bench_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hoplite/base/testing/status_matchers.h"

namespace hoplite::cli {
namespace {

using ::testing::HasSubstr;

auto IsRefused(const char* because) {
  return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(because));
}

TEST(BenchOptionsTest, NamesOfOperationsAndSchedulesGoBothWays) {
  for (const char* name : {"roundtrip", "broadcast", "gather", "reduce",
                           "allreduce", "allgather"}) {
    ASSERT_TRUE(ParseOperation(name).has_value()) << name;
    EXPECT_EQ(ToString(*ParseOperation(name)), name);
  }
  EXPECT_FALSE(ParseOperation("scatter").has_value());
  for (const char* name : {"hoplite", "plain"}) {
    ASSERT_TRUE(ParseSchedule(name).has_value()) << name;
    EXPECT_EQ(ToString(*ParseSchedule(name)), name);
  }
  EXPECT_FALSE(ParseSchedule("fancy").has_value());
}

TEST(BenchOptionsTest, TheDefaultsAreValidForEveryOperation) {
  for (int i = 0; i < 6; ++i) {
    BenchOptions options;
    options.operation = static_cast<Operation>(i);
    if (options.operation == Operation::kRoundtrip) options.nodes = 2;
    EXPECT_THAT(Validate(options), IsOk()) << i;
  }
}

TEST(BenchOptionsTest, WhatDoesNotGoTogetherIsRefused) {
  BenchOptions options;
  options.nodes = 1;
  EXPECT_THAT(Validate(options), IsRefused("--nodes"));
  options = {};
  options.runs = 0;
  EXPECT_THAT(Validate(options), IsRefused("-n"));
  options = {};
  options.begin_bytes = 2;
  options.end_bytes = 1;
  EXPECT_THAT(Validate(options), IsRefused("-b is above -e"));
  options = {};
  options.factor = 1;
  EXPECT_THAT(Validate(options), IsRefused("-f"));
  options = {};
  options.link_bits_per_second = 1'000'000;
  options.join = "host0:7000";
  EXPECT_THAT(Validate(options), IsRefused("--join"));
  options = {};
  options.operation = Operation::kRoundtrip;
  EXPECT_THAT(Validate(options), IsRefused("two nodes"));
  options = {};
  options.arrive = absl::Minutes(1);
  EXPECT_THAT(Validate(options), IsRefused("--arrive=1m"));
  options.timeout = absl::Minutes(8);
  EXPECT_THAT(Validate(options), IsOk());
}

TEST(BenchOptionsTest, AFaultIsInAPlaceThatTheOperationHas) {
  const auto validate = [](Operation operation, FaultPlace place) {
    BenchOptions options;
    options.operation = operation;
    if (operation == Operation::kRoundtrip) options.nodes = 2;
    options.fault = Fault{.place = place};
    return Validate(options);
  };
  using enum FaultPlace;
  for (FaultPlace place : {kNone, kRelay, kHolder}) {
    EXPECT_THAT(validate(Operation::kBroadcast, place), IsOk());
  }
  for (FaultPlace place : {kNone, kLeaf, kInner, kRoot}) {
    EXPECT_THAT(validate(Operation::kReduce, place), IsOk());
    EXPECT_THAT(validate(Operation::kAllreduce, place), IsOk());
  }
  EXPECT_THAT(validate(Operation::kAllreduce, kRelay), IsOk());
  EXPECT_THAT(validate(Operation::kBroadcast, kLeaf), IsRefused("leaf@50%"));
  EXPECT_THAT(validate(Operation::kReduce, kRelay), IsRefused("relay"));
  EXPECT_THAT(validate(Operation::kAllreduce, kHolder), IsRefused("holder"));
  EXPECT_THAT(validate(Operation::kGather, kNone), IsRefused("gather"));
  EXPECT_THAT(validate(Operation::kRoundtrip, kNone), IsRefused("roundtrip"));
}

TEST(BenchOptionsTest, AFaultNeedsNodesTreesAndLinksToCut) {
  BenchOptions options;
  options.fault = Fault{.place = FaultPlace::kRelay, .kind = FaultKind::kCut};
  EXPECT_THAT(Validate(options), IsRefused("--link"));
  options.link_bits_per_second = 1'000'000;
  EXPECT_THAT(Validate(options), IsOk());
  options.nodes = 2;
  EXPECT_THAT(Validate(options), IsRefused("three nodes"));
  options.nodes = 3;
  options.schedule = Schedule::kPlain;
  EXPECT_THAT(Validate(options), IsRefused("--schedule=plain"));
}

TEST(BenchOptionsTest, OnlyWholeElementsCanBeReduced) {
  BenchOptions options;
  options.operation = Operation::kReduce;
  options.begin_bytes = options.end_bytes = 1001;
  EXPECT_THAT(Validate(options), IsRefused("1001"));
  options.operation = Operation::kBroadcast;
  EXPECT_THAT(Validate(options), IsOk());
  options.operation = Operation::kAllreduce;
  options.begin_bytes = options.end_bytes = 0;
  EXPECT_THAT(Validate(options), IsOk());
}

}  // namespace
}  // namespace hoplite::cli
