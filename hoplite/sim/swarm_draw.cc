// Draws every option of a run from its seed.

#include <algorithm>

#include "hoplite/base/random.h"
#include "hoplite/sim/network_model.h"
#include "hoplite/sim/swarm.h"

namespace hoplite::sim {
namespace {

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

// Nodes that die and control streams that lose what is on them.
void DrawDeaths(Random& random, SwarmOptions& options) {
  const std::uint32_t count = options.simulation.node_count;
  FaultOptions& faults = options.faults;
  if (count < 3) return;
  if (random.Chance(1, 4)) {
    faults.crashes = static_cast<std::uint32_t>(
        random.Between(1, std::min<std::uint64_t>(3, count - 2)));
    if (random.Chance(1, 2)) {
      faults.late_news = static_cast<std::uint32_t>(random.Between(1, 3));
    }
  }
  if (random.Chance(1, 4)) {
    faults.broken_control = static_cast<std::uint32_t>(random.Between(1, 6));
  }
  if (faults.crashes + faults.broken_control == 0) return;
  options.workload.promises = false;
  // Who was to delete may be dead.
  options.workload.delete_all = false;
}

// Members and their head that stand still, are cut off, or taken for dead.
void DrawMemberFaults(Random random, SwarmOptions& options) {
  FaultOptions& faults = options.faults;
  if (options.joining > 0 || options.simulation.node_count < 3 ||
      !random.Chance(1, 4)) {
    return;
  }
  faults.within = absl::Milliseconds(random.Between(1, 300));
  const auto some = [&](std::uint64_t most) {
    return random.Chance(1, 2)
               ? static_cast<std::uint32_t>(random.Between(1, most))
               : 0;
  };
  faults.head_crashes = some(2);
  faults.stopped_nodes = some(3);
  faults.cut_ways = some(4);
  if (random.Chance(1, 3)) {
    faults.longest = 3 * kDeadAfter;
    faults.suspicions = some(2);
  }
  // What the head's own clients hold dies with it.
  if (faults.head_crashes > 0) options.workload.first_node = 2;
  options.workload.short_deadlines = false;
  if (!faults.loses_members()) return;
  options.workload.promises = false;
  options.workload.delete_all = false;
}

// Deaths in the midst of an event, of nodes that come back, and streams whose
// loss one end hears of late.
void DrawRareDeaths(Random random, SwarmOptions& options) {
  const std::uint32_t count = options.simulation.node_count;
  if (count < 3 || !random.Chance(1, 4)) return;
  FaultOptions& faults = options.faults;
  const auto some = [&] {
    return random.Chance(1, 2)
               ? static_cast<std::uint32_t>(random.Between(1, 3))
               : 0;
  };
  faults.crashes_at_events = some();
  faults.restarts = some();
  faults.late_losses = some();
  if (!faults.loses_members() && !faults.breaks_control()) return;
  options.workload.promises = false;
  options.workload.delete_all = false;
}

// Objects whose makers are gone.
void DrawEndedPrefixes(Random random, SwarmOptions& options) {
  if (!random.Chance(1, 8)) return;
  options.faults.ended_prefixes =
      static_cast<std::uint32_t>(random.Between(1, 4));
  options.workload.promises = false;
}

}  // namespace

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
  DrawDeaths(faults, options);
  DrawMemberFaults(random.Fork(), options);
  DrawRareDeaths(random.Fork(), options);
  DrawEndedPrefixes(random.Fork(), options);
  return options;
}

}  // namespace hoplite::sim
