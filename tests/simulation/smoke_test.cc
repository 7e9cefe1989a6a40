// Two thousand seeds of the simulator, all checkers on, and those that have
// found a mistake before.
//
// `./bazelw run //tests/simulation:swarm` runs others, and one alone. With
// HOPLITE_SOAK set it is ten thousand.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>

#include "hoplite/sim/swarm.h"

namespace hoplite::sim {
namespace {

SwarmResult Check(std::uint64_t seed) {
  const SwarmOptions options = DrawSwarmOptions(seed);
  SwarmResult result = RunSwarm(options);
  for (const Violation& each : result.violations) {
    ADD_FAILURE() << Describe(options) << "\n"
                  << each.checker << ": " << each.what << "\n"
                  << "once more, with its trace: " << ReplayCommand(options);
  }
  return result;
}

// A part of the seeds is a case, so that shards share them.
constexpr std::uint64_t kParts = 20;

class SeedsTest : public testing::TestWithParam<std::uint64_t> {};

TEST_P(SeedsTest, NoCheckerFindsAnything) {
  const std::uint64_t count =
      std::getenv("HOPLITE_SOAK") != nullptr ? 500 : 100;
  std::uint64_t operations = 0;
  std::uint64_t succeeded = 0;
  for (std::uint64_t i = 1; i <= count; ++i) {
    const SwarmResult result = Check(GetParam() * count + i);
    operations += result.operations;
    succeeded += result.succeeded;
  }
  // A swarm in which nothing works would find nothing either.
  EXPECT_GT(succeeded, operations / 2);
}

INSTANTIATE_TEST_SUITE_P(Smoke, SeedsTest,
                         testing::Range(std::uint64_t{0}, kParts));

// What each has found stands with the test of the machine that was wrong.
TEST(SmokeTest, WhatWasFoundBeforeIsNotFoundAgain) {
  constexpr std::uint64_t kFound[] = {
      1094,  1772,  1832,  2017,  2033,  2302,  3701,  5187,  5461,  5628,
      5978,  6099,  9629,  9763,  10184, 10610, 10768, 11589, 13764, 14999,
      16075, 18770, 19241, 19645, 19953, 20075, 20992, 21002, 22122, 27563,
      28338, 29218, 29341, 36965, 43480, 52213, 55116, 55203, 66198, 71822};
  for (const std::uint64_t seed : kFound) Check(seed);
}

}  // namespace
}  // namespace hoplite::sim
