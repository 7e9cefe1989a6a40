// Runs of one collective alone, judged by their time.
//
// Thread safety: none; one thread at a time.
// Units: bytes.

#ifndef HOPLITE_SIM_ALONE_H_
#define HOPLITE_SIM_ALONE_H_

#include <cstddef>
#include <cstdint>

#include "hoplite/base/random.h"
#include "hoplite/sim/simulation.h"
#include "hoplite/sim/violations.h"
#include "hoplite/sim/workload.h"

namespace hoplite::sim {

struct AloneCollective {
  std::uint64_t size = 0;      // of each object
  std::size_t operations = 0;  // how many the collective is, at the end
};

// A broadcast by which the nodes measure their links, and then one broadcast
// or reduction of up to `size_max` bytes, all arriving at once.
Workload DrawAlone(const SimulationOptions& options, std::uint64_t size_max,
                   Random& random, AloneCollective* alone);

// A collective that was alone ends within its modelled time and half as much,
// and some round trips: to ask, to be granted, to connect, to report.
void JudgeTime(const SimulationOptions& options, const AloneCollective& alone,
               const WorkloadRunner& runner, Violations* violations);

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_ALONE_H_
