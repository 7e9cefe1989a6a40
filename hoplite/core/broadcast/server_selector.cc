#include "hoplite/core/broadcast/server_selector.h"

#include <optional>
#include <tuple>
#include <vector>

namespace hoplite {
namespace {

// Hops from the copy up to complete bytes or the producer; nullopt where the
// chain does not end there, or passes through the asker.
std::optional<std::uint32_t> EligibleDepth(const ObjectRecord& record,
                                           const Copy& copy, NodeRef asker) {
  std::uint32_t depth = 0;
  const Copy* at = &copy;
  while (true) {
    if (at->node.node == asker.node) return std::nullopt;
    if (at->complete || at->producer) return depth;
    if (!at->server || ++depth > record.copies.size()) return std::nullopt;
    auto next = record.copies.find(at->server.node);
    if (next == record.copies.end() || next->second.node != at->server) {
      return std::nullopt;
    }
    at = &next->second;
  }
}

}  // namespace

Copy* SelectServer(ObjectRecord& record, NodeRef asker, NodeRef lost,
                   const ServingLoads& loads) {
  using Rank = std::tuple<bool, std::uint32_t, std::uint32_t, std::uint32_t,
                          std::uint64_t>;
  Copy* best = nullptr;
  Rank best_rank;
  for (auto& [id, copy] : record.copies) {
    if (copy.serving >= record.degree || copy.node == lost) continue;
    const std::optional<std::uint32_t> depth =
        EligibleDepth(record, copy, asker);
    if (!depth.has_value()) continue;
    auto load = loads.find(id);
    const bool idle = copy.complete && copy.serving == 0;
    const Rank rank{!idle, *depth, copy.serving,
                    load == loads.end() ? 0 : load->second, copy.sequence};
    if (best == nullptr || rank < best_rank) {
      best = &copy;
      best_rank = rank;
    }
  }
  return best;
}

Copy* DrawCompleteCopy(ObjectRecord& record, NodeRef asker, Random& random) {
  std::vector<Copy*> complete;
  for (auto& [id, copy] : record.copies) {
    if (copy.complete && id != asker.node) complete.push_back(&copy);
  }
  if (complete.empty()) return nullptr;
  return complete[random.Below(complete.size())];
}

}  // namespace hoplite
