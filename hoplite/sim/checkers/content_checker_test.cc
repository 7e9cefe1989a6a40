// What the checker of contents takes for lost with the nodes that had it.
//
// That it sees what is wrong, tests/simulation/canary_test.cc shows.

#include "hoplite/sim/checkers/content_checker.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "hoplite/base/digest.h"
#include "hoplite/sim/scenario.h"
#include "hoplite/sim/script.h"

namespace hoplite::sim {
namespace {

constexpr std::uint64_t kSize = 64 << 10;
constexpr absl::Duration kSecond = absl::Seconds(1);

SimulationOptions Nodes(std::uint32_t count) {
  SimulationOptions options;
  options.node_count = count;
  options.shard_host_count = 1;  // node 2
  return options;
}

// Node 2 reduces its own object to several targets, hears which source that
// was, and dies with all copies. Nodes 3 and 4 have the targets made again, of
// an object of node 3. A Get of node 3 hears of it before the callers do.
// Node 2's own object may be held elsewhere, or have been read as a target:
// that is no copy of the target.
void MakeTargetsAgain(bool others_hold_the_source, bool targets_are_read) {
  Scenario scenario(Nodes(4), CheckerOptions{.faults = true});
  Script& script = scenario.script();
  // Where both are ready the later name is taken last.
  std::vector<std::string> sources = {"source1", "source2"};
  if (IdFromName(sources[1]) < IdFromName(sources[0])) {
    std::swap(sources[0], sources[1]);
  }
  script.Put(2, sources[1], kSize);
  if (others_hold_the_source) script.Get(4, sources[1]);
  const std::vector<std::string> targets = Names("target", 8);
  for (const std::string& target : targets) {
    script.Reduce(2, target, sources, 1).At(kSecond);
    if (targets_are_read) script.Get(2, target).At(kSecond);
    script.Reduce(4, target, sources, 1).At(3 * kSecond);
    script.Get(3, target).At(3 * kSecond);
  }
  script.Put(3, sources[0], kSize).At(2 * kSecond);
  Simulation& simulation = scenario.simulation();
  simulation.agenda().After(2 * kSecond + kSecond / 2,
                            [&] { simulation.Crash(NodeId(2)); });
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
}

// Found by seed 55116 of the swarm: the first Get of the new bytes was held
// against what the dead node had been told of the old ones.
TEST(ContentCheckerTest, AReportDiesWithTheTargetThatNobodyHasGot) {
  MakeTargetsAgain(false, false);
}

TEST(ContentCheckerTest, ASourceThatIsHeldElsewhereIsNoCopyOfItsTarget) {
  MakeTargetsAgain(true, false);
  MakeTargetsAgain(true, true);
}

// Found by seed 55203 of the swarm: a node that was declared dead, and had not
// heard so yet as it stood still, counted as one that holds the object.
TEST(ContentCheckerTest, WhatANodeHoldsThatWasGivenUpIsLost) {
  Scenario scenario(Nodes(4), CheckerOptions{.faults = true});
  scenario.script().Put(4, "object", kSize);
  scenario.script().Get(4, "object");
  Simulation& simulation = scenario.simulation();
  simulation.agenda().After(kSecond, [&] {
    simulation.Stop(NodeId(4), 2 * kSecond);
    simulation.Suspect(NodeId(4));
  });
  scenario.script().Put(3, "object", kSize).At(2 * kSecond);
  scenario.script().Get(2, "object").At(2 * kSecond);
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
}

}  // namespace
}  // namespace hoplite::sim
