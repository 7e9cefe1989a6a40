// C2. Control messages that are lost and late, in the simulator.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "hoplite/base/random.h"
#include "hoplite/sim/checkers.h"
#include "hoplite/sim/scenario.h"
#include "hoplite/sim/script.h"
#include "hoplite/sim/simulation.h"
#include "tests/cases/cases_cluster.h"

namespace hoplite::sim {
namespace {

constexpr std::uint32_t kNodes = 6;
constexpr absl::Duration kTick = absl::Milliseconds(2);
constexpr absl::Duration kLate = absl::Seconds(5);
// The last news, and then the slow re-sync, which comes in any case.
constexpr absl::Duration kEnd = absl::Seconds(20);

absl::Duration Draw(Random& random, absl::Duration limit) {
  return absl::Microseconds(random.Below(absl::ToInt64Microseconds(limit)));
}

// For as long as the work goes on: of every two nodes, with a probability of
// 0.3, what is on its way between them is lost, or all is late.
void LoseAndDelay(Scenario& scenario, Random& random, absl::Duration time) {
  Simulation& simulation = scenario.simulation();
  for (std::uint32_t a = 1; a <= kNodes; ++a) {
    for (std::uint32_t b = a + 1; b <= kNodes; ++b) {
      if (!random.Chance(3, 10)) continue;
      const absl::Duration outage =
          random.Chance(1, 20) ? Draw(random, kLate) : absl::Microseconds(500);
      simulation.agenda().After(time, [&simulation, a, b, outage] {
        simulation.BreakControl(NodeId(a), NodeId(b), outage);
      });
    }
    if (a == 1 || !random.Chance(3, 10)) continue;
    simulation.agenda().After(time, [&simulation, a] {
      simulation.DelayNews(NodeId(a), simulation.agenda().now() + kLate);
    });
  }
}

void RunSeed(std::uint64_t seed) {
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  Random random(seed);
  SimulationOptions options;
  options.node_count = kNodes;
  Scenario scenario(options, CheckerOptions{.faults = true});
  Script& script = scenario.script();
  constexpr absl::Duration kWithin = absl::Milliseconds(20);
  const std::uint64_t size = random.Chance(1, 2) ? 1000 : 400'000;
  const std::vector<std::string> sources = Names("source", kNodes);
  script.Put(2, "object", size).At(Draw(random, kWithin));
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    script.Put(node, sources[node - 1], size).At(Draw(random, kWithin));
    script.Get(node, "object").At(Draw(random, kWithin));
    script.Get(node, "target").At(Draw(random, kWithin));
  }
  script.Reduce(3, "target", sources, kNodes).At(Draw(random, kWithin));
  for (absl::Duration time; time < 2 * kWithin; time += kTick) {
    LoseAndDelay(scenario, random, time);
  }
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  EXPECT_LT(scenario.End(), kEnd);
}

// ray-project/ray#64187: a death was told once, without asking again; where
// that message was lost, everybody waited for ever.
TEST(NotificationCaseTest, WhatIsLostOrLateIsMadeGood) {
  const std::uint64_t seeds = IsSoak() ? 5000 : 100;
  for (std::uint64_t seed = 1; seed <= seeds && !HasFailure(); ++seed) {
    RunSeed(seed);
  }
}

}  // namespace
}  // namespace hoplite::sim
