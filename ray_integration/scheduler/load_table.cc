#include "ray_integration/scheduler/load_table.h"

#include <algorithm>

#include "absl/container/btree_map.h"

namespace hoplite::task {
namespace {

// Enough for the kinds of tasks that a node sees between two tables.
constexpr std::size_t kNoneFreeKept = 64;

using BytesByNode = absl::btree_map<NodeRef, std::uint64_t>;

BytesByNode BytesOf(const std::vector<LeaseArgument>& arguments) {
  BytesByNode bytes;
  for (const LeaseArgument& each : arguments) {
    for (const NodeRef& node : each.nodes) bytes[node] += each.bytes;
  }
  return bytes;
}

}  // namespace

void LoadTable::Replace(const std::vector<NodeLoad>& nodes) {
  rows_ = nodes;
  const auto is_self = [this](const NodeLoad& row) {
    return row.node == self_;
  };
  rows_.erase(std::remove_if(rows_.begin(), rows_.end(), is_self), rows_.end());
  none_free_.clear();
}

void LoadTable::Forget(const NodeRef& node) {
  const auto is_lost = [&](const NodeLoad& row) { return row.node == node; };
  rows_.erase(std::remove_if(rows_.begin(), rows_.end(), is_lost), rows_.end());
}

bool LoadTable::NoneFree(const Resources& need) const {
  return std::any_of(none_free_.begin(), none_free_.end(),
                     [&](const Resources& each) { return need.Hold(each); });
}

std::optional<NodeRef> LoadTable::TakeFree(
    const Resources& need, const std::vector<LeaseArgument>& arguments,
    absl::string_view host) {
  if (rows_.empty() || NoneFree(need)) return std::nullopt;
  const BytesByNode bytes = BytesOf(arguments);
  NodeLoad* best = nullptr;
  std::uint64_t best_bytes = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    NodeLoad& row = rows_[(turn_ + i) % rows_.size()];
    if (!host.empty() && row.host != host) continue;
    if (!row.free.Hold(need)) continue;
    const auto held = bytes.find(row.node);
    const std::uint64_t here = held == bytes.end() ? 0 : held->second;
    if (best != nullptr && here <= best_bytes) continue;
    best = &row;
    best_bytes = here;
    if (bytes.empty()) break;
  }
  if (best == nullptr) {
    if (host.empty() && none_free_.size() < kNoneFreeKept) {
      none_free_.push_back(need);
    }
    return std::nullopt;
  }
  best->free.Subtract(need);
  turn_ = static_cast<std::size_t>(best - rows_.data()) + 1;
  return best->node;
}

std::optional<NodeRef> LoadTable::TakeAny(const Resources& need,
                                          absl::string_view host,
                                          std::uint32_t queued_below) {
  NodeLoad* best = nullptr;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    NodeLoad& row = rows_[(turn_ + i) % rows_.size()];
    if (!host.empty() && row.host != host) continue;
    if (row.queued >= queued_below || !row.total.Hold(need)) continue;
    if (best == nullptr || row.queued < best->queued) best = &row;
  }
  if (best == nullptr) return std::nullopt;
  ++best->queued;
  turn_ = static_cast<std::size_t>(best - rows_.data()) + 1;
  return best->node;
}

bool LoadTable::HasHost(absl::string_view host) const {
  return std::any_of(rows_.begin(), rows_.end(),
                     [&](const NodeLoad& row) { return row.host == host; });
}

}  // namespace hoplite::task
