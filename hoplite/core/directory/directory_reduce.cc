// The part of ObjectDirectory that reductions need: their targets' records,
// and news of sources to whoever watches them.

#include <algorithm>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hoplite/base/check.h"
#include "hoplite/core/directory/object_directory.h"

namespace hoplite {
namespace {

// Payloads of one SourceNews: a batch of messages is bounded.
constexpr std::uint64_t kNewsPayloadBytesMax = 512 << 10;

}  // namespace

using command::Send;

ReduceCoordinator::Context ObjectDirectory::MakeContext(Commands& out) {
  return {.self = self_,
          .shard_map = shard_map_,
          .link = link_,
          .lost = lost_,
          .generation_counter = generation_counter_,
          .out = out};
}

std::string ObjectDirectory::WhyInvalid(const message::ReduceAsk& ask) const {
  if (ask.count == 0 || ask.count > ask.sources.size()) {
    return absl::StrFormat("count is %d, of %d sources", ask.count,
                           ask.sources.size());
  }
  if (!Supports(ask.op, ask.type)) {
    return absl::StrFormat("%s is not defined for %s", ToString(ask.op),
                           ToString(ask.type));
  }
  const absl::btree_set<ObjectId> distinct(ask.sources.begin(),
                                           ask.sources.end());
  if (distinct.size() != ask.sources.size()) {
    return "a source is named twice";
  }
  if (distinct.contains(ask.target)) return "the target is one of its sources";
  for (const ObjectId& source : ask.sources) {
    auto other = reductions_.find(source);
    if (other != reductions_.end() && other->second.HasSource(ask.target)) {
      return absl::StrFormat("source %s is itself reduced from the target",
                             source.ToHex());
    }
  }
  return "";
}

void ObjectDirectory::On(absl::Time now, NodeRef from,
                         const message::ReduceAsk& ask, Commands& out) {
  if (Defer(from, ask.target, ask)) return;
  ReduceCoordinator::Context context = MakeContext(out);
  const auto refuse = [&](absl::StatusCode code, std::string reason) {
    ReduceCoordinator::Answer(from, ask.target, ask.request, code,
                              std::move(reason), {}, context);
  };
  ForgetFailed(ask.target);
  auto known = reductions_.find(ask.target);
  if (known != reductions_.end()) {
    if (!known->second.IsSameRequest(ask)) {
      refuse(absl::StatusCode::kAlreadyExists,
             "the target is made by another reduction");
      return;
    }
    known->second.AddCaller(from, ask.request, context);
    return;
  }
  if (std::string why = WhyInvalid(ask); !why.empty()) {
    refuse(absl::StatusCode::kInvalidArgument, std::move(why));
    return;
  }
  ObjectRecord& record = RecordFor(now, ask.target);
  if (record.deleted) {
    refuse(absl::StatusCode::kNotFound, "the target was deleted");
    return;
  }
  if (record.generation.is_target()) {
    refuse(absl::StatusCode::kDataLoss,
           "the target is final; which sources went in was lost with the host "
           "of its shard");
    return;
  }
  if (record.exists()) {
    refuse(absl::StatusCode::kAlreadyExists, "the target was put already");
    return;
  }
  auto [it, inserted] = reductions_.try_emplace(
      ask.target, ReduceCoordinator(At(ask.target), ask));
  it->second.AddCaller(from, ask.request, context);
  it->second.Watch(context);
}

void ObjectDirectory::On(absl::Time now, NodeRef from,
                         const message::WatchSources& watch, Commands& out) {
  message::SourceNews news{.target = watch.target};
  std::uint64_t payload_bytes = 0;
  for (const message::WatchEntry& entry : watch.entries) {
    ObjectRecord& record = RecordFor(now, entry.object);
    auto watcher = std::ranges::find_if(
        record.watchers,
        [&](const auto& known) { return known.Is(watch.target, from); });
    const bool repeated = watcher != record.watchers.end();
    if (!repeated) {
      watcher = record.watchers.insert(watcher, {watch.target, from});
    }
    watcher->avoid = entry.avoid;
    const bool avoided =
        std::ranges::find(entry.avoid, watcher->holder) != entry.avoid.end();
    if (avoided) watcher->holder = NodeRef();
    std::optional<message::SourceEntry> source =
        DescribeSource(entry.object, record, entry.avoid);
    if (!source.has_value()) {
      // Who asks again may have missed that it is ready no more. A shard that
      // does not know all yet answers when it does.
      const bool answers = repeated || !entry.avoid.empty();
      if (!answers || IsRebuilding(entry.object)) continue;
      source = {.object = entry.object,
                .state = message::SourceState::kUnready};
    }
    watcher->Hear(source->holder);
    if (source->payload != nullptr) payload_bytes += source->payload->size();
    news.entries.push_back(*std::move(source));
    if (payload_bytes > kNewsPayloadBytesMax) {
      out.push_back(Send{from, std::move(news)});
      news = {.target = watch.target};
      payload_bytes = 0;
    }
  }
  if (!news.entries.empty()) out.push_back(Send{from, std::move(news)});
}

std::optional<message::SourceEntry> ObjectDirectory::DescribeSource(
    const ObjectId& object, const ObjectRecord& record,
    const std::vector<NodeRef>& avoid) const {
  message::SourceEntry entry{.object = object};
  auto reduction = reductions_.find(object);
  // What was lost may be made again.
  if (record.deleted ||
      (reduction != reductions_.end() &&
       reduction->second.state() == ReduceCoordinator::State::kFailed &&
       reduction->second.code() != absl::StatusCode::kDataLoss)) {
    entry.state = message::SourceState::kGone;
    return entry;
  }
  if (!record.ready()) return std::nullopt;
  entry.state = record.final ? message::SourceState::kFinal
                             : message::SourceState::kReady;
  entry.generation = record.generation;
  entry.size = record.size;
  entry.payload = record.payload;
  const auto is_avoided = [&](NodeRef node) {
    return std::ranges::find(avoid, node) != avoid.end();
  };
  const Copy* best = nullptr;
  for (const auto& [id, copy] : record.copies) {
    if ((!copy.complete && !copy.producer) || is_avoided(copy.node)) continue;
    if (best == nullptr || (copy.producer && !best->producer)) best = &copy;
  }
  if (best == nullptr && (record.payload == nullptr || is_avoided(self_))) {
    return std::nullopt;
  }
  // Where only the record has the bytes, this node can have them at once.
  entry.holder = best != nullptr ? best->node : self_;
  return entry;
}

void ObjectDirectory::NotifyWatchers(const ObjectId& object,
                                     ObjectRecord& record,
                                     message::SourceState otherwise,
                                     Commands& out) {
  for (ObjectRecord::Watcher& watcher : record.watchers) {
    std::optional<message::SourceEntry> entry =
        DescribeSource(object, record, watcher.avoid);
    if (!entry.has_value()) {
      if (IsRebuilding(object)) continue;
      entry = message::SourceEntry{.object = object, .state = otherwise};
    }
    watcher.Hear(entry->holder);
    out.push_back(Send{
        watcher.coordinator,
        message::SourceNews{.target = watcher.target, .entries = {*entry}}});
  }
}

void ObjectDirectory::On(absl::Time, NodeRef from,
                         const message::UnwatchSources& unwatch, Commands&) {
  for (const message::WatchEntry& entry : unwatch.entries) {
    ObjectRecord* record = FindRecord(entry.object);
    if (record == nullptr) continue;
    std::erase_if(record->watchers, [&](const auto& watcher) {
      return watcher.Is(unwatch.target, from);
    });
    EraseIfEmpty(entry.object);
  }
}

void ObjectDirectory::On(absl::Time now, NodeRef,
                         const message::SourceNews& news, Commands& out) {
  auto reduction = reductions_.find(news.target);
  if (reduction == reductions_.end() || !IsRunning(reduction->second)) return;
  ReduceCoordinator::Context context = MakeContext(out);
  for (const message::SourceEntry& entry : news.entries) {
    reduction->second.OnNews(entry, context);
  }
  Settle(now, news.target, out);
}

void ObjectDirectory::On(absl::Time now, NodeRef from,
                         const message::AssignmentFailed& failed,
                         Commands& out) {
  auto reduction = reductions_.find(failed.target);
  if (reduction == reductions_.end() || !IsRunning(reduction->second)) return;
  ReduceCoordinator::Context context = MakeContext(out);
  if (reduction->second.OnAssignmentFailed(from, failed, context)) {
    stuck_.push_back({now + kLostServerAvoided, failed.target, failed.position,
                      failed.output});
  }
  Settle(now, failed.target, out);
}

void ObjectDirectory::OnFolded(absl::Time now,
                               const event::PayloadsFolded& folded,
                               Commands& out) {
  auto reduction = reductions_.find(folded.target);
  if (reduction == reductions_.end() || !IsRunning(reduction->second) ||
      reduction->second.target_generation() != folded.generation) {
    return;
  }
  ObjectRecord& record = ShardOf(folded.target).records[folded.target];
  const TransferPlan plan =
      PlanBroadcast(folded.payload->size(), node_count_, link_);
  record.generation = folded.generation;
  record.size = folded.payload->size();
  record.frame_bytes = plan.frame_bytes;
  record.degree = plan.degree;
  record.payload = folded.payload;
  record.streams = true;
  KeepPayload(folded.target, record);
  ReduceCoordinator::Context context = MakeContext(out);
  reduction->second.OnFolded(context);
  Settle(now, folded.target, out);
}

void ObjectDirectory::Settle(absl::Time now, const ObjectId& target,
                             Commands& out) {
  auto it = reductions_.find(target);
  HOPLITE_CHECK(it != reductions_.end());
  const ReduceCoordinator& reduction = it->second;
  ObjectRecord& record = ShardOf(target).records[target];
  switch (reduction.state()) {
    case ReduceCoordinator::State::kRunning:
      if (record.exists() &&
          record.generation != reduction.target_generation()) {
        DropTarget(target, record, out);
        if (!reduction.root().has_value()) {
          NotifyWatchers(target, record, message::SourceState::kUnready, out);
        }
      }
      if (!reduction.root().has_value() || record.exists()) return;
      InstallRoot(reduction, record);
      NotifyWatchers(target, record, message::SourceState::kGone, out);
      ServeWaiting(target, record, out);
      return;
    case ReduceCoordinator::State::kFinal:
      if (!record.final) MakeFinal(target, record, out);
      return;
    case ReduceCoordinator::State::kFailed:
      failed_.emplace_back(now, target);
      // Assigned and failed at one go: its node must hear of the end too.
      if (reduction.root().has_value() &&
          record.generation != reduction.target_generation()) {
        if (record.exists()) DropTarget(target, record, out);
        InstallRoot(reduction, record);
      }
      if (record.exists() || !record.waiting.empty()) {
        Lose(target, record, reduction.code(), reduction.reason(), out);
      } else {
        NotifyWatchers(target, record, message::SourceState::kGone, out);
      }
      return;
  }
}

void ObjectDirectory::InstallRoot(const ReduceCoordinator& reduction,
                                  ObjectRecord& record) {
  const NodeRef root = *reduction.root();
  record.generation = reduction.target_generation();
  record.size = reduction.size();
  record.frame_bytes = reduction.frame_bytes();
  record.degree = PlanBroadcast(record.size, node_count_, link_).degree;
  record.streams = true;
  record.Add(root, loads_).producer = true;
}

void ObjectDirectory::MakeFinal(const ObjectId& target, ObjectRecord& record,
                                Commands& out) {
  record.final = true;
  record.sealed = true;
  for (const auto& [id, copy] : record.copies) {
    SendFinal(target, record, copy.node, out);
  }
  if (record.payload != nullptr && record.copies.empty()) {
    // The host's store keeps what has no other copy yet.
    SendInline(target, record, self_, AskNumber(), out);
  }
  NotifyWatchers(target, record, message::SourceState::kGone, out);
  ServeWaiting(target, record, out);
}

std::uint64_t ObjectDirectory::record_count() const {
  std::uint64_t count = 0;
  for (const auto& [id, shard] : shards_) {
    count += static_cast<std::uint64_t>(std::ranges::count_if(
        shard.records,
        [](const auto& entry) { return !entry.second.deleted; }));
  }
  return count;
}

std::uint64_t ObjectDirectory::reductions_under_way() const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(reductions_, [](const auto& entry) {
        return entry.second.state() == ReduceCoordinator::State::kRunning;
      }));
}

std::string ObjectDirectory::CheckInvariants() const {
  ServingLoads loads;
  for (const auto& [shard_id, shard] : shards_) {
    for (const auto& [object, record] : shard.records) {
      if (std::string why = record.CheckInvariants(); !why.empty()) {
        return absl::StrCat("record of ", object.ToHex(), ": ", why);
      }
      for (const auto& [id, copy] : record.copies) {
        if (copy.serving > 0) loads[id] += copy.serving;
      }
    }
  }
  if (loads != loads_) return "the loads differ from the records' sum";
  return "";
}

}  // namespace hoplite
