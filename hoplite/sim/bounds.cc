#include "hoplite/sim/bounds.h"

#include <algorithm>
#include <cmath>

#include "hoplite/base/check.h"
#include "hoplite/core/config.h"

namespace hoplite::sim {

std::uint32_t TreeHops(std::uint32_t nodes, std::uint32_t degree) {
  HOPLITE_CHECK(degree > 0);
  std::uint32_t hops = 0;
  for (std::uint64_t reached = 1, level = 1; reached < nodes; ++hops) {
    level *= degree;
    reached += level;
  }
  return hops;
}

absl::Duration LowerBound(std::uint64_t size, const NetworkOptions& network) {
  return NetworkModel::TimeFor(size, network.bytes_per_second);
}

absl::Duration ModelledTime(std::uint64_t size, std::uint32_t nodes,
                            std::uint64_t frame_bytes_min,
                            const NetworkOptions& network) {
  const double bytes = static_cast<double>(size);
  const double rate = static_cast<double>(network.bytes_per_second);
  const double latency = absl::ToDoubleSeconds(
      network.latency + network.latency_spread + network.frame_cost);
  double best = INFINITY;
  for (std::uint32_t degree = 1; degree < std::max(nodes, 2u); ++degree) {
    const double depth = TreeHops(std::max(nodes, 2u), degree);
    double frame =
        std::sqrt(bytes * rate * absl::ToDoubleSeconds(kFrameCost) / depth);
    frame = std::max({frame, static_cast<double>(kFrameBytesMin),
                      static_cast<double>(frame_bytes_min)});
    frame = std::min(frame, bytes);
    best = std::min(best,
                    degree * bytes / rate + depth * (latency + frame / rate));
  }
  return absl::Seconds(best);
}

}  // namespace hoplite::sim
