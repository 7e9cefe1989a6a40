// What one simulated run is made of.
//
// Thread safety: values; as safe as int.
// Units: bytes.

#ifndef HOPLITE_RAY_INTEGRATION_SCHEDULER_SIM_OPTIONS_H_
#define HOPLITE_RAY_INTEGRATION_SCHEDULER_SIM_OPTIONS_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "ray_integration/scheduler/sim/mistake.h"

namespace hoplite::task::sim {

// "One of n": 0 is never.
struct SimulationOptions {
  std::uint64_t seed = 1;

  // --- The cluster. ---
  std::uint32_t nodes = 4;
  std::uint32_t cpus = 4;
  std::uint32_t gpu_one_of = 0;  // nodes that have a gpu
  std::uint64_t store_bytes = 1000;
  std::uint32_t queued_max = 1000;
  std::uint32_t workers_max = 12;
  std::uint32_t blocked_max = 200;
  absl::Duration start_time = absl::Milliseconds(20);    // of a worker
  absl::Duration detect_time = absl::Milliseconds(200);  // of a node's death
  std::uint64_t bytes_per_ms = 100;
  absl::Duration table_interval = absl::Milliseconds(100);  // of the head

  // --- The tasks. ---
  std::uint32_t drivers = 2;
  std::uint32_t roots = 10;         // of each driver
  std::uint32_t children = 4;       // of a task that has any
  std::uint32_t levels = 2;         // of tasks below the roots
  std::uint32_t parent_one_of = 2;  // tasks above the last level with children
  absl::Duration work = absl::Milliseconds(20);  // of a task, 0.5 to 1.5 times
  std::uint32_t argument_one_of = 3;  // tasks with arguments by reference
  std::uint64_t argument_bytes = 200;
  std::uint32_t objects = 20;
  std::uint32_t gpu_task_one_of = 0;
  std::uint32_t wide_task_one_of = 0;  // tasks that take two processors
  std::uint32_t spread_one_of = 0;
  std::uint32_t host_one_of = 0;  // tasks with a named host
  std::uint32_t actor_one_of = 0;
  std::uint32_t retries = 20;
  std::uint32_t requests_max = 32;  // of an owner and kind, not yet answered

  // --- The faults. ---
  absl::Duration fault_time = absl::Seconds(1);  // in which they come
  std::uint32_t worker_kills = 0;
  std::uint32_t node_losses = 0;
  absl::Duration down_time = absl::Seconds(1);
  std::uint32_t driver_kills = 0;
  std::uint32_t load_lost_one_of = 0;  // messages of the load table
  absl::Duration load_delay = absl::ZeroDuration();  // at most, of the others
  std::uint32_t start_fails_one_of = 0;
  std::uint32_t fetch_fails_one_of = 0;

  absl::Duration limit = absl::Minutes(10);  // of virtual time
  // Look at every invariant after every event, and at the queue's order.
  bool thorough = true;
  Mistake mistake = Mistake::kNone;
};

// Every option drawn from the seed, features off too.
SimulationOptions DrawOptions(std::uint64_t seed);
// Many nodes and many tasks, with faults in proportion.
SimulationOptions ScaleOptions(std::uint32_t nodes, std::uint64_t tasks,
                               std::uint64_t seed);
std::string Describe(const SimulationOptions& options);

}  // namespace hoplite::task::sim

#endif  // HOPLITE_RAY_INTEGRATION_SCHEDULER_SIM_OPTIONS_H_
