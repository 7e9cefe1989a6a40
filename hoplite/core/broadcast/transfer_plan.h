// Chooses the frame size and the degree of a transfer tree from what was
// measured of the links.
//
// The model: a hop costs h = c + f/B, with c the one-way latency (which holds
// the wake-ups and the processor of a hop) and f the frame. A copy that serves
// d receivers at once sends each of them at B/d. So a broadcast to n - 1
// receivers ends after d S/B + depth(d) h, a reduction of n sources after
// d S/B + depth(d) h too; small frames make hops short, but each costs every
// node kFrameCost. Extends the cost model of "Hoplite" (SIGCOMM 2021), which
// knows the degrees 1, 2 and n, to every degree and to frames.
//
// Thread safety: pure functions.
// Units: bytes.

#ifndef HOPLITE_CORE_BROADCAST_TRANSFER_PLAN_H_
#define HOPLITE_CORE_BROADCAST_TRANSFER_PLAN_H_

#include <cstdint>

#include "absl/time/time.h"

namespace hoplite {

// L and B as a node has measured them.
struct LinkEstimate {
  absl::Duration latency;
  double bytes_per_second = 0;
};

struct TransferPlan {
  std::uint32_t degree = 1;
  std::uint64_t frame_bytes = 0;
  absl::Duration modelled;  // how long the collective takes
};

// Hops from the root to the last of `nodes` nodes in a complete d-ary tree.
// REQUIRES: degree > 0.
std::uint32_t TreeDepth(std::uint32_t nodes, std::uint32_t degree);

// The best frame for `size` bytes over `depth` hops: a power of two of
// [kFrameBytesMin, kFrameBytesMax].
std::uint64_t ChooseFrameBytes(std::uint64_t size, std::uint32_t depth,
                               const LinkEstimate& link);

// For an object that all of `nodes` nodes may want.
TransferPlan PlanBroadcast(std::uint64_t size, std::uint32_t nodes,
                           const LinkEstimate& link);

// For a reduction of `sources` objects of `size` bytes.
TransferPlan PlanReduce(std::uint64_t size, std::uint32_t sources,
                        const LinkEstimate& link);

// True where sending the bytes takes no longer than a round trip, so that
// they stand in the object's record.
bool IsSmall(std::uint64_t size, const LinkEstimate& link);

}  // namespace hoplite

#endif  // HOPLITE_CORE_BROADCAST_TRANSFER_PLAN_H_
