#include "hoplite/core/broadcast/transfer_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "hoplite/base/check.h"
#include "hoplite/core/config.h"

namespace hoplite {
namespace {

// Beyond this only the star is of interest: d S/B grows, the depth hardly.
constexpr std::uint32_t kDegreeMax = 64;

TransferPlan PlanOfDegree(std::uint64_t size, std::uint32_t nodes,
                          std::uint32_t degree, const LinkEstimate& link) {
  const std::uint32_t depth = std::max(TreeDepth(nodes, degree), 1u);
  const std::uint64_t frame = ChooseFrameBytes(size, depth, link);
  const double bandwidth = link.bytes_per_second;
  const absl::Duration hop =
      link.latency +
      absl::Seconds(static_cast<double>(std::min(frame, size)) / bandwidth);
  const absl::Duration bytes =
      absl::Seconds(degree * static_cast<double>(size) / bandwidth);
  return {
      .degree = degree, .frame_bytes = frame, .modelled = bytes + depth * hop};
}

TransferPlan Plan(std::uint64_t size, std::uint32_t nodes,
                  const LinkEstimate& link) {
  TransferPlan best = PlanOfDegree(size, nodes, 1, link);
  const auto consider = [&](std::uint32_t degree) {
    const TransferPlan plan = PlanOfDegree(size, nodes, degree, link);
    if (plan.modelled < best.modelled) best = plan;
  };
  const std::uint32_t star = nodes > 2 ? nodes - 1 : 1;
  for (std::uint32_t d = 2; d <= std::min(star, kDegreeMax); ++d) consider(d);
  if (star > kDegreeMax) consider(star);
  return best;
}

}  // namespace

std::uint32_t TreeDepth(std::uint32_t nodes, std::uint32_t degree) {
  HOPLITE_CHECK(degree > 0);
  if (nodes <= 1) return 0;
  if (degree == 1) return nodes - 1;
  std::uint32_t depth = 0;
  for (std::uint64_t reached = 1, level = 1; reached < nodes; ++depth) {
    level *= degree;
    reached += level;
  }
  return depth;
}

std::uint64_t ChooseFrameBytes(std::uint64_t size, std::uint32_t depth,
                               const LinkEstimate& link) {
  // Minimises depth f/B + (S/f) kFrameCost.
  const double best = std::sqrt(
      static_cast<double>(size) * link.bytes_per_second *
      absl::ToDoubleSeconds(kFrameCost) / std::max<std::uint32_t>(depth, 1));
  const double bounded = std::clamp(best, static_cast<double>(kFrameBytesMin),
                                    static_cast<double>(kFrameBytesMax));
  const std::uint64_t below =
      std::bit_floor(static_cast<std::uint64_t>(bounded));
  return bounded > 1.5 * static_cast<double>(below) ? 2 * below : below;
}

TransferPlan PlanBroadcast(std::uint64_t size, std::uint32_t nodes,
                           const LinkEstimate& link) {
  return Plan(size, nodes, link);
}

TransferPlan PlanReduce(std::uint64_t size, std::uint32_t sources,
                        const LinkEstimate& link) {
  return Plan(size, sources, link);
}

bool IsSmall(std::uint64_t size, const LinkEstimate& link) {
  const double round_trip = 2 * absl::ToDoubleSeconds(link.latency);
  return size <= kInlineBytesMax &&
         static_cast<double>(size) <= round_trip * link.bytes_per_second;
}

}  // namespace hoplite
