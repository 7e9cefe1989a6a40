// Two hundred seeds of the simulator, all checkers on, and those that have
// found a mistake before.
//
// `./bazelw run //tests/simulation:swarm` runs others, and one alone. With
// HOPLITE_SOAK set it is five thousand.

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
                  << "once more, with its trace: " << ReplayCommand(seed);
  }
  return result;
}

TEST(SmokeTest, NoCheckerFindsAnything) {
  const std::uint64_t seeds =
      std::getenv("HOPLITE_SOAK") != nullptr ? 5000 : 200;
  std::uint64_t operations = 0;
  std::uint64_t succeeded = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const SwarmResult result = Check(seed);
    operations += result.operations;
    succeeded += result.succeeded;
  }
  // A swarm in which nothing works would find nothing either.
  EXPECT_GT(succeeded, operations / 2);
}

// What each has found stands with the test of the machine that was wrong.
TEST(SmokeTest, WhatWasFoundBeforeIsNotFoundAgain) {
  constexpr std::uint64_t kFound[] = {
      2017,  5187,  5628,  6099,  9629,  9763,  10184, 10610, 11589,
      13764, 16075, 18770, 19241, 19953, 20075, 20992, 21002, 22122,
      27563, 28338, 29218, 29341, 36965, 43480, 52213};
  for (const std::uint64_t seed : kFound) Check(seed);
}

}  // namespace
}  // namespace hoplite::sim
