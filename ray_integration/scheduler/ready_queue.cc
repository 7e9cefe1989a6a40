#include "ray_integration/scheduler/ready_queue.h"

#include <algorithm>

#include "hoplite/base/check.h"

namespace hoplite::task {

ReadyKey ReadyQueue::Add(absl::Time now, const LeaseId& lease,
                         const LeaseShape& shape, std::uint32_t depth,
                         std::uint64_t arrival, bool plain) {
  ReadyKey key{.inverse_depth = UINT32_MAX - depth, .arrival = arrival};
  Depth& at = depths_[key.inverse_depth];
  Turns& turns = at.owners[lease.owner];
  turns.last = std::max(turns.last, at.served) + 1;
  ++turns.waiting;
  key.turn = turns.last;
  Line& line = lines_[shape];
  HOPLITE_CHECK(line.leases.emplace(key, Entry{lease, now}).second);
  if (plain) ++line.plain[lease.owner];
  ++size_;
  return key;
}

void ReadyQueue::Remove(const ReadyKey& key, const LeaseShape& shape,
                        bool plain) {
  const auto line = lines_.find(shape);
  HOPLITE_CHECK(line != lines_.end());
  const auto entry = line->second.leases.find(key);
  HOPLITE_CHECK(entry != line->second.leases.end());
  const ProcessId owner = entry->second.lease.owner;
  if (plain) {
    const auto count = line->second.plain.find(owner);
    if (--count->second == 0) line->second.plain.erase(count);
  }
  line->second.leases.erase(entry);
  if (line->second.leases.empty()) lines_.erase(line);
  --size_;
  Depth& at = depths_[key.inverse_depth];
  const auto turns = at.owners.find(owner);
  if (--turns->second.waiting == 0) at.owners.erase(turns);
  if (at.owners.empty()) depths_.erase(key.inverse_depth);
}

void ReadyQueue::Serve(const ReadyKey& key, const LeaseShape& shape,
                       bool plain) {
  Depth& at = depths_[key.inverse_depth];
  at.served = std::max(at.served, key.turn);
  Remove(key, shape, plain);
}

}  // namespace hoplite::task
