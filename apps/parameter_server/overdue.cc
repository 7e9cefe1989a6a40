#include "apps/parameter_server/overdue.h"

namespace hoplite::apps {
namespace {

constexpr int kPatience = 2;

}  // namespace

std::vector<std::size_t> Overdue::Update(std::span<const std::size_t> ready,
                                         std::span<const std::size_t> taken) {
  for (const std::size_t worker : ready) ++passed_over_[worker];
  for (const std::size_t worker : taken) passed_over_[worker] = 0;
  std::vector<std::size_t> overdue;
  for (std::size_t worker = 0; worker < passed_over_.size(); ++worker) {
    if (passed_over_[worker] < kPatience) continue;
    passed_over_[worker] = 0;
    overdue.push_back(worker);
  }
  return overdue;
}

}  // namespace hoplite::apps
