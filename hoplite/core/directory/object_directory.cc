#include "hoplite/core/directory/object_directory.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"
#include "hoplite/core/broadcast/server_selector.h"

namespace hoplite {

using command::Send;
using message::SourceState;

ObjectDirectory::ObjectDirectory(const NodeConfig& config,
                                 const ShardMap& shard_map)
    : self_(config.self),
      schedule_(config.schedule),
      shard_map_(shard_map),
      random_(config.seed) {}

void ObjectDirectory::Open(ShardRef at) {
  shards_.insert_or_assign(at.shard, Shard{.at = at});
}

bool ObjectDirectory::CloseIfEmpty(ShardId shard) {
  auto it = shards_.find(shard);
  if (it == shards_.end()) return true;
  if (!it->second.records.empty() || !it->second.missing.empty()) return false;
  shards_.erase(it);
  return true;
}

std::optional<Epoch> ObjectDirectory::HostedEpoch(ShardId shard) const {
  auto it = shards_.find(shard);
  if (it == shards_.end()) return std::nullopt;
  return it->second.at.epoch;
}

ObjectDirectory::Shard& ObjectDirectory::ShardOf(const ObjectId& object) {
  auto it = shards_.find(object.shard());
  HOPLITE_CHECK(it != shards_.end());
  return it->second;
}

ObjectRecord* ObjectDirectory::FindRecord(const ObjectId& object) {
  auto shard = shards_.find(object.shard());
  if (shard == shards_.end()) return nullptr;
  auto it = shard->second.records.find(object);
  return it == shard->second.records.end() ? nullptr : &it->second;
}

ShardRef ObjectDirectory::At(const ObjectId& object) const {
  auto it = shards_.find(object.shard());
  HOPLITE_CHECK(it != shards_.end());
  return it->second.at;
}

void ObjectDirectory::EraseIfEmpty(const ObjectId& object) {
  Records& records = ShardOf(object).records;
  auto it = records.find(object);
  if (it != records.end() && it->second.empty() &&
      !reductions_.contains(object)) {
    records.erase(it);
  }
}

// --- Receivers. -------------------------------------------------------------

void ObjectDirectory::On(absl::Time now, NodeRef from, const message::Ask& ask,
                         Commands& out) {
  ObjectRecord& record = RecordFor(now, ask.object);
  record.RemoveWaiting(from);
  if (record.deleted) {
    out.push_back(
        Send{from, message::Refusal{.at = At(ask.object),
                                    .object = ask.object,
                                    .ask = ask.ask,
                                    .code = absl::StatusCode::kNotFound,
                                    .reason = "it was deleted"}});
    return;
  }
  auto reduction = reductions_.find(ask.object);
  if (reduction != reductions_.end() &&
      reduction->second.state() == ReduceCoordinator::State::kFailed) {
    out.push_back(
        Send{from, message::Refusal{.at = At(ask.object),
                                    .object = ask.object,
                                    .ask = ask.ask,
                                    .code = reduction->second.code(),
                                    .reason = reduction->second.reason()}});
    return;
  }
  // Who has lost another generation's server may take that node for this one.
  const bool other = ask.held && ask.held != record.generation;
  const NodeRef lost = other ? NodeRef() : ask.lost;
  const ObjectRecord::WaitingAsk waiting{from, ask.ask, lost};
  Copy* copy = record.Find(from);
  if (copy != nullptr && copy->producer) {
    // It has the bytes, or makes them, and did not know it when it asked. It
    // must hear of it if they never come.
    if (!copy->complete) record.waiting.push_back(waiting);
    return;
  }
  if (copy != nullptr) {
    if (copy->ask == ask.ask && RepeatAnswer(ask.object, record, *copy, out)) {
      return;
    }
    if (ask.held == record.generation) {
      record.FreeServer(*copy, loads_);
      copy->complete = false;
    } else {
      record.Erase(from, loads_);
    }
  }
  if (!Answer(ask.object, record, waiting, out)) {
    record.waiting.push_back(waiting);
    if (lost) shy_.emplace_back(now + kLostServerAvoided, ask.object);
  }
  // An erased copy may have freed a slot that someone waits for.
  ServeWaiting(ask.object, record, out);
}

bool ObjectDirectory::RepeatAnswer(const ObjectId& object, ObjectRecord& record,
                                   Copy& copy, Commands& out) {
  if (copy.server) {
    SendGrant(object, record, copy, out);
    return true;
  }
  if (!copy.complete || record.payload == nullptr) return false;
  SendInline(object, record, copy.node, copy.ask, out);
  return true;
}

bool ObjectDirectory::Answer(const ObjectId& object, ObjectRecord& record,
                             const ObjectRecord::WaitingAsk& ask,
                             Commands& out) {
  if (!record.exists()) return false;
  const Copy* own = record.Find(ask.node);
  if (own != nullptr && own->producer) return false;
  if (record.payload != nullptr && record.final) {
    SendInline(object, record, ask.node, ask.ask, out);
    return true;
  }
  Copy* server = schedule_ == Schedule::kPlain
                     ? DrawCompleteCopy(record, ask.node, random_)
                     : SelectServer(record, ask.node, ask.lost, loads_);
  if (server == nullptr) return false;
  const NodeRef chosen = server->node;  // a new copy moves the others
  Copy& copy = record.Add(ask.node, loads_);
  copy.ask = ask.ask;
  copy.sequence = ++sequence_;
  record.TakeServer(copy, *record.Find(chosen), loads_);
  SendGrant(object, record, copy, out);
  return true;
}

void ObjectDirectory::SendGrant(const ObjectId& object,
                                const ObjectRecord& record, const Copy& copy,
                                Commands& out) const {
  out.push_back(
      Send{copy.node, message::Grant{.at = At(object),
                                     .object = object,
                                     .ask = copy.ask,
                                     .generation = record.generation,
                                     .size = record.size,
                                     .frame_bytes = record.frame_bytes,
                                     .server = copy.server,
                                     .final = record.final}});
}

void ObjectDirectory::SendInline(const ObjectId& object, ObjectRecord& record,
                                 NodeRef to, AskNumber ask, Commands& out) {
  Copy& copy = record.Add(to, loads_);
  record.FreeServer(copy, loads_);
  copy.ask = ask;
  // What was not asked for may find no room: its node says so if it does.
  copy.complete = static_cast<bool>(ask);
  out.push_back(Send{to, message::GrantInline{.at = At(object),
                                              .object = object,
                                              .ask = ask,
                                              .generation = record.generation,
                                              .payload = record.payload}});
}

void ObjectDirectory::SendFinal(const ObjectId& object,
                                const ObjectRecord& record, NodeRef to,
                                Commands& out) const {
  out.push_back(Send{to, message::Final{.at = At(object),
                                        .object = object,
                                        .generation = record.generation}});
}

void ObjectDirectory::ServeWaiting(const ObjectId& object, ObjectRecord& record,
                                   Commands& out) {
  std::deque<ObjectRecord::WaitingAsk> waiting;
  waiting.swap(record.waiting);
  for (const ObjectRecord::WaitingAsk& ask : waiting) {
    if (!Answer(object, record, ask, out)) record.waiting.push_back(ask);
  }
}

void ObjectDirectory::On(absl::Time, NodeRef from,
                         const message::Withdraw& withdraw, Commands& out) {
  ObjectRecord* record = FindRecord(withdraw.object);
  if (record == nullptr) return;
  std::erase_if(record->waiting, [&](const ObjectRecord::WaitingAsk& waiting) {
    return waiting.node == from && waiting.ask == withdraw.ask;
  });
  Copy* copy = record->Find(from);
  if (copy != nullptr && copy->ask == withdraw.ask && !copy->producer) {
    record->Erase(from, loads_);
    ServeWaiting(withdraw.object, *record, out);
  }
  EraseIfEmpty(withdraw.object);
}

void ObjectDirectory::On(absl::Time now, NodeRef from,
                         const message::CopyComplete& complete, Commands& out) {
  ObjectRecord* record = FindRecord(complete.object);
  if (record == nullptr || record->generation != complete.generation) return;
  Copy* copy = record->Find(from);
  if (copy == nullptr) return;
  record->FreeServer(*copy, loads_);
  copy->complete = true;
  copy->confirmed = true;
  record->RemoveWaiting(from);
  auto reduction = reductions_.find(complete.object);
  if (reduction != reductions_.end() && IsRunning(reduction->second)) {
    record->sealed = true;
    ReduceCoordinator::Context context = MakeContext(out);
    reduction->second.OnTargetComplete(complete.generation, context);
    Settle(now, complete.object, out);
  }
  ServeWaiting(complete.object, *record, out);
}

// --- Writers. ---------------------------------------------------------------

void ObjectDirectory::On(absl::Time now, NodeRef from,
                         const message::PutBegun& put, Commands& out) {
  ObjectRecord& record = RecordFor(now, put.object);
  const auto answer = [&](absl::StatusCode code) {
    out.push_back(Send{from, message::PutAnswer{.at = At(put.object),
                                                .object = put.object,
                                                .generation = put.generation,
                                                .code = code}});
  };
  if (record.exists() && record.generation == put.generation) {
    answer(absl::StatusCode::kOk);
    AcceptAgain(from, put, record, out);
  } else if (record.deleted) {
    answer(absl::StatusCode::kNotFound);
  } else if (ForgetFailed(put.object)) {
    AcceptPut(from, put, record, out);
  } else if (record.sealed || reductions_.contains(put.object)) {
    answer(absl::StatusCode::kAlreadyExists);
  } else if (record.exists() || IsRebuilding(put.object)) {
    const bool queued = std::ranges::any_of(record.puts, [&](const auto& old) {
      return old.second.generation == put.generation;
    });
    if (!queued) record.puts.emplace_back(from, put);
  } else {
    AcceptPut(from, put, record, out);
  }
}

void ObjectDirectory::AcceptPut(NodeRef from, const message::PutBegun& put,
                                ObjectRecord& record, Commands& out) {
  const TransferPlan plan = PlanBroadcast(put.size, node_count_, link_);
  record.generation = put.generation;
  record.size = put.size;
  record.frame_bytes = plan.frame_bytes;
  record.degree = plan.degree;
  record.streams = put.streams;
  record.payload = put.sealed ? put.payload : nullptr;
  record.Add(from, loads_).producer = true;
  for (ObjectRecord::WaitingAsk& ask : record.waiting) ask.lost = NodeRef();
  out.push_back(Send{from, message::PutAnswer{.at = At(put.object),
                                              .object = put.object,
                                              .generation = put.generation}});
  if (put.sealed) {
    Sealed(put.object, record, out);
    return;
  }
  if (record.ready())
    NotifyWatchers(put.object, record, SourceState::kUnready, out);
  ServeWaiting(put.object, record, out);
}

void ObjectDirectory::On(absl::Time, NodeRef from,
                         const message::PutSealed& put, Commands& out) {
  ObjectRecord* record = FindRecord(put.object);
  if (record == nullptr || record->generation != put.generation) return;
  if (record->sealed || record->Find(from) == nullptr) return;
  Sealed(put.object, *record, out);
}

void ObjectDirectory::Sealed(const ObjectId& object, ObjectRecord& record,
                             Commands& out) {
  record.sealed = true;
  record.final = true;
  for (auto& [id, copy] : record.copies) {
    if (!copy.producer) SendFinal(object, record, copy.node, out);
    copy.complete |= copy.producer;
    copy.confirmed |= copy.producer;
    if (copy.producer) record.RemoveWaiting(copy.node);
  }
  for (const auto& [node, put] : record.puts) {
    // One that an earlier host had accepted is this object.
    const bool is_this = put.generation == record.generation;
    if (is_this) record.Add(node, loads_).complete = true;
    out.push_back(
        Send{node, message::PutAnswer{
                       .at = At(object),
                       .object = object,
                       .generation = put.generation,
                       .code = is_this ? absl::StatusCode::kOk
                                       : absl::StatusCode::kAlreadyExists}});
  }
  record.puts.clear();
  if (record.payload != nullptr) KeepPayload(object, record);
  NotifyWatchers(object, record, SourceState::kUnready, out);
  ServeWaiting(object, record, out);
}

void ObjectDirectory::On(absl::Time, NodeRef from,
                         const message::PutAborted& put, Commands& out) {
  ObjectRecord* record = FindRecord(put.object);
  if (record == nullptr) return;
  std::erase_if(record->puts, [&](const auto& queued) {
    return queued.second.generation == put.generation;
  });
  if (record->generation == put.generation && !record->sealed) {
    record->Erase(from, loads_);
    Lose(put.object, *record, absl::StatusCode::kAborted,
         "its writer ended before Seal", out);
  }
  EraseIfEmpty(put.object);
}

void ObjectDirectory::AcceptNextPut(const ObjectId& object,
                                    ObjectRecord& record, Commands& out) {
  if (record.exists() || record.puts.empty() || reductions_.contains(object) ||
      IsRebuilding(object)) {
    return;
  }
  const auto [from, put] = record.puts.front();
  record.puts.pop_front();
  AcceptPut(from, put, record, out);
}

void ObjectDirectory::Lose(const ObjectId& object, ObjectRecord& record,
                           absl::StatusCode code, const std::string& reason,
                           Commands& out) {
  for (const auto& [id, copy] : record.copies) {
    out.push_back(Send{copy.node, message::Drop{.at = At(object),
                                                .object = object,
                                                .generation = record.generation,
                                                .code = code,
                                                .reason = reason}});
  }
  if (code != absl::StatusCode::kAborted) {
    for (const ObjectRecord::WaitingAsk& ask : record.waiting) {
      out.push_back(Send{ask.node, message::Refusal{.at = At(object),
                                                    .object = object,
                                                    .ask = ask.ask,
                                                    .code = code,
                                                    .reason = reason}});
    }
    record.waiting.clear();
  }
  DropPayload(record);
  record.Reset(loads_);
  const bool may_come =
      code == absl::StatusCode::kAborted || code == absl::StatusCode::kDataLoss;
  NotifyWatchers(object, record,
                 may_come ? SourceState::kUnready : SourceState::kGone, out);
  AcceptNextPut(object, record, out);
}

bool ObjectDirectory::ForgetFailed(const ObjectId& target) {
  auto it = reductions_.find(target);
  if (it == reductions_.end() ||
      it->second.state() != ReduceCoordinator::State::kFailed) {
    return false;
  }
  EraseReduction(it);
  return true;
}

void ObjectDirectory::EraseReduction(Reductions::iterator it) {
  ended_.push_back(it->first);
  if (ended_.size() > kTombstonesMax) ended_.pop_front();
  reductions_.erase(it);
}

}  // namespace hoplite
