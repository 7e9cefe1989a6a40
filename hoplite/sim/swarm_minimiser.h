// Makes a run that fails smaller: leaves out faults, and what clients do, for
// as long as it still fails.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_SIM_SWARM_MINIMISER_H_
#define HOPLITE_SIM_SWARM_MINIMISER_H_

#include <functional>
#include <string>

#include "hoplite/sim/swarm.h"

namespace hoplite::sim {

// What is left can lose no single fault, no single Get, and no object with all
// that is done to it and its reductions. Whoever still waits for what is left
// out no longer does.
// REQUIRES: fails(options), and it says the same each time.
// Complexity: O(n log n) calls of `fails` for n faults, Gets and objects, and
// as many again for each further round in which something can be left out.
SwarmOptions Minimise(SwarmOptions options,
                      const std::function<bool(const SwarmOptions&)>& fails);

// The faults and operations that are left, a line each.
std::string DescribeRest(const SwarmOptions& options);

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_SWARM_MINIMISER_H_
