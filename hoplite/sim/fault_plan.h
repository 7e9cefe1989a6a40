// What goes wrong in a run, drawn from the seed or scripted.
//
// So far: slow links and streams that break in the middle. (Clients that
// cancel or run out of time are the workload's.) Nodes do not die.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_SIM_FAULT_PLAN_H_
#define HOPLITE_SIM_FAULT_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "hoplite/base/random.h"
#include "hoplite/sim/simulation.h"

namespace hoplite::sim {

// No node's links are more times slower than this.
inline constexpr std::uint64_t kSlowTimesMax = 20;

struct FaultPlan {
  // At `time`, one of the streams that are under way breaks at both ends.
  struct BrokenStream {
    absl::Time time;
    std::uint64_t which = 0;  // modulo as many as there are
  };
  // From the start, a node's links are so many times slower.
  struct SlowNode {
    NodeId node;
    std::uint64_t times = 1;
  };
  std::vector<BrokenStream> broken_streams;
  std::vector<SlowNode> slow_nodes;
};

struct FaultOptions {
  std::uint32_t broken_streams = 0;
  std::uint32_t slow_nodes = 0;
  absl::Duration within = absl::Milliseconds(20);  // of the start
};

// "broken_streams=2 slow_nodes=0".
std::string Describe(const FaultOptions& options);

FaultPlan DrawFaultPlan(const FaultOptions& options, std::uint32_t node_count,
                        Random& random);

// Enters the plan. Ownership: keeps `simulation`.
void Apply(const FaultPlan& plan, Simulation* simulation);

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_FAULT_PLAN_H_
