// Many small clusters, each drawn from its seed.

#include <gtest/gtest.h>

#include <cstdint>

#include "absl/time/time.h"
#include "hoplite/sim/violations.h"
#include "ray_integration/scheduler/sim/options.h"
#include "ray_integration/scheduler/sim/simulation.h"

namespace hoplite::task::sim {
namespace {

constexpr std::uint64_t kSeeds = 150;

TEST(SchedulerSmokeTest, EverySeedEndsWithoutAViolation) {
  SimulationResult all;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const SimulationOptions options = DrawOptions(seed);
    const SimulationResult result = Simulation(options).Run();
    for (const hoplite::sim::Violation& each : result.violations) {
      ADD_FAILURE() << Describe(options) << "\n  " << each.checker << " at "
                    << absl::FormatTime(each.time, absl::UTCTimeZone()) << ": "
                    << each.what;
    }
    all.done += result.done;
    all.forwards += result.forwards;
    all.retries += result.retries;
    all.cancelled += result.cancelled;
  }
  // The seeds reach what they are for.
  EXPECT_GT(all.done, 10 * kSeeds);
  EXPECT_GT(all.forwards, kSeeds);
  EXPECT_GT(all.retries, 0u);
  EXPECT_GT(all.cancelled, 0u);
}

TEST(SchedulerSmokeTest, TheSameSeedIsTheSameRun) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const SimulationResult first = Simulation(DrawOptions(seed)).Run();
    const SimulationResult second = Simulation(DrawOptions(seed)).Run();
    EXPECT_GT(first.trace_lines, 0u);
    EXPECT_EQ(first.trace_hash, second.trace_hash) << "seed=" << seed;
  }
}

TEST(SchedulerSmokeTest, OtherSeedsAreOtherRuns) {
  EXPECT_NE(Simulation(DrawOptions(1)).Run().trace_hash,
            Simulation(DrawOptions(2)).Run().trace_hash);
}

// Deeper than all nodes together are wide.
TEST(SchedulerSmokeTest, ADeepTreeOfNestedTasksEnds) {
  SimulationOptions options;
  options.nodes = 2;
  options.cpus = 2;
  options.drivers = 1;
  options.roots = 2;
  options.children = 2;
  options.levels = 7;
  options.parent_one_of = 1;
  options.argument_one_of = 0;
  options.work = absl::Milliseconds(2);
  const SimulationResult result = Simulation(options).Run();
  EXPECT_TRUE(result.violations.empty());
  EXPECT_EQ(result.done, 2u * 255);
  EXPECT_EQ(result.failed, 0u);
}

// All of one node's tasks get about the time that all nodes together need.
TEST(SchedulerSmokeTest, TheClusterIsUsed) {
  SimulationOptions options;
  options.nodes = 8;
  options.cpus = 4;
  options.drivers = 1;
  options.roots = 640;
  options.levels = 0;
  options.argument_one_of = 0;
  options.work = absl::Milliseconds(100);
  const SimulationResult result = Simulation(options).Run();
  EXPECT_TRUE(result.violations.empty());
  EXPECT_EQ(result.done, 640u);
  // 2 s on all 32 processors, and 16 s on the driver's own 4.
  EXPECT_LT(result.virtual_time, absl::Seconds(4));
}

}  // namespace
}  // namespace hoplite::task::sim
