// Two hundred seeds of the simulator, all checkers on.
//
// `./bazelw run //tests/simulation:swarm` runs others, and one alone. With
// HOPLITE_SOAK set it is five thousand.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>

#include "hoplite/sim/swarm.h"

namespace hoplite::sim {
namespace {

TEST(SmokeTest, NoCheckerFindsAnything) {
  const std::uint64_t seeds =
      std::getenv("HOPLITE_SOAK") != nullptr ? 5000 : 200;
  std::uint64_t operations = 0;
  std::uint64_t succeeded = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const SwarmOptions options = DrawSwarmOptions(seed);
    const SwarmResult result = RunSwarm(options);
    operations += result.operations;
    succeeded += result.succeeded;
    for (const Violation& each : result.violations) {
      ADD_FAILURE() << Describe(options) << "\n"
                    << each.checker << ": " << each.what << "\n"
                    << "once more, with its trace: " << ReplayCommand(seed);
    }
  }
  // A swarm in which nothing works would find nothing either.
  EXPECT_GT(succeeded, operations / 2);
}

}  // namespace
}  // namespace hoplite::sim
