#include "hoplite/store/eviction.h"

#include "hoplite/base/check.h"

namespace hoplite {

void LruOrder::Insert(BufferId id, std::uint64_t size) {
  const auto place =
      entries_.insert(entries_.end(), Entry{.id = id, .size = size});
  HOPLITE_CHECK(by_id_.emplace(id, place).second);
  total_bytes_ += size;
}

bool LruOrder::Touch(BufferId id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return false;
  entries_.splice(entries_.end(), entries_, found->second);
  return true;
}

bool LruOrder::Erase(BufferId id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return false;
  total_bytes_ -= found->second->size;
  entries_.erase(found->second);
  by_id_.erase(found);
  return true;
}

LruOrder::Choice LruOrder::Candidates(
    std::uint64_t bytes_needed,
    absl::FunctionRef<bool(BufferId)> may_evict) const {
  Choice choice;
  for (const Entry& entry : entries_) {
    if (choice.bytes >= bytes_needed) break;
    if (entry.size == 0 || !may_evict(entry.id)) continue;
    choice.ids.push_back(entry.id);
    choice.bytes += entry.size;
  }
  return choice;
}

}  // namespace hoplite
