#include "hoplite/sim/swarm.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/base/random.h"
#include "hoplite/sim/alone.h"
#include "hoplite/sim/checkers.h"
#include "hoplite/sim/network_model.h"
#include "hoplite/sim/workload.h"

namespace hoplite::sim {
namespace {

constexpr std::size_t kLinesKept = 200;
constexpr absl::Duration kRunMax = absl::Minutes(5);

SimulationOptions DrawSimulation(Random random) {
  SimulationOptions options;
  options.node_count = static_cast<std::uint32_t>(
      random.Chance(1, 12) ? random.Between(17, 32) : random.Between(1, 16));
  options.seed = random.Next();
  if (random.Chance(1, 3)) {
    options.shard_host_count = static_cast<std::uint32_t>(random.Between(1, 4));
  }
  NetworkOptions& network = options.network;
  network.latency = absl::Microseconds(random.Between(5, 200));
  if (random.Chance(1, 2)) {
    network.latency_spread = absl::Microseconds(random.Between(1, 500));
  }
  constexpr std::uint64_t kMegabit = 125'000;
  constexpr std::uint64_t kRates[] = {100 * kMegabit, 250 * kMegabit,
                                      1000 * kMegabit, 10'000 * kMegabit};
  network.bytes_per_second = kRates[random.Below(std::size(kRates))];
  if (random.Chance(1, 2)) {
    network.frame_cost = absl::Microseconds(random.Between(0, 30));
  }
  options.local_delay = absl::Nanoseconds(random.Between(0, 20'000));
  options.occurrences_max = 5'000'000;
  options.data_plane.measures = random.Chance(2, 3);
  if (random.Chance(1, 4)) {
    options.data_plane.frame_bytes_min = 1u << random.Between(14, 20);
  }
  return options;
}

WorkloadOptions DrawKinds(Random random) {
  WorkloadOptions options;
  options.collectives = static_cast<std::uint32_t>(random.Between(1, 6));
  options.size_max = random.Chance(1, 10) ? 4 << 20 : 512 << 10;
  options.stagger = random.Chance(1, 3)
                        ? absl::ZeroDuration()
                        : absl::Microseconds(random.Between(1, 20'000));
  bool* const usual[] = {&options.broadcasts, &options.gathers,
                         &options.reduces,    &options.small,
                         &options.large,      &options.payloads,
                         &options.delete_all};
  for (bool* feature : usual) *feature = random.Chance(4, 5);
  bool* const unusual[] = {&options.nested,         &options.streaming,
                           &options.slow_writers,   &options.second_puts,
                           &options.abandoned_puts, &options.missing,
                           &options.cancels,        &options.short_deadlines,
                           &options.deletes,        &options.odd_requests};
  for (bool* feature : unusual) *feature = random.Chance(1, 3);
  return options;
}

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

void ScheduleJoins(const SwarmOptions& options, Random random,
                   Simulation* simulation) {
  constexpr std::uint64_t kWithin = 100'000;  // microseconds
  for (std::uint32_t i = 1; i <= options.joining; ++i) {
    simulation->agenda().After(absl::Microseconds(random.Below(kWithin)),
                               [simulation, i] { simulation->Join(i); });
  }
}

// True where the slowest link may be too slow for what is asked of it: each
// collective may bring an object of each node to each.
bool MayOutlastDeadlines(const SwarmOptions& options) {
  const std::uint64_t node_count =
      options.simulation.node_count + options.joining;
  const std::uint64_t draws = options.joining > 0 ? 2 : 1;
  const std::uint64_t bytes = draws * options.workload.collectives *
                              node_count * options.workload.size_max;
  const std::uint64_t times = options.faults.slow_nodes > 0 ? kSlowTimesMax : 1;
  const std::uint64_t rate =
      options.simulation.network.bytes_per_second / times;
  return NetworkModel::TimeFor(bytes, rate) > kDrawnTimeout;
}

}  // namespace

SwarmOptions DrawSwarmOptions(std::uint64_t seed) {
  SwarmOptions options;
  options.seed = seed;
  Random random(seed);
  options.simulation = DrawSimulation(random.Fork());
  options.workload = DrawKinds(random.Fork());
  options.workload.node_count = options.simulation.node_count;
  Random faults = random.Fork();
  if (faults.Chance(1, 6)) {
    options.alone = true;
    options.simulation.data_plane.measures = true;
    options.simulation.data_plane.frame_bytes_min = 1;
    return options;
  }
  if (faults.Chance(1, 4)) {
    options.faults.slow_nodes =
        static_cast<std::uint32_t>(faults.Between(1, 3));
  }
  if (faults.Chance(1, 6)) {
    options.faults.broken_streams =
        static_cast<std::uint32_t>(faults.Between(1, 4));
    options.workload.promises = false;
  }
  if (faults.Chance(1, 6)) {
    options.joining = static_cast<std::uint32_t>(faults.Between(1, 5));
    // All shards but the head's spread anew at each join.
    options.simulation.shard_host_count = 0;
  }
  if (MayOutlastDeadlines(options)) options.workload.promises = false;
  if (faults.Chance(1, 5)) {
    // Stores that are soon full.
    options.simulation.store_capacity =
        options.workload.size_max * faults.Between(1, 8);
    options.workload.promises = false;
  }
  return options;
}

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

std::string ReplayCommand(std::uint64_t seed) {
  return absl::StrCat(
      "./bazelw run //tests/simulation:swarm -- --seeds=1 --first-seed=", seed);
}

SwarmResult RunSwarm(const SwarmOptions& options, Trace::LineSink sink) {
  const bool breaks = options.faults.broken_streams > 0;
  Simulation simulation(options.simulation);
  Checkers checkers(&simulation, CheckerOptions{.faults = breaks});
  Trace trace(kLinesKept, std::move(sink));
  simulation.AddObserver(&trace);
  Random random(options.seed ^ 0x5eed);
  AloneCollective alone;
  Workload workload;
  if (options.alone) {
    workload = DrawAlone(options.simulation, options.workload.size_max, random,
                         &alone);
  } else if (options.joining > 0) {
    workload = DrawWithJoins(options, random);
    ScheduleJoins(options, random.Fork(), &simulation);
  } else {
    workload = DrawWorkload(options.workload, random);
  }
  if (options.workload.delete_all && !options.alone) {
    checkers.leaks().ExpectEmptyStores();
  }
  WorkloadRunner runner(&simulation, &checkers.requests(), std::move(workload));
  Random fault_random = random.Fork();
  Apply(DrawFaultPlan(options.faults, options.simulation.node_count,
                      fault_random),
        &simulation);
  simulation.Run(absl::UnixEpoch() + kRunMax);
  Violations timing;
  if (options.alone) {
    JudgeTime(options.simulation, alone, runner, &timing);
  }

  SwarmResult result;
  result.violations = checkers.violations().found();
  result.violations.insert(result.violations.end(), timing.found().begin(),
                           timing.found().end());
  result.last_lines.assign(trace.last_lines().begin(),
                           trace.last_lines().end());
  result.trace_hash = trace.hash();
  result.trace_lines = trace.line_count();
  result.operations = runner.size();
  for (std::size_t i = 0; i < runner.size(); ++i) {
    if (runner.answered(i).has_value() &&
        runner.answer(i).code == absl::StatusCode::kOk) {
      ++result.succeeded;
    }
  }
  result.virtual_time = simulation.agenda().now() - absl::UnixEpoch();
  return result;
}

}  // namespace hoplite::sim
