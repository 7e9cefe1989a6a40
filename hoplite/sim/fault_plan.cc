#include "hoplite/sim/fault_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace hoplite::sim {

std::string Describe(const FaultOptions& options) {
  return absl::StrCat("broken_streams=", options.broken_streams,
                      " slow_nodes=", options.slow_nodes);
}

FaultPlan DrawFaultPlan(const FaultOptions& options, std::uint32_t node_count,
                        Random& random) {
  FaultPlan plan;
  const auto within =
      static_cast<std::uint64_t>(absl::ToInt64Nanoseconds(options.within));
  for (std::uint32_t i = 0; i < options.broken_streams; ++i) {
    const auto at = static_cast<std::int64_t>(random.Below(within + 1));
    plan.broken_streams.push_back(
        {absl::UnixEpoch() + absl::Nanoseconds(at), random.Next()});
  }
  for (std::uint32_t i = 0; i < options.slow_nodes; ++i) {
    const auto node = static_cast<std::uint32_t>(random.Between(1, node_count));
    plan.slow_nodes.push_back({NodeId(node), random.Between(2, kSlowTimesMax)});
  }
  return plan;
}

void Apply(const FaultPlan& plan, Simulation* simulation) {
  for (const FaultPlan::SlowNode& slow : plan.slow_nodes) {
    NetworkModel& network = simulation->data_plane().network();
    network.SetRate(
        slow.node,
        std::max<std::uint64_t>(
            simulation->options().network.bytes_per_second / slow.times, 1));
  }
  for (const FaultPlan::BrokenStream& broken : plan.broken_streams) {
    simulation->agenda().At(broken.time, [simulation, which = broken.which] {
      const std::uint64_t count = simulation->data_plane().served_count();
      if (count > 0) simulation->data_plane().Break(which % count);
    });
  }
}

}  // namespace hoplite::sim
