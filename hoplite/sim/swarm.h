// One run for each seed: every option drawn from it, features off too.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_SIM_SWARM_H_
#define HOPLITE_SIM_SWARM_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "hoplite/sim/alone.h"
#include "hoplite/sim/fault_plan.h"
#include "hoplite/sim/simulation.h"
#include "hoplite/sim/trace.h"
#include "hoplite/sim/violations.h"
#include "hoplite/sim/workload_draw.h"

namespace hoplite::sim {

struct SwarmOptions {
  std::uint64_t seed = 1;
  SimulationOptions simulation;
  WorkloadOptions workload;
  FaultOptions faults;
  // One collective alone, with everybody there: then its time is judged too.
  bool alone = false;
  // Nodes that join while the others work; afterwards all work together.
  std::uint32_t joining = 0;
  // Of what is drawn, what does not happen, by its place in SwarmDraw.
  std::set<std::size_t> without_faults;
  std::set<std::size_t> without_operations;
};

SwarmOptions DrawSwarmOptions(std::uint64_t seed);
// True where the slowest link may be too slow for what is asked of it.
bool MayOutlastDeadlines(const SwarmOptions& options);
// All options, for the banner.
std::string Describe(const SwarmOptions& options);
// The command that runs this again.
std::string ReplayCommand(const SwarmOptions& options);

// What happens in a run.
struct SwarmDraw {
  Workload workload;
  AloneCollective alone;
  std::vector<absl::Duration> joins;  // from the start on
  FaultPlan faults;
};
// All of it, whatever `options` leaves out.
SwarmDraw DrawSwarm(const SwarmOptions& options);

struct SwarmResult {
  std::vector<Violation> violations;
  std::vector<std::string> last_lines;  // of the trace
  std::uint64_t trace_hash = 0;
  std::uint64_t trace_lines = 0;
  std::uint64_t operations = 0;
  std::uint64_t succeeded = 0;
  absl::Duration virtual_time;
};

// `sink`, where there is one, gets every line of the trace.
SwarmResult RunSwarm(const SwarmOptions& options,
                     Trace::LineSink sink = nullptr);

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_SWARM_H_
