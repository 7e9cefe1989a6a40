// The scale run, reduced: `bazel run :scale` does it in full.

#include <gtest/gtest.h>

#include "hoplite/sim/violations.h"
#include "ray_integration/scheduler/sim/options.h"
#include "ray_integration/scheduler/sim/simulation.h"

namespace hoplite::task::sim {
namespace {

TEST(SchedulerScaleTest, ManyNodesAndTasksWithFaultsEndWithoutAViolation) {
  const SimulationOptions options = ScaleOptions(100, 30'000, 1);
  const SimulationResult result = Simulation(options).Run();
  for (const hoplite::sim::Violation& each : result.violations) {
    ADD_FAILURE() << each.checker << ": " << each.what;
  }
  EXPECT_GT(result.done, 29'000u);
  EXPECT_GT(result.retries, 0u);
  EXPECT_GT(result.forwards, 0u);
}

}  // namespace
}  // namespace hoplite::task::sim
