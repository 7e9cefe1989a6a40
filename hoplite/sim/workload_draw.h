// Draws workloads from a seed: collectives of all kinds, and what disturbs
// them.
//
// Thread safety: none; one thread at a time.
// Units: bytes.

#ifndef HOPLITE_SIM_WORKLOAD_DRAW_H_
#define HOPLITE_SIM_WORKLOAD_DRAW_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "hoplite/base/random.h"
#include "hoplite/sim/workload.h"

namespace hoplite::sim {

// Of an operation that is not to run out of time.
inline constexpr absl::Duration kDrawnTimeout = absl::Seconds(60);

struct WorkloadOptions {
  std::uint32_t node_count = 4;  // members with the ids 1 to node_count
  std::uint32_t first_node = 1;  // those before it have no clients
  std::uint32_t collectives = 3;
  std::uint64_t size_max = 1 << 20;
  absl::Duration stagger = absl::Milliseconds(5);  // arrivals in [0, stagger]
  // Each feature may be off, so that runs differ in kind.
  bool broadcasts = true;
  bool gathers = true;  // one node Gets many objects, or all do
  bool reduces = true;  // k of n, allreduces
  bool nested = false;  // reductions of reductions
  bool small = true;    // sizes that stand in the record, 0 too
  bool large = true;
  bool payloads = true;    // small Puts in one go
  bool streaming = false;  // reductions read before the Seal
  bool slow_writers = false;
  bool second_puts = false;
  bool abandoned_puts = false;
  bool missing = false;  // objects that nobody puts
  bool cancels = false;
  bool short_deadlines = false;
  bool deletes = false;       // while others read
  bool odd_requests = false;  // sizes that do not go together, counts of 0
  bool delete_all = true;     // at the end, whatever was made
  // Nothing can be promised where stores are full or streams break.
  bool promises = true;
};

// "nodes=8 collectives=3 … +nested -deletes": what is on and off.
std::string Describe(const WorkloadOptions& options);

// REQUIRES: node_count > 0, size_max > 0.
Workload DrawWorkload(const WorkloadOptions& options, Random& random);

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_WORKLOAD_DRAW_H_
