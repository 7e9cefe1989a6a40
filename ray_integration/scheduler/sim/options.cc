#include "ray_integration/scheduler/sim/options.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "hoplite/base/random.h"

namespace hoplite::task::sim {
namespace {

// Of a small cluster: all is checked after every event.
constexpr std::uint64_t kTasksMax = 1500;

// Off in half of all runs.
std::uint32_t Sometimes(Random& random, std::uint32_t low, std::uint32_t high) {
  const auto drawn = static_cast<std::uint32_t>(random.Between(low, high));
  return random.Chance(1, 2) ? drawn : 0;
}

}  // namespace

SimulationOptions DrawOptions(std::uint64_t seed) {
  Random random(seed);
  const auto between = [&](std::uint64_t low, std::uint64_t high) {
    return static_cast<std::uint32_t>(random.Between(low, high));
  };
  SimulationOptions options;
  options.seed = seed;
  options.nodes = between(1, 8);
  options.cpus = between(2, 6);
  options.gpu_one_of = Sometimes(random, 1, 3);
  options.store_bytes = random.Between(600, 3000);
  options.queued_max = random.Chance(1, 4) ? between(3, 20) : 1000;
  options.workers_max = options.cpus + between(1, 10);
  options.blocked_max = random.Chance(1, 6) ? between(2, 6) : 500;
  options.start_time = absl::Milliseconds(between(1, 50));
  options.table_interval = absl::Milliseconds(between(20, 500));
  options.drivers = between(1, 4);
  options.roots = between(1, 20);
  options.children = between(1, 6);
  options.levels = between(0, 4);
  std::uint64_t tasks = options.drivers * options.roots;
  for (std::uint32_t i = 0; i < options.levels; ++i) {
    tasks *= options.children;
    if (tasks > kTasksMax) options.levels = i;
  }
  options.parent_one_of = between(1, 4);
  options.work = absl::Milliseconds(between(1, 60));
  options.argument_one_of = Sometimes(random, 1, 4);
  options.argument_bytes = random.Between(10, 200);
  options.objects = between(1, 30);
  options.gpu_task_one_of = options.gpu_one_of == 0 ? 0 : between(2, 6);
  options.wide_task_one_of = Sometimes(random, 3, 10);
  options.spread_one_of = Sometimes(random, 2, 10);
  options.host_one_of = Sometimes(random, 3, 10);
  options.actor_one_of = Sometimes(random, 5, 20);
  options.fault_time = absl::Milliseconds(between(50, 1500));
  options.worker_kills = Sometimes(random, 1, 10);
  options.node_losses = Sometimes(random, 1, 4);
  options.down_time = absl::Milliseconds(between(10, 2000));
  options.driver_kills = Sometimes(random, 0, 1);
  options.load_lost_one_of = Sometimes(random, 2, 10);
  options.load_delay =
      absl::Milliseconds(random.Chance(1, 2) ? 0 : between(1, 1500));
  options.start_fails_one_of = Sometimes(random, 20, 60);
  options.fetch_fails_one_of = Sometimes(random, 5, 30);
  return options;
}

SimulationOptions ScaleOptions(std::uint32_t nodes, std::uint64_t tasks,
                               std::uint64_t seed) {
  SimulationOptions options;
  options.seed = seed;
  options.nodes = nodes;
  options.cpus = 16;
  options.store_bytes = 100'000;
  options.queued_max = 10'000;
  options.workers_max = 64;
  options.drivers = std::max(1u, nodes / 20);
  options.children = 100;
  options.levels = 1;
  options.parent_one_of = 1;
  options.roots = static_cast<std::uint32_t>(
      std::max<std::uint64_t>(1, tasks / (options.drivers * 101)));
  options.argument_one_of = 20;
  options.objects = 1000;
  options.requests_max = 64;
  options.table_interval = absl::Milliseconds(500);
  options.worker_kills = nodes;
  options.node_losses = std::max(1u, nodes / 50);
  options.load_lost_one_of = 100;
  options.load_delay = absl::Milliseconds(20);
  options.thorough = false;
  return options;
}

std::string Describe(const SimulationOptions& options) {
  return absl::StrCat(
      "seed=", options.seed, " nodes=", options.nodes, " cpus=", options.cpus,
      " drivers=", options.drivers, " roots=", options.roots,
      " children=", options.children, " levels=", options.levels,
      " work=", absl::FormatDuration(options.work),
      " queued_max=", options.queued_max, " workers_max=", options.workers_max,
      " blocked_max=", options.blocked_max,
      " argument_one_of=", options.argument_one_of,
      " actor_one_of=", options.actor_one_of,
      " worker_kills=", options.worker_kills,
      " node_losses=", options.node_losses,
      " driver_kills=", options.driver_kills,
      " mistake=", ToString(options.mistake));
}

}  // namespace hoplite::task::sim
