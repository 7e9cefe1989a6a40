#include "hoplite/core/local/local_objects.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"
#include "hoplite/core/config.h"

namespace hoplite {

using State = LocalObject::State;

// --- Clients. ---------------------------------------------------------------

void LocalObjects::OnGet(NodeContext& context, RequestId get,
                         const ObjectId& object) {
  LocalObject& entry = Want(context, object);
  entry.gets.push_back(get);
  AnswerGets(context, entry);
}

void LocalObjects::AddPosition(NodeContext& context, const ObjectId& object,
                               const PullKey& position) {
  Want(context, object).positions.insert(position);
}

void LocalObjects::RemovePosition(NodeContext& context, const ObjectId& object,
                                  const PullKey& position) {
  auto it = objects_.find(object);
  if (it == objects_.end() || it->second.positions.erase(position) == 0) return;
  EndFetchIfUnwanted(context, object);
}

bool LocalObjects::IsWantedBy(const ObjectId& object,
                              const PullKey& position) const {
  auto it = objects_.find(object);
  return it != objects_.end() && it->second.positions.contains(position);
}

LocalObject& LocalObjects::Want(NodeContext& context, const ObjectId& object) {
  auto [it, inserted] = objects_.try_emplace(object);
  LocalObject& entry = it->second;
  const bool expected = entry.state == State::kProducing && !entry.generation;
  if (inserted || expected) Ask(context, object, entry, NodeRef());
  return entry;
}

void LocalObjects::EndGet(NodeContext& context, RequestId get,
                          const ObjectId& object, absl::StatusCode code,
                          std::string detail) {
  auto it = objects_.find(object);
  if (it == objects_.end()) return;
  LocalObject& entry = it->second;
  if (std::erase(entry.gets, get) == 0) return;
  command::AnswerRequest answer{
      .request = get, .code = code, .detail = std::move(detail)};
  answer.bytes_done = entry.received;
  answer.bytes_total = entry.size;
  if (entry.buffer_ready) answer.buffer = entry.buffer;
  switch (entry.state) {
    case State::kAsking:
      answer.remote =
          entry.failed ? entry.failed : context.shard_map.FindFor(object).host;
      absl::StrAppend(&answer.detail, entry.generation
                                          ? ", no node could serve it"
                                          : ", it was not there");
      break;
    case State::kNoRoom:
    case State::kAllocating:
      if (code == absl::StatusCode::kDeadlineExceeded) {
        answer.code = absl::StatusCode::kResourceExhausted;
      }
      absl::StrAppend(&answer.detail, ", the store had no room for it");
      break;
    case State::kFetching:
      answer.remote = entry.server;
      absl::StrAppend(&answer.detail, ", it was being fetched");
      break;
    case State::kProducing:
      absl::StrAppend(&answer.detail, ", it was being made on this node");
      break;
    case State::kComplete:
      absl::StrAppend(&answer.detail, ", its reduction was not final");
      break;
  }
  context.requests.Answer(std::move(answer), context.out);
  EndFetchIfUnwanted(context, object);
}

void LocalObjects::Ask(NodeContext& context, const ObjectId& object,
                       LocalObject& entry, NodeRef lost) {
  entry.state = State::kAsking;
  entry.ask = last_ask_ = last_ask_.Next();
  entry.server = NodeRef();
  SendAsk(context, object, entry, lost);
}

void LocalObjects::SendAsk(NodeContext& context, const ObjectId& object,
                           const LocalObject& entry, NodeRef lost) const {
  // A buffer counts before its first byte: receivers may wait at it.
  const bool holds = entry.buffer_ready;
  context.SendToShard(
      object, message::Ask{.object = object,
                           .ask = entry.ask,
                           .held = holds ? entry.generation : Generation(),
                           .begin = holds ? entry.received : 0,
                           .lost = lost});
}

void LocalObjects::EndFetchIfUnwanted(NodeContext& context,
                                      const ObjectId& object) {
  auto it = objects_.find(object);
  if (it == objects_.end()) return;
  LocalObject& entry = it->second;
  // What is to be made here has no generation until it is.
  const bool expected = entry.state == State::kProducing && !entry.generation;
  const bool fetches =
      entry.state != State::kProducing && entry.state != State::kComplete;
  if (!(fetches || expected) || entry.wanted_here() || !entry.pulls.empty() ||
      !entry.held.empty()) {
    return;
  }
  context.buffers.StopWaiting(FetchOwner{object});
  if (fetches && entry.state != State::kNoRoom) {
    context.SendToShard(object,
                        message::Withdraw{.object = object, .ask = entry.ask});
  }
  Erase(context, it);
}

void LocalObjects::Erase(NodeContext& context, Objects::iterator it) {
  LocalObject& entry = it->second;
  HOPLITE_CHECK(entry.gets.empty());
  DropBytes(context, it->first, entry);
  RefuseHeld(context, entry);
  objects_.erase(it);
}

void LocalObjects::RefuseHeld(NodeContext& context, LocalObject& entry) {
  for (const LocalObject::HeldPull& held : std::exchange(entry.held, {})) {
    pulls_.erase(held.pull);
    context.out.push_back(command::RefusePull{held.pull});
  }
}

void LocalObjects::AskAgainOrErase(NodeContext& context, Objects::iterator it) {
  LocalObject& entry = it->second;
  if (entry.wanted_here()) {
    Ask(context, it->first, entry, NodeRef());
    return;
  }
  std::erase_if(entry.held, [&](const LocalObject::HeldPull& held) {
    if (MayBeAssigned(it->first, held.generation)) return false;
    pulls_.erase(held.pull);
    context.out.push_back(command::RefusePull{held.pull});
    return true;
  });
  if (entry.held.empty()) {
    Erase(context, it);
  } else {
    entry.state = State::kProducing;  // of a generation to be made here
  }
}

// --- What other machines make. ----------------------------------------------

LocalObject& LocalObjects::TakeOver(NodeContext& context,
                                    const ObjectId& object,
                                    Generation generation, std::uint64_t size,
                                    BufferId buffer) {
  LocalObject& entry = objects_[object];
  context.buffers.StopWaiting(FetchOwner{object});
  // It may have come from another copy before its shard's new host says that
  // this node made it.
  const bool other = entry.buffer && entry.buffer != buffer;
  if (other || entry.generation != generation) {
    DropBytes(context, object, entry);
  }
  entry.state = State::kProducing;
  entry.generation = generation;
  entry.size = size;
  entry.buffer = buffer;
  entry.buffer_ready = true;
  entry.ask = AskNumber();
  entry.server = NodeRef();
  return entry;
}

void LocalObjects::InstallPut(NodeContext& context, const ObjectId& object,
                              Generation generation, std::uint64_t size,
                              BufferId buffer) {
  LocalObject& entry = TakeOver(context, object, generation, size, buffer);
  entry.final = true;
  ServeHeld(context, entry);
}

void LocalObjects::SealPut(NodeContext& context, const ObjectId& object,
                           Generation generation, bool tell_shard) {
  auto it = objects_.find(object);
  if (it == objects_.end() || it->second.generation != generation) return;
  it->second.state = State::kComplete;
  it->second.received = it->second.size;
  if (tell_shard) {
    context.SendToShard(
        object, message::PutSealed{.object = object, .generation = generation});
  }
  AnswerGets(context, it->second);
}

void LocalObjects::InstallTarget(NodeContext& context, const ObjectId& object,
                                 Generation generation, std::uint64_t size,
                                 std::uint64_t frame_bytes, BufferId buffer) {
  LocalObject& entry = TakeOver(context, object, generation, size, buffer);
  entry.final = false;
  entry.frame_bytes = frame_bytes;
  ServeHeld(context, entry);
}

void LocalObjects::CompleteTarget(NodeContext& context, const ObjectId& object,
                                  Generation generation) {
  auto it = objects_.find(object);
  if (it == objects_.end() || it->second.generation != generation) return;
  Complete(context, object, it->second);
}

void LocalObjects::Abandon(NodeContext& context, const ObjectId& object,
                           Generation generation) {
  auto it = objects_.find(object);
  if (it == objects_.end() || it->second.generation != generation) return;
  if (it->second.state == State::kNoRoom) return;  // it asks again anyway
  DropBytes(context, it->first, it->second);
  AskAgainOrErase(context, it);
}

void LocalObjects::DropBytes(NodeContext& context, const ObjectId& object,
                             LocalObject& entry) {
  if (entry.transfer) {
    transfers_.erase(entry.transfer);
    context.out.push_back(command::CancelTransfer{entry.transfer});
    entry.transfer = TransferId();
  }
  for (PullId pull : entry.pulls) {
    pulls_.erase(pull);
    context.out.push_back(command::RefusePull{pull});
  }
  entry.pulls.clear();
  NoteEnded(object, entry.generation);
  const bool incomplete = entry.state != State::kComplete;
  context.buffers.Release(entry.buffer, context.out, incomplete);
  entry.buffer = BufferId();
  entry.buffer_ready = false;
  entry.received = 0;
  entry.generation = Generation();
  entry.final = false;
}

void LocalObjects::NoteEnded(const ObjectId& object, Generation generation) {
  if (!generation.is_target()) return;
  ended_targets_.emplace_back(object, generation);
  if (ended_targets_.size() > kEndedTargetsMax) ended_targets_.pop_front();
}

// --- From the shard. --------------------------------------------------------

void LocalObjects::OnGrant(NodeContext& context, const message::Grant& grant) {
  auto it = objects_.find(grant.object);
  if (it == objects_.end() || context.IsOld(grant.at) ||
      it->second.state != State::kAsking || it->second.ask != grant.ask) {
    LetPass(context, grant.object, grant.generation);
    return;
  }
  LocalObject& entry = it->second;
  const bool same =
      entry.generation == grant.generation && entry.size == grant.size;
  if (entry.generation && !same) {
    DropBytes(context, grant.object, entry);
  }
  entry.generation = grant.generation;
  entry.size = grant.size;
  entry.frame_bytes = grant.frame_bytes;
  entry.server = grant.server;
  entry.final = grant.final;
  if (entry.buffer_ready) {
    StartFetch(context, grant.object, entry);
    return;
  }
  entry.state = State::kAllocating;
  entry.buffer = context.buffers.Create(FetchOwner{grant.object}, grant.size,
                                        nullptr, context.out);
}

void LocalObjects::LetPass(NodeContext& context, const ObjectId& object,
                           Generation generation) {
  auto it = objects_.find(object);
  if (it == objects_.end()) {
    NoteEnded(object, generation);
    return;
  }
  LocalObject& entry = it->second;
  if (entry.generation == generation) return;  // repeated
  NoteEnded(object, generation);
  if (entry.state != State::kProducing || entry.generation) return;
  // Pulls wait here as if this node were to be the root.
  std::erase_if(entry.held, [&](const LocalObject::HeldPull& held) {
    if (held.generation != generation) return false;
    pulls_.erase(held.pull);
    context.out.push_back(command::RefusePull{held.pull});
    return true;
  });
  EndFetchIfUnwanted(context, object);
}

void LocalObjects::OnGrantInline(NodeContext& context,
                                 const message::GrantInline& grant) {
  if (grant.payload == nullptr || context.IsOld(grant.at)) return;
  const auto it = objects_.find(grant.object);
  const bool known = it != objects_.end();
  const bool asked = known && it->second.state == State::kAsking &&
                     it->second.ask == grant.ask;
  const bool pushed = !known && !grant.ask;
  if (!asked && !pushed) {
    LetPass(context, grant.object, grant.generation);
    return;
  }
  LocalObject& entry = objects_[grant.object];
  if (entry.generation) DropBytes(context, grant.object, entry);
  entry.state = State::kAllocating;
  entry.ask = grant.ask;
  entry.generation = grant.generation;
  entry.size = grant.payload->size();
  entry.final = true;
  entry.received = entry.size;
  entry.buffer = context.buffers.Create(FetchOwner{grant.object}, entry.size,
                                        grant.payload, context.out);
}

void LocalObjects::OnRefusal(NodeContext& context,
                             const message::Refusal& refusal) {
  auto it = objects_.find(refusal.object);
  if (it == objects_.end() || it->second.state != State::kAsking ||
      it->second.ask != refusal.ask || context.IsOld(refusal.at)) {
    return;
  }
  FailGets(context, it->second, refusal.code, refusal.reason);
  Erase(context, it);
}

void LocalObjects::OnDrop(NodeContext& context, NodeRef from,
                          const message::Drop& drop) {
  auto it = objects_.find(drop.object);
  const bool held =
      it != objects_.end() && it->second.generation == drop.generation;
  if (held) {
    LocalObject& entry = it->second;
    context.buffers.StopWaiting(FetchOwner{drop.object});
    const bool asks = entry.state == State::kAsking;
    DropBytes(context, drop.object, entry);
    if (drop.code != absl::StatusCode::kAborted) {
      FailGets(context, entry, drop.code, drop.reason);
    }
    // What is asked already is answered with whatever comes.
    if (asks && !entry.wanted_here()) {
      context.SendToShard(drop.object, message::Withdraw{.object = drop.object,
                                                         .ask = entry.ask});
    }
    if (!asks || !entry.wanted_here()) AskAgainOrErase(context, it);
  }
  context.Send(from, message::Dropped{.at = drop.at,
                                      .object = drop.object,
                                      .generation = drop.generation});
}

void LocalObjects::OnFinal(NodeContext& context, const message::Final& final) {
  auto it = objects_.find(final.object);
  if (it == objects_.end() || it->second.generation != final.generation ||
      context.IsOld(final.at)) {
    return;
  }
  it->second.final = true;
  AnswerGets(context, it->second);
}

void LocalObjects::Resend(NodeContext& context, const ShardSet& shards) {
  for (auto& [object, entry] : objects_) {
    if (shards.test(object.shard().value()) && entry.state == State::kAsking) {
      SendAsk(context, object, entry, NodeRef());
    }
  }
  // Whatever the host was asked, it may never answer.
  absl::erase_if(evicting_, [&](const auto& asked) {
    return shards.test(asked.first.shard().value());
  });
}

void LocalObjects::AppendHoldings(const ShardSet& shards,
                                  HoldingsByShard& holdings) const {
  using Reported = message::Holding::State;
  for (const auto& [object, entry] : objects_) {
    if (!shards.test(object.shard().value())) continue;
    message::Holding holding{.object = object,
                             .generation = entry.generation,
                             .size = entry.size,
                             .frame_bytes = entry.frame_bytes,
                             .ask = entry.ask,
                             .server = entry.server,
                             .final = entry.final};
    switch (entry.state) {
      case State::kAsking:
        holding.state = Reported::kAsking;
        if (!entry.buffer_ready) holding.generation = Generation();
        break;
      case State::kNoRoom:
        continue;  // handed back
      case State::kAllocating:
        // What was asked for and came with its bytes counts as complete.
        holding.state = entry.server || !entry.ask ? Reported::kFetching
                                                   : Reported::kComplete;
        break;
      case State::kFetching:
        holding.state = Reported::kFetching;
        break;
      case State::kProducing:
        if (!entry.generation.is_target()) continue;  // LocalPuts tells it
        holding.state = Reported::kProducing;
        break;
      case State::kComplete:
        holding.state = Reported::kComplete;
        break;
    }
    holdings[object.shard()].push_back(holding);
  }
}

}  // namespace hoplite
