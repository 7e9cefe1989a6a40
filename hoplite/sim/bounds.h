// How long a collective should take, by the model of costs of the protocol.
//
// Thread safety: thread-safe.
// Units: bytes.

#ifndef HOPLITE_SIM_BOUNDS_H_
#define HOPLITE_SIM_BOUNDS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "hoplite/sim/network_model.h"

namespace hoplite::sim {

// Hops from the root to the last of `nodes` nodes in a full tree.
// REQUIRES: degree > 0.
std::uint32_t TreeHops(std::uint32_t nodes, std::uint32_t degree);

// S/B: no broadcast or reduction of `size` bytes is faster.
absl::Duration LowerBound(std::uint64_t size, const NetworkOptions& network);

// The best over all trees of `nodes` nodes: d S/B + depth(d) (L + f/B), with
// the best frame f of at least `frame_bytes_min` for each.
absl::Duration ModelledTime(std::uint64_t size, std::uint32_t nodes,
                            std::uint64_t frame_bytes_min,
                            const NetworkOptions& network);

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_BOUNDS_H_
