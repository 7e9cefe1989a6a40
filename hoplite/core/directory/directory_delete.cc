// The part of ObjectDirectory by which objects go: Delete, of one or of all
// whose ids begin alike, eviction, and what is forgotten with time.

#include <algorithm>
#include <utility>

#include "hoplite/base/check.h"
#include "hoplite/core/directory/object_directory.h"

namespace hoplite {

using command::Send;

// --- Delete and eviction. ---------------------------------------------------

void ObjectDirectory::On(absl::Time now, NodeRef from,
                         const message::DeleteAsk& ask, Commands& out) {
  if (Defer(from, ask.object, ask)) return;
  ObjectRecord* record = FindRecord(ask.object);
  auto reduction = reductions_.find(ask.object);
  // Also one that is only waited for: those who wait are told.
  const bool known = record != nullptr &&
                     (record->exists() || record->deleted ||
                      !record->waiting.empty() || !record->watchers.empty());
  if (!known && reduction == reductions_.end()) {
    out.push_back(
        Send{from, message::DeleteAnswer{.object = ask.object,
                                         .request = ask.request,
                                         .code = absl::StatusCode::kNotFound}});
    return;
  }
  if (record == nullptr) record = &ShardOf(ask.object).records[ask.object];
  const std::pair<NodeRef, RequestId> deleter(from, ask.request);
  if (record->deleted && record->dropping.empty()) {
    const bool repeated = std::ranges::find(record->deleted_for, deleter) !=
                          record->deleted_for.end();
    out.push_back(Send{
        from,
        message::DeleteAnswer{.object = ask.object,
                              .request = ask.request,
                              .code = repeated ? absl::StatusCode::kOk
                                               : absl::StatusCode::kNotFound}});
    return;
  }
  if (std::ranges::find(record->deleters, deleter) == record->deleters.end()) {
    record->deleters.push_back(deleter);
  }
  if (!record->deleted) Delete(now, ask.object, *record, out);
}

void ObjectDirectory::Delete(absl::Time now, const ObjectId& object,
                             ObjectRecord& record, Commands& out) {
  MarkDeleted(now, object, record);
  const auto reduction = reductions_.find(object);
  if (reduction != reductions_.end()) {
    ReduceCoordinator::Context context = MakeContext(out);
    reduction->second.Fail(absl::StatusCode::kNotFound,
                           "the target was deleted", context);
    EraseReduction(reduction);
  }
  for (const auto& [id, copy] : record.copies) {
    record.dropping.emplace_back(copy.node, record.generation);
  }
  for (const auto& [node, put] : record.puts) {
    out.push_back(
        Send{node, message::PutAnswer{.at = At(object),
                                      .object = object,
                                      .generation = put.generation,
                                      .code = absl::StatusCode::kNotFound}});
  }
  record.puts.clear();
  Lose(object, record, absl::StatusCode::kNotFound, "it was deleted", out);
  FinishDelete(object, record, out);
}

void ObjectDirectory::MarkDeleted(absl::Time now, const ObjectId& object,
                                  ObjectRecord& record) {
  record.deleted = true;
  record.deleted_at = now;
  record.deleted_for.clear();
  tombstones_.emplace_back(now, object);
}

void ObjectDirectory::OnPrefixEnded(absl::Time now, const IdPrefix& prefix,
                                    Commands& out) {
  if (!prefixes_.insert(prefix).second) {
    std::erase_if(ended_prefixes_,
                  [&](const auto& each) { return each.second == prefix; });
  }
  ended_prefixes_.emplace_back(now, prefix);
  if (ended_prefixes_.size() > kEndedPrefixesMax) {
    prefixes_.erase(ended_prefixes_.front().second);
    ended_prefixes_.pop_front();
  }
  for (auto& [id, shard] : shards_) {
    for (auto it = shard.records.lower_bound(prefix.First());
         it != shard.records.end() && IdPrefix::Of(it->first) == prefix; ++it) {
      if (!it->second.deleted) Delete(now, it->first, it->second, out);
    }
  }
}

ObjectRecord& ObjectDirectory::RecordFor(absl::Time now,
                                         const ObjectId& object) {
  const auto [it, is_new] = ShardOf(object).records.try_emplace(object);
  if (is_new && prefixes_.contains(IdPrefix::Of(object))) {
    MarkDeleted(now, object, it->second);
  }
  return it->second;
}

void ObjectDirectory::On(absl::Time, NodeRef from,
                         const message::Dropped& dropped, Commands& out) {
  ObjectRecord* record = FindRecord(dropped.object);
  if (record == nullptr || !record->deleted) return;
  std::erase(record->dropping, std::pair(from, dropped.generation));
  FinishDelete(dropped.object, *record, out);
}

void ObjectDirectory::FinishDelete(const ObjectId& object, ObjectRecord& record,
                                   Commands& out) {
  if (!record.dropping.empty()) return;
  for (const auto& [node, request] : record.deleters) {
    out.push_back(Send{
        node, message::DeleteAnswer{.object = object, .request = request}});
    record.deleted_for.emplace_back(node, request);
  }
  record.deleters.clear();
}

bool ObjectDirectory::Evict(NodeRef from, const message::EvictEntry& entry) {
  if (IsRebuilding(entry.object)) return false;
  ObjectRecord* record = FindRecord(entry.object);
  if (record == nullptr || record->generation != entry.generation) return true;
  Copy* copy = record->Find(from);
  if (copy == nullptr) return true;
  const bool elsewhere =
      std::ranges::any_of(record->copies, [&](const auto& other) {
        return other.second.complete && other.second.node != from;
      });
  const bool counted_on = std::ranges::any_of(
      record->watchers,
      [&](const auto& watcher) { return watcher.holder == from; });
  if (counted_on || !elsewhere || !copy->complete || copy->serving > 0 ||
      !record->final) {
    return false;
  }
  record->Erase(from, loads_);
  return true;
}

void ObjectDirectory::KeepPayload(const ObjectId& object,
                                  ObjectRecord& record) {
  record.payload_sequence = ++sequence_;
  payloads_[record.payload_sequence] = object;
  payload_bytes_ += record.payload->size();
  for (auto it = payloads_.begin();
       payload_bytes_ > kInlineBytesKept && it != payloads_.end();) {
    ObjectRecord* oldest = FindRecord((it++)->second);
    HOPLITE_CHECK(oldest != nullptr && oldest->payload != nullptr);
    const bool elsewhere = std::ranges::any_of(
        oldest->copies,
        [](const auto& entry) { return entry.second.confirmed; });
    if (elsewhere && oldest != &record) DropPayload(*oldest);
  }
}

void ObjectDirectory::DropPayload(ObjectRecord& record) {
  if (record.payload == nullptr) return;
  payload_bytes_ -= record.payload->size();
  payloads_.erase(record.payload_sequence);
  record.payload = nullptr;
}

void ObjectDirectory::HandleTimeout(absl::Time now, Commands& out) {
  AskForHoldings(now, NodeRef(), out);
  while (!shy_.empty() && shy_.front().first <= now) {
    const ObjectId object = shy_.front().second;
    shy_.pop_front();
    ObjectRecord* record = FindRecord(object);
    if (record == nullptr) continue;
    for (ObjectRecord::WaitingAsk& ask : record->waiting) ask.lost = NodeRef();
    ServeWaiting(object, *record, out);
  }
  RetryStuck(now, out);
  while (!failed_.empty() && (failed_.size() > kTombstonesMax ||
                              failed_.front().first + kTombstoneAge <= now)) {
    const ObjectId target = failed_.front().second;
    failed_.pop_front();
    if (ForgetFailed(target)) EraseIfEmpty(target);
  }
  while (!ended_prefixes_.empty() &&
         ended_prefixes_.front().first + kTombstoneAge <= now) {
    prefixes_.erase(ended_prefixes_.front().second);
    ended_prefixes_.pop_front();
  }
  while (!tombstones_.empty() &&
         (tombstones_.size() > kTombstonesMax ||
          tombstones_.front().first + kTombstoneAge <= now)) {
    const ObjectId object = tombstones_.front().second;
    tombstones_.pop_front();
    if (ObjectRecord* record = FindRecord(object)) {
      record->deleted = false;
      EraseIfEmpty(object);
    }
  }
}

std::optional<absl::Time> ObjectDirectory::NextTimeout() const {
  std::optional<absl::Time> next;
  if (!shy_.empty()) next = shy_.front().first;
  if (!stuck_.empty()) {
    next = std::min(next.value_or(stuck_.front().retry_at),
                    stuck_.front().retry_at);
  }
  for (const auto& [id, shard] : shards_) {
    if (shard.missing.empty()) continue;
    next = std::min(next.value_or(shard.ask_at), shard.ask_at);
  }
  const auto consider = [&](const auto& aged) {
    if (aged.empty()) return;
    const absl::Time oldest = aged.front().first;
    const absl::Time due =
        aged.size() > kTombstonesMax ? oldest : oldest + kTombstoneAge;
    next = std::min(next.value_or(due), due);
  };
  consider(tombstones_);
  consider(failed_);
  consider(ended_prefixes_);
  return next;
}

}  // namespace hoplite
