// The part of ObjectDirectory that hears of losses: what was on a dead node is
// struck, and what is made of it ends or starts again.

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hoplite/core/directory/object_directory.h"

namespace hoplite {

using command::Send;

void ObjectDirectory::OnNodeLost(absl::Time now, NodeRef node, Commands& out) {
  lost_.Add(node);
  std::vector<ObjectId> objects;
  std::vector<Shard*> rebuilt;
  for (auto& [shard_id, shard] : shards_) {
    shard.pieces.erase(node);
    std::erase_if(shard.later,
                  [&](const auto& ask) { return ask.first == node; });
    if (shard.missing.erase(node) > 0 && shard.missing.empty()) {
      rebuilt.push_back(&shard);
    }
    for (auto& [object, record] : shard.records) {
      record.Forget(node, loads_);
      if (record.deleted) FinishDelete(object, record, out);
      objects.push_back(object);
    }
  }
  for (auto& [target, reduction] : reductions_) {
    if (!IsRunning(reduction)) continue;
    const ObjectRecord* record = FindRecord(target);
    const bool held =
        record != nullptr &&
        std::ranges::any_of(record->copies, [](const auto& entry) {
          return entry.second.complete;
        });
    ReduceCoordinator::Context context = MakeContext(out);
    reduction.OnNodeLost(node, held, context);
    Settle(now, target, out);
  }
  for (const ObjectId& object : objects) {
    ObjectRecord* record = FindRecord(object);
    if (record == nullptr) continue;
    AfterLoss(now, object, *record, node, out);
    EraseIfEmpty(object);
  }
  for (Shard* shard : rebuilt) FinishRebuild(now, *shard, out);
}

void ObjectDirectory::AfterLoss(absl::Time now, const ObjectId& object,
                                ObjectRecord& record, NodeRef node,
                                Commands& out) {
  auto reduction = reductions_.find(object);
  const bool mended =
      reduction != reductions_.end() && IsRunning(reduction->second);
  if (!record.exists() || record.recoverable() || mended ||
      IsRebuilding(object)) {
    const bool only_inline = record.payload != nullptr && record.copies.empty();
    if (only_inline && record.final) {
      SendInline(object, record, self_, AskNumber(), out);
    }
    ServeWaiting(object, record, out);
    return;
  }
  if (!record.sealed && reduction == reductions_.end()) {
    Lose(object, record, absl::StatusCode::kAborted,
         "its writer was lost before Seal", out);
    return;
  }
  const std::string reason =
      absl::StrCat("its last copy was lost with ", ToString(node.node));
  if (reduction != reductions_.end()) {
    reduction->second.OnTargetLost(reason);
    failed_.emplace_back(now, object);
  }
  Lose(object, record, absl::StatusCode::kDataLoss, reason, out);
}

void ObjectDirectory::WatchAgain(ShardId shard, Commands& out) {
  ReduceCoordinator::Context context = MakeContext(out);
  for (auto& [id, reduction] : reductions_) {
    if (reduction.state() == ReduceCoordinator::State::kRunning) {
      reduction.Watch(context, shard);
    }
  }
}

void ObjectDirectory::DropTarget(const ObjectId& target, ObjectRecord& record,
                                 Commands& out) {
  for (const auto& [id, copy] : record.copies) {
    out.push_back(
        Send{copy.node, message::Drop{.at = At(target),
                                      .object = target,
                                      .generation = record.generation,
                                      .code = absl::StatusCode::kAborted,
                                      .reason = "its reduction starts again"}});
  }
  record.Reset(loads_);
  for (ObjectRecord::WaitingAsk& ask : record.waiting) ask.lost = NodeRef();
  for (ObjectRecord::Watcher& watcher : record.watchers) {
    watcher.holder = NodeRef();
  }
}

void ObjectDirectory::RetryStuck(absl::Time now, Commands& out) {
  while (!stuck_.empty() && stuck_.front().retry_at <= now) {
    const StuckPosition stuck = stuck_.front();
    stuck_.pop_front();
    auto reduction = reductions_.find(stuck.target);
    if (reduction == reductions_.end()) continue;
    ReduceCoordinator::Context context = MakeContext(out);
    reduction->second.Retry(stuck.position, stuck.output, context);
    if (IsRunning(reduction->second)) Settle(now, stuck.target, out);
  }
}

}  // namespace hoplite
