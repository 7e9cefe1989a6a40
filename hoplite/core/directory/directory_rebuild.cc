// The part of ObjectDirectory that makes records anew from what nodes report:
// of a shard whose host was lost, and of a node whose messages may be lost.

#include <algorithm>
#include <tuple>
#include <utility>

#include "hoplite/core/directory/object_directory.h"

namespace hoplite {
namespace {

using State = message::Holding::State;

// What one node may report of one shard: more is not taken in.
constexpr std::size_t kHoldingsMax = 1 << 18;

bool HasBytes(const message::Holding& holding) {
  return holding.generation && holding.state != State::kPutting;
}

// Of two generations of an object the one that stands: what can never change,
// then what somebody has whole or makes, then the newer target.
using Rank = std::tuple<bool, bool, Generation>;

Generation TargetOnly(Generation generation) {
  return generation.is_target() ? generation : Generation();
}

Rank RankOf(const message::Holding& holding) {
  const bool whole =
      holding.state == State::kComplete || holding.state == State::kProducing;
  return {holding.final, whole, TargetOnly(holding.generation)};
}

Rank RankOf(const ObjectRecord& record) {
  const bool whole = std::ranges::any_of(record.copies, [](const auto& entry) {
    return entry.second.complete || entry.second.producer;
  });
  return {record.final, whole, TargetOnly(record.generation)};
}

}  // namespace

using command::Send;

// --- A shard whose records were lost. ---------------------------------------

void ObjectDirectory::Rebuild(absl::Time now, ShardRef at,
                              const std::vector<NodeRef>& members,
                              Commands& out) {
  GiveUp(at.shard, out);
  Open(at);
  Shard& shard = shards_.at(at.shard);
  shard.missing.insert(members.begin(), members.end());
  shard.ask_at = now + kHoldingsRetry;
}

void ObjectDirectory::GiveUp(ShardId shard, Commands& out) {
  const auto it = shards_.find(shard);
  if (it == shards_.end()) return;
  for (auto& [object, record] : it->second.records) {
    DropPayload(record);
    record.Reset(loads_);
  }
  std::vector<ObjectId> targets;
  for (const auto& [target, reduction] : reductions_) {
    if (target.shard() == shard) targets.push_back(target);
  }
  ReduceCoordinator::Context context = MakeContext(out);
  for (const ObjectId& target : targets) {
    const auto reduction = reductions_.find(target);
    if (IsRunning(reduction->second)) reduction->second.Unwatch(context);
    EraseReduction(reduction);
  }
  shards_.erase(it);
}

bool ObjectDirectory::IsRebuilding(const ObjectId& object) {
  return !ShardOf(object).missing.empty();
}

bool ObjectDirectory::Defer(NodeRef from, const ObjectId& object,
                            const LateAsk& ask) {
  Shard& shard = ShardOf(object);
  if (shard.missing.empty()) return false;
  const std::pair<NodeRef, LateAsk> late(from, ask);
  if (std::ranges::find(shard.later, late) == shard.later.end()) {
    shard.later.push_back(late);
  }
  return true;
}

void ObjectDirectory::AskForHoldings(absl::Time now, NodeRef only,
                                     Commands& out) {
  absl::btree_map<NodeRef, message::HoldingsAsk> asks;
  for (auto& [id, shard] : shards_) {
    if (shard.missing.empty() || (!only && shard.ask_at > now)) continue;
    if (!only) shard.ask_at = now + kHoldingsRetry;
    for (NodeRef member : shard.missing) {
      if (only && member != only) continue;
      asks[member].shards.push_back(shard_map_.Find(id));
    }
  }
  for (auto& [member, ask] : asks) out.push_back(Send{member, std::move(ask)});
}

void ObjectDirectory::FinishRebuild(absl::Time now, Shard& shard,
                                    Commands& out) {
  const auto later = std::exchange(shard.later, {});
  absl::btree_set<ObjectId> restarting;
  for (const auto& [from, ask] : later) {
    const auto* reduce = std::get_if<message::ReduceAsk>(&ask);
    if (reduce != nullptr) restarting.insert(reduce->target);
  }
  std::vector<ObjectId> objects;
  for (const auto& [object, record] : shard.records) objects.push_back(object);
  for (const ObjectId& object : objects) {
    Conclude(now, object, restarting.contains(object), out);
  }
  for (const auto& entry : later) {
    std::visit([&](const auto& body) { On(now, entry.first, body, out); },
               entry.second);
  }
  for (const ObjectId& object : objects) EraseIfEmpty(object);
}

void ObjectDirectory::Conclude(absl::Time now, const ObjectId& object,
                               bool restarts, Commands& out) {
  ObjectRecord& record = ShardOf(object).records[object];
  // The writer of what others read already may only have asked again.
  const auto writer = std::ranges::find_if(record.puts, [&](const auto& put) {
    return put.second.generation == record.generation;
  });
  if (record.exists() && writer != record.puts.end()) {
    const auto [from, put] = *writer;
    record.puts.erase(writer);
    On(now, from, put, out);
  }
  if (!record.exists()) {
    NotifyWatchers(object, record, message::SourceState::kUnready, out);
    AcceptNextPut(object, record, out);
  } else if (record.generation.is_target() && !record.final) {
    Lose(object, record,
         restarts ? absl::StatusCode::kAborted : absl::StatusCode::kDataLoss,
         "its reduction was lost with the host of its shard", out);
  } else if (!record.recoverable()) {
    Lose(object, record,
         record.sealed ? absl::StatusCode::kDataLoss
                       : absl::StatusCode::kAborted,
         "its last copy was lost with the host of its shard", out);
  } else {
    // Who avoids some holders may not have been answered yet.
    NotifyWatchers(object, record, message::SourceState::kUnready, out);
    ServeWaiting(object, record, out);
  }
}

void ObjectDirectory::AcceptAgain(NodeRef from, const message::PutBegun& put,
                                  ObjectRecord& record, Commands& out) {
  Copy& copy = record.Add(from, loads_);
  if (record.sealed) {
    copy.complete = copy.confirmed = true;
    return;
  }
  record.FreeServer(copy, loads_);
  copy.producer = true;
  record.streams |= put.streams;
  if (put.sealed) {
    Sealed(put.object, record, out);
    return;
  }
  ServeWaiting(put.object, record, out);
}

// --- What a node holds. -----------------------------------------------------

void ObjectDirectory::On(absl::Time now, NodeRef from,
                         const message::Holdings& holdings, Commands& out) {
  auto found = shards_.find(holdings.at.shard);
  if (found == shards_.end()) return;
  Shard& shard = found->second;
  std::vector<message::Holding>& pieces = shard.pieces[from];
  if (holdings.first) pieces.clear();
  for (const message::Holding& entry : holdings.entries) {
    if (pieces.size() == kHoldingsMax) break;
    if (entry.object.shard() == shard.at.shard) pieces.push_back(entry);
  }
  if (!holdings.last) return;
  std::vector<message::Holding> held = std::move(pieces);
  shard.pieces.erase(from);
  std::ranges::stable_sort(held, {}, &message::Holding::object);
  std::vector<ObjectId> struck;
  for (auto& [object, record] : shard.records) {
    const auto first =
        std::ranges::lower_bound(held, object, {}, &message::Holding::object);
    const auto last = std::ranges::upper_bound(first, held.end(), object, {},
                                               &message::Holding::object);
    if (Strike(from, object, record, {first, last}, out)) {
      struck.push_back(object);
    }
  }
  for (const message::Holding& entry : held) {
    if (HasBytes(entry)) Enter(now, from, entry, out);
  }
  for (const ObjectId& object : struck) {
    AfterLoss(now, object, shard.records[object], from, out);
    EraseIfEmpty(object);
  }
  if (shard.missing.erase(from) > 0 && shard.missing.empty()) {
    FinishRebuild(now, shard, out);
  }
}

bool ObjectDirectory::Strike(NodeRef from, const ObjectId& object,
                             ObjectRecord& record,
                             std::span<const message::Holding> held,
                             Commands& out) {
  const auto asks = [&](AskNumber ask) {
    return std::ranges::any_of(held, [&](const message::Holding& each) {
      return each.state == State::kAsking && each.ask == ask;
    });
  };
  const auto has = [&](Generation generation) {
    return std::ranges::any_of(held, [&](const message::Holding& each) {
      return each.generation == generation;
    });
  };
  std::erase_if(record.waiting, [&](const auto& waiting) {
    return waiting.node == from && !asks(waiting.ask);
  });
  std::erase_if(record.puts, [&](const auto& put) {
    return put.first == from && !has(put.second.generation);
  });
  const bool dropped = std::erase_if(record.dropping, [&](const auto& holder) {
                         return holder.first == from && !has(holder.second);
                       }) > 0;
  if (dropped && record.deleted) FinishDelete(object, record, out);
  const Copy* copy = record.Find(from);
  // Its grant may be on the way to it, or its assignment as a root.
  auto reduction = reductions_.find(object);
  const bool is_root = reduction != reductions_.end() &&
                       IsRunning(reduction->second) &&
                       reduction->second.root() == from;
  const bool stays =
      copy == nullptr || has(record.generation) || asks(copy->ask) || is_root;
  if (!stays) record.Erase(from, loads_);
  return !stays || record.empty();
}

void ObjectDirectory::Enter(absl::Time now, NodeRef from,
                            const message::Holding& holding, Commands& out) {
  const ObjectId& object = holding.object;
  ObjectRecord& record = RecordFor(now, object);
  if (!MayHold(holding, record, out)) {
    const std::pair<NodeRef, Generation> holder(from, holding.generation);
    if (record.deleted &&
        std::ranges::find(record.dropping, holder) == record.dropping.end()) {
      record.dropping.push_back(holder);
    }
    out.push_back(
        Send{from,
             message::Drop{.at = At(object),
                           .object = object,
                           .generation = holding.generation,
                           .code = record.deleted ? absl::StatusCode::kNotFound
                                                  : absl::StatusCode::kAborted,
                           .reason = record.deleted ? "it was deleted"
                                                    : "other bytes were put"}});
    EraseIfEmpty(object);
    return;
  }
  const bool was_described = DescribeSource(object, record, {}).has_value();
  EnterCopy(from, holding, record);
  const Copy& copy = *record.Find(from);
  // Without its records a shard believes everybody; else only the writer.
  const bool says_final = IsRebuilding(object) || copy.producer;
  if (record.final && !holding.final) {
    SendFinal(object, record, from, out);
  } else if (holding.final && !record.final && says_final) {
    BecomeFinal(object, record, out);
  }
  if (holding.state == State::kComplete) {
    On(now, from,
       message::CopyComplete{.object = object,
                             .generation = holding.generation},
       out);
  }
  if (!was_described) {
    NotifyWatchers(object, record, message::SourceState::kUnready, out);
  }
  ServeWaiting(object, record, out);
}

bool ObjectDirectory::MayHold(const message::Holding& holding,
                              ObjectRecord& record, Commands& out) {
  if (record.deleted) return false;
  if (record.generation == holding.generation) return true;
  const bool rebuilding = IsRebuilding(holding.object);
  if (record.exists()) {
    if (!rebuilding || RankOf(record) >= RankOf(holding)) return false;
    for (const auto& [id, copy] : record.copies) {
      out.push_back(
          Send{copy.node, message::Drop{.at = At(holding.object),
                                        .object = holding.object,
                                        .generation = record.generation,
                                        .code = absl::StatusCode::kAborted,
                                        .reason = "other bytes were put"}});
    }
    DropPayload(record);
    record.Reset(loads_);
  } else {
    // The last whole copy is found again; what is less was given up.
    const bool whole = holding.state == State::kComplete && holding.final;
    if (reductions_.contains(holding.object)) return false;
    if (!rebuilding && !whole) return false;
    record.final = record.sealed = whole && !rebuilding;
  }
  const TransferPlan plan = PlanBroadcast(holding.size, node_count_, link_);
  record.generation = holding.generation;
  record.size = holding.size;
  record.frame_bytes =
      holding.frame_bytes > 0 ? holding.frame_bytes : plan.frame_bytes;
  record.degree = plan.degree;
  return true;
}

void ObjectDirectory::EnterCopy(NodeRef from, const message::Holding& holding,
                                ObjectRecord& record) {
  const bool is_new = record.Find(from) == nullptr;
  Copy& copy = record.Add(from, loads_);
  if (is_new) copy.sequence = ++sequence_;
  switch (holding.state) {
    case State::kComplete:
    case State::kAsking:
    case State::kPutting:
      return;
    case State::kProducing:
      record.FreeServer(copy, loads_);
      copy.producer = true;
      record.streams |= holding.streams || holding.generation.is_target();
      return;
    case State::kFetching:
      if (!is_new && copy.ask == holding.ask) return;
      record.FreeServer(copy, loads_);
      copy.ask = holding.ask;
      copy.complete = false;
      if (Copy* server = record.Find(holding.server)) {
        record.TakeServer(copy, *server, loads_);
      } else {
        copy.server = holding.server;  // not heard of yet
      }
      return;
  }
}

void ObjectDirectory::BecomeFinal(const ObjectId& object, ObjectRecord& record,
                                  Commands& out) {
  if (!record.generation.is_target()) {
    Sealed(object, record, out);
    return;
  }
  if (reductions_.contains(object)) return;
  record.sealed = record.final = true;
  for (const auto& [id, copy] : record.copies) {
    SendFinal(object, record, copy.node, out);
  }
  NotifyWatchers(object, record, message::SourceState::kUnready, out);
}

// --- A peer that may have missed something. ---------------------------------

void ObjectDirectory::OnPeerReturned(NodeRef peer, Commands& out) {
  AskForHoldings(absl::InfinitePast(), peer, out);
  ReduceCoordinator::Context context = MakeContext(out);
  for (auto& [target, reduction] : reductions_) {
    if (IsRunning(reduction)) {
      reduction.AssignAgain(peer, context);
    } else {
      out.push_back(Send{peer, message::Release{target}});
    }
  }
  for (const ObjectId& target : ended_) {
    if (reductions_.contains(target)) continue;
    out.push_back(Send{peer, message::Release{target}});
  }
}

}  // namespace hoplite
