// Four thousand nodes: one broadcast and one reduction.
//
// Method: frames are coarse and only the hosts of shards know all members, so
// that time and memory stay small; the machines are the real ones. The checks
// of a machine's own state are left out: there are too many machines.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "hoplite/sim/scenario.h"
#include "hoplite/sim/script.h"

namespace hoplite::sim {
namespace {

constexpr std::uint32_t kNodes = 4096;
constexpr std::uint64_t kSize = 64 << 20;
constexpr absl::Duration kStart = absl::Seconds(1);

SimulationOptions Large() {
  SimulationOptions options;
  options.node_count = kNodes;
  options.shard_host_count = 16;
  options.all_know_all = false;
  options.store_capacity = 4 * kSize;
  options.network.bytes_per_second = 1'250'000'000;
  options.data_plane.frame_bytes_min = 1 << 20;
  return options;
}

CheckerOptions Rarely() {
  CheckerOptions options;
  options.invariants_every = 100'000;
  return options;
}

TEST(ScaleTest, ABroadcastToFourThousandNodesLoadsEachLinkOnce) {
  Scenario scenario(Large(), Rarely());
  scenario.script().Put(1, "object", kSize);
  for (std::uint32_t node = 2; node <= kNodes; ++node) {
    scenario.script().Get(node, "object").At(kStart);
  }
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  double most = 0;
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    most = std::max(most, scenario.Sent(node, kSize));
  }

  EXPECT_LE(most, 8.0);
}

TEST(ScaleTest, AReductionOfFourThousandObjectsHasEachOfThemOnce) {
  Scenario scenario(Large(), Rarely());
  const std::vector<std::string> sources = Names("source", kNodes);
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    scenario.script().Put(i + 1, sources[i], kSize);
  }
  scenario.script().Reduce(1, "sum", sources, kNodes).At(kStart);
  scenario.script().Get(1, "sum").At(kStart);
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
}

}  // namespace
}  // namespace hoplite::sim
