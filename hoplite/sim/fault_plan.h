// Draws what goes wrong in a run, and lets it happen.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_SIM_FAULT_PLAN_H_
#define HOPLITE_SIM_FAULT_PLAN_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "hoplite/base/random.h"
#include "hoplite/sim/fault.h"
#include "hoplite/sim/simulation.h"

namespace hoplite::sim {

// No node's links are more times slower than this.
inline constexpr std::uint64_t kSlowTimesMax = 20;

// How many of each kind.
struct FaultOptions {
  std::uint32_t broken_streams = 0;
  std::uint32_t slow_nodes = 0;
  std::uint32_t crashes = 0;
  std::uint32_t broken_control = 0;
  std::uint32_t late_news = 0;
  std::uint32_t head_crashes = 0;
  std::uint32_t stopped_nodes = 0;
  std::uint32_t cut_ways = 0;
  std::uint32_t suspicions = 0;
  std::uint32_t crashes_at_events = 0;
  std::uint32_t restarts = 0;
  std::uint32_t late_losses = 0;  // broken control, which one end notices late
  std::uint32_t ended_prefixes = 0;
  absl::Duration within = absl::Milliseconds(20);  // of the start
  // How long nodes are stopped and ways are cut, at most. Beyond kDeadAfter
  // they count as dead.
  absl::Duration longest = absl::Milliseconds(500);

  // True where members may die, or be taken for dead.
  bool loses_members() const {
    return crashes + crashes_at_events + restarts + suspicions > 0 ||
           (stopped_nodes + cut_ways > 0 && longest > kDeadAfter);
  }
  bool breaks_control() const { return broken_control + late_losses > 0; }
};

// "broken_streams=2 slow_nodes=0 …".
std::string Describe(const FaultOptions& options);
// One line, without its end.
std::string Describe(const Fault& fault);

// When all of it is over, from the start on, and nodes have found it out.
absl::Duration OverAfter(const FaultOptions& options);

FaultPlan DrawFaultPlan(const FaultOptions& options, std::uint32_t node_count,
                        Random& random);

// Enters the plan. Ownership: keeps `simulation`.
void Apply(const FaultPlan& plan, Simulation* simulation);

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_FAULT_PLAN_H_
