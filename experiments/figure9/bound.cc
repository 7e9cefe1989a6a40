#include "experiments/figure9/bound.h"

#include <algorithm>

#include "apps/parameter_server/models.h"

namespace hoplite::experiments {
namespace {

constexpr double kIdleMin = 0.1;

double CycleTransfers(const Sizes& sizes) { return 2 * sizes.transfer; }

}  // namespace

double ServerMost(const Sizes& sizes) {
  const double gradients = sizes.plain ? 1 : sizes.quorum;
  return apps::kBatchSamples * gradients / sizes.transfer;
}

double CycleMost(const Sizes& sizes) {
  return apps::kBatchSamples * (sizes.hosts - 1) /
         (CycleTransfers(sizes) + sizes.compute);
}

double MostSamples(const Sizes& sizes) {
  return std::min(ServerMost(sizes), CycleMost(sizes));
}

std::string LimitOf(const Sizes& sizes, double idle) {
  if (idle < kIdleMin) return "processor";
  const bool link = ServerMost(sizes) < CycleMost(sizes) ||
                    CycleTransfers(sizes) > sizes.compute;
  return link ? "link" : "compute";
}

}  // namespace hoplite::experiments
