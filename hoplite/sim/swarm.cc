#include "hoplite/sim/swarm.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/base/random.h"
#include "hoplite/sim/bounds.h"
#include "hoplite/sim/checkers.h"
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

ObjectId Named(std::uint32_t number) {
  ObjectId::Bytes name{};
  name[0] = static_cast<std::uint8_t>(number);
  return ObjectId(name);
}

// Adds an operation that waits for all earlier ones but `beside`.
void Append(Workload& workload, std::size_t beside, Operation operation) {
  for (std::size_t i = 0; i + beside < workload.size(); ++i) {
    operation.after.push_back(i);
  }
  operation.must_succeed = true;
  workload.push_back(std::move(operation));
}

void AppendPuts(Workload& workload, std::uint32_t first, std::uint32_t count,
                std::uint64_t size) {
  for (std::uint32_t i = 0; i < count; ++i) {
    PutSpec put;
    put.node = NodeId(i + 1);
    put.object = Named(first + i);
    put.size = size;
    Operation operation;
    operation.spec = put;
    Append(workload, i, std::move(operation));
  }
}

void AppendGets(Workload& workload, std::uint32_t nodes, ObjectId object,
                std::size_t beside) {
  for (std::uint32_t i = 0; i < nodes; ++i) {
    GetSpec get;
    get.node = NodeId(i + 1);
    get.object = object;
    Operation operation;
    operation.spec = get;
    operation.start = absl::Milliseconds(1);
    Append(workload, beside + i, std::move(operation));
  }
}

// A run that is judged by its time: a broadcast by which the nodes measure
// their links, and then one collective alone, all arriving at once. `size` and
// `beside` are its size and how many operations it is.
Workload DrawAlone(const SwarmOptions& options, Random& random,
                   std::uint64_t* size, std::size_t* beside) {
  constexpr std::uint64_t kMeasuredBytes = 512 << 10;
  constexpr std::uint32_t kMeasured = 1, kFirstSource = 2;
  const std::uint32_t nodes = options.simulation.node_count;
  *size = random.Between(1, options.workload.size_max / 8) * 8;
  Workload workload;
  AppendPuts(workload, kMeasured, 1, kMeasuredBytes);
  AppendGets(workload, nodes, Named(kMeasured), 0);
  if (random.Chance(1, 2)) {
    AppendPuts(workload, kFirstSource, 1, *size);
    AppendGets(workload, nodes, Named(kFirstSource), 0);
    *beside = nodes;
    return workload;
  }
  AppendPuts(workload, kFirstSource, nodes, *size);
  ReduceSpec reduce;
  reduce.node = NodeId(1);
  reduce.target = Named(kFirstSource + nodes);
  reduce.count = nodes;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    reduce.sources.push_back(Named(kFirstSource + i));
  }
  Operation operation;
  operation.spec = reduce;
  operation.start = absl::Milliseconds(1);
  Append(workload, 0, std::move(operation));
  AppendGets(workload, 1, reduce.target, 1);
  *beside = 2;
  return workload;
}

// A collective that was alone ends within its modelled time and half as much,
// and some round trips: to ask, to be granted, to connect, to report.
void JudgeTime(const SwarmOptions& options, std::uint64_t size,
               std::size_t beside, const WorkloadRunner& runner,
               Violations* violations) {
  const std::optional<absl::Time> end = runner.AllAnswered();
  if (!end.has_value()) return;
  const absl::Time begin = runner.asked(runner.size() - beside).value();
  const NetworkOptions& network = options.simulation.network;
  constexpr int kRoundTrips = 8;
  const absl::Duration allowed =
      1.5 * ModelledTime(size, options.simulation.node_count,
                         options.simulation.data_plane.frame_bytes_min,
                         network) +
      kRoundTrips * 2 *
          (network.latency + network.latency_spread +
           options.simulation.local_delay + absl::Microseconds(20));
  if (*end - begin <= allowed) return;
  violations->Add(
      "time", *end,
      absl::StrCat("took ", absl::FormatDuration(*end - begin), " for ", size,
                   " bytes; allowed are ", absl::FormatDuration(allowed)));
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
      options.alone ? " alone " : " ", Describe(options.workload), " ",
      Describe(options.faults));
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
  std::uint64_t size = 0;
  std::size_t beside = 0;
  Workload workload = options.alone ? DrawAlone(options, random, &size, &beside)
                                    : DrawWorkload(options.workload, random);
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
  if (options.alone) JudgeTime(options, size, beside, runner, &timing);

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
