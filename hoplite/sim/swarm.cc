#include "hoplite/sim/swarm.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hoplite/base/random.h"
#include "hoplite/sim/checkers.h"
#include "hoplite/sim/workload.h"

namespace hoplite::sim {
namespace {

constexpr std::size_t kLinesKept = 200;
constexpr absl::Duration kRunMax = absl::Minutes(5);

// What is asked of a run with nodes that join: first the members at the start
// work; when the others have joined, all do.
Workload DrawWithJoins(const SwarmOptions& options, Random& random) {
  // The welcome of each waits behind a frame where the head's link is slow.
  const absl::Duration all_joined = options.faults.slow_nodes > 0
                                        ? absl::Seconds(10)
                                        : absl::Milliseconds(500);
  WorkloadOptions first = options.workload;
  first.node_count = options.simulation.node_count;
  Workload workload = DrawWorkload(first, random);
  WorkloadOptions second = options.workload;
  second.node_count = first.node_count + options.joining;
  const std::size_t before = workload.size();
  for (Operation& operation : DrawWorkload(second, random)) {
    for (std::size_t& earlier : operation.after) earlier += before;
    if (operation.after.empty()) operation.start += all_joined;
    workload.push_back(std::move(operation));
  }
  return workload;
}

std::vector<absl::Duration> DrawJoins(std::uint32_t count, Random random) {
  constexpr std::uint64_t kWithin = 100'000;  // microseconds
  std::vector<absl::Duration> joins;
  for (std::uint32_t i = 0; i < count; ++i) {
    joins.push_back(absl::Microseconds(random.Below(kWithin)));
  }
  return joins;
}

// Those that are left, which then wait for nobody who is not.
Workload LeaveOut(const Workload& workload,
                  const std::set<std::size_t>& without) {
  std::vector<std::size_t> places;
  Workload kept;
  for (std::size_t i = 0; i < workload.size(); ++i) {
    places.push_back(kept.size());
    if (without.contains(i)) continue;
    Operation operation = workload[i];
    std::erase_if(operation.after,
                  [&](std::size_t each) { return without.contains(each); });
    for (std::size_t& each : operation.after) each = places[each];
    kept.push_back(std::move(operation));
  }
  return kept;
}

FaultPlan LeaveOut(const FaultPlan& plan,
                   const std::set<std::size_t>& without) {
  FaultPlan kept;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (!without.contains(i)) kept.push_back(plan[i]);
  }
  return kept;
}

// What is to be true when all that goes wrong is over.
void ExpectRecovery(const SwarmOptions& options, Checkers* checkers) {
  if (options.workload.delete_all && !options.alone) {
    checkers->leaks().ExpectEmptyStores();
  }
  const FaultOptions& faults = options.faults;
  if (!faults.loses_members() && !faults.breaks_control()) return;
  constexpr absl::Duration kAllAnswered = absl::Seconds(2);
  const absl::Time over = absl::UnixEpoch() + OverAfter(faults);
  checkers->recovery().EndReductions(over + kDrawnTimeout + kAllAnswered);
  const bool short_of_room =
      options.simulation.store_capacity < SimulationOptions().store_capacity;
  if (!short_of_room && !MayOutlastDeadlines(options)) {
    checkers->recovery().ExpectRecovery(over);
  }
}

void Count(const WorkloadRunner& runner, SwarmResult* result) {
  result->operations = runner.size();
  for (std::size_t i = 0; i < runner.size(); ++i) {
    if (runner.answered(i).has_value() &&
        runner.answer(i).code == absl::StatusCode::kOk) {
      ++result->succeeded;
    }
  }
}

std::string Flag(absl::string_view name, const std::set<std::size_t>& without) {
  if (without.empty()) return "";
  return absl::StrCat(" --", name, "=", absl::StrJoin(without, ","));
}

}  // namespace

std::string Describe(const SwarmOptions& options) {
  const NetworkOptions& network = options.simulation.network;
  return absl::StrCat(
      "SEED=", options.seed, " latency=", absl::FormatDuration(network.latency),
      "+", absl::FormatDuration(network.latency_spread),
      " rate=", network.bytes_per_second,
      " frame_cost=", absl::FormatDuration(network.frame_cost),
      " frame_min=", options.simulation.data_plane.frame_bytes_min,
      " store=", options.simulation.store_capacity,
      " shard_hosts=", options.simulation.shard_host_count,
      " joining=", options.joining, options.alone ? " alone " : " ",
      Describe(options.workload), " ", Describe(options.faults));
}

std::string ReplayCommand(const SwarmOptions& options) {
  return absl::StrCat(
      "./bazelw run //tests/simulation:swarm -- --seeds=1 --first-seed=",
      options.seed, Flag("without-faults", options.without_faults),
      Flag("without-operations", options.without_operations));
}

SwarmDraw DrawSwarm(const SwarmOptions& options) {
  SwarmDraw draw;
  Random random(options.seed ^ 0x5eed);
  if (options.alone) {
    draw.workload = DrawAlone(options.simulation, options.workload.size_max,
                              random, &draw.alone);
  } else if (options.joining > 0) {
    draw.workload = DrawWithJoins(options, random);
    draw.joins = DrawJoins(options.joining, random.Fork());
  } else {
    draw.workload = DrawWorkload(options.workload, random);
  }
  Random fault_random = random.Fork();
  draw.faults = DrawFaultPlan(options.faults, options.simulation.node_count,
                              fault_random);
  return draw;
}

SwarmResult RunSwarm(const SwarmOptions& options, Trace::LineSink sink) {
  const FaultOptions& faults = options.faults;
  Simulation simulation(options.simulation);
  Checkers checkers(
      &simulation,
      CheckerOptions{.faults = faults.broken_streams > 0 ||
                               faults.breaks_control() ||
                               faults.loses_members(),
                     .slack = faults.stopped_nodes * faults.longest});
  Trace trace(kLinesKept, std::move(sink));
  simulation.AddObserver(&trace);
  const SwarmDraw draw = DrawSwarm(options);
  for (std::size_t i = 0; i < draw.joins.size(); ++i) {
    simulation.agenda().After(draw.joins[i],
                              [&simulation, i] { simulation.Join(i + 1); });
  }
  WorkloadRunner runner(&simulation, &checkers.requests(),
                        LeaveOut(draw.workload, options.without_operations));
  Apply(LeaveOut(draw.faults, options.without_faults), &simulation);
  ExpectRecovery(options, &checkers);
  simulation.Run(absl::UnixEpoch() + kRunMax);
  Violations timing;
  if (options.alone && options.without_operations.empty()) {
    JudgeTime(options.simulation, draw.alone, runner, &timing);
  }

  SwarmResult result;
  result.violations = checkers.violations().found();
  result.violations.insert(result.violations.end(), timing.found().begin(),
                           timing.found().end());
  result.last_lines.assign(trace.last_lines().begin(),
                           trace.last_lines().end());
  result.trace_hash = trace.hash();
  result.trace_lines = trace.line_count();
  result.virtual_time = simulation.agenda().now() - absl::UnixEpoch();
  Count(runner, &result);
  return result;
}

}  // namespace hoplite::sim
