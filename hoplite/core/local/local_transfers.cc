// The part of LocalObjects that hears of the driver: buffers, room, transfers
// and pulls.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hoplite/base/check.h"
#include "hoplite/core/local/local_objects.h"

namespace hoplite {

using State = LocalObject::State;

// --- Buffers and room. ------------------------------------------------------

void LocalObjects::OnBufferCreated(NodeContext& context, const ObjectId& object,
                                   BufferId buffer) {
  auto it = objects_.find(object);
  if (it == objects_.end() || it->second.buffer != buffer) return;
  LocalObject& entry = it->second;
  HOPLITE_CHECK(entry.state == State::kAllocating);
  entry.buffer_ready = true;
  if (!entry.server) {  // it came with its bytes
    entry.state = State::kComplete;
    ServeHeld(context, entry);
    if (!entry.ask) {  // nobody asked: the shard does not know yet
      context.SendToShard(
          object, message::CopyComplete{.object = object,
                                        .generation = entry.generation});
    }
    AnswerGets(context, entry);
    return;
  }
  StartFetch(context, object, entry);
}

void LocalObjects::OnBufferRefused(NodeContext& context, const ObjectId& object,
                                   std::uint64_t capacity) {
  auto it = objects_.find(object);
  if (it == objects_.end() || it->second.state != State::kAllocating) return;
  LocalObject& entry = it->second;
  entry.buffer = BufferId();
  context.SendToShard(object,
                      message::Withdraw{.object = object, .ask = entry.ask});
  if (capacity < entry.size) {
    const std::string detail = absl::StrFormat(
        "the object of %d bytes is larger than the store of "
        "%d bytes; start this node with a larger --store",
        entry.size, capacity);
    FailGets(context, entry, absl::StatusCode::kResourceExhausted, detail);
    Erase(context, it);
    return;
  }
  DropBytes(context, object, entry);
  RefuseHeld(context, entry);  // they find another server meanwhile
  entry.state = State::kNoRoom;
  entry.server = NodeRef();
  if (!entry.wanted_here()) {  // an unasked push of a small object
    Erase(context, it);
    return;
  }
  context.buffers.WaitForRoom(FetchOwner{object});
}

void LocalObjects::AskAgain(NodeContext& context, const ObjectId& object) {
  auto it = objects_.find(object);
  if (it == objects_.end() || it->second.state != State::kNoRoom) return;
  Ask(context, object, it->second, NodeRef());
}

void LocalObjects::AskToEvict(NodeContext& context,
                              const std::vector<BufferId>& candidates,
                              std::uint64_t bytes) {
  absl::btree_map<NodeRef, message::EvictAsk> by_host;
  std::uint64_t found = 0;
  for (const auto& [object, size] : evicting_) found += size;
  for (BufferId id : candidates) {
    if (found >= bytes) break;
    const BufferTable::Entry* buffer = context.buffers.Find(id);
    if (buffer == nullptr || buffer->holds != 1) continue;
    auto it = objects_.find(OwnerObject(buffer->owner));
    if (it == objects_.end() || it->second.buffer != id) continue;
    const LocalObject& entry = it->second;
    if (entry.state != State::kComplete || !entry.final ||
        !entry.pulls.empty() || !entry.gets.empty() ||
        denied_.contains(it->first) ||
        !evicting_.emplace(it->first, entry.size).second) {
      continue;
    }
    found += entry.size;
    const ShardAssignment& shard = context.shard_map.FindFor(it->first);
    by_host[shard.host].entries.push_back(
        {.at = shard.at, .object = it->first, .generation = entry.generation});
  }
  for (auto& [host, ask] : by_host) context.Send(host, std::move(ask));
}

void LocalObjects::OnEvictAnswer(NodeContext& context,
                                 const message::EvictAnswer& answer) {
  for (const message::EvictEntry& denied : answer.denied) {
    if (evicting_.erase(denied.object) > 0) denied_.insert(denied.object);
  }
  for (const message::EvictEntry& allowed : answer.allowed) {
    // One that was reported again meanwhile is to stay until asked anew.
    if (evicting_.erase(allowed.object) == 0) continue;
    auto it = objects_.find(allowed.object);
    if (it == objects_.end() || it->second.generation != allowed.generation ||
        it->second.state != State::kComplete) {
      continue;
    }
    DropBytes(context, it->first, it->second);
    AskAgainOrErase(context, it);
  }
}

// --- Transfers. -------------------------------------------------------------

void LocalObjects::StartFetch(NodeContext& context, const ObjectId& object,
                              LocalObject& entry) {
  entry.state = State::kFetching;
  entry.transfer = last_transfer_ = last_transfer_.Next();
  transfers_[entry.transfer] = object;
  context.out.push_back(command::StartTransfer{.transfer = entry.transfer,
                                               .buffer = entry.buffer,
                                               .key = {.object = object},
                                               .generation = entry.generation,
                                               .begin = entry.received,
                                               .size = entry.size,
                                               .frame_bytes = entry.frame_bytes,
                                               .server = entry.server});
  ServeHeld(context, entry);
}

void LocalObjects::OnTransferDone(NodeContext& context, TransferId transfer) {
  auto it = transfers_.find(transfer);
  if (it == transfers_.end()) return;
  const ObjectId object = it->second;
  transfers_.erase(it);
  auto entry = objects_.find(object);
  HOPLITE_CHECK(entry != objects_.end());
  entry->second.transfer = TransferId();
  Complete(context, object, entry->second);
}

void LocalObjects::OnTransferFailed(NodeContext& context,
                                    const event::TransferFailed& failed) {
  auto it = transfers_.find(failed.transfer);
  if (it == transfers_.end()) return;
  const ObjectId object = it->second;
  transfers_.erase(it);
  auto entry = objects_.find(object);
  HOPLITE_CHECK(entry != objects_.end());
  entry->second.transfer = TransferId();
  entry->second.received = failed.received;
  entry->second.failed = entry->second.server;
  Ask(context, object, entry->second, entry->second.server);
}

void LocalObjects::Complete(NodeContext& context, const ObjectId& object,
                            LocalObject& entry) {
  entry.state = State::kComplete;
  entry.received = entry.size;
  entry.server = NodeRef();
  context.SendToShard(
      object,
      message::CopyComplete{.object = object, .generation = entry.generation});
  AnswerGets(context, entry);
}

void LocalObjects::AnswerGets(NodeContext& context, LocalObject& entry) {
  if (entry.state != State::kComplete || !entry.final) return;
  for (RequestId get : std::exchange(entry.gets, {})) {
    context.requests.Answer({.request = get, .buffer = entry.buffer},
                            context.out);
  }
}

void LocalObjects::FailGets(NodeContext& context, LocalObject& entry,
                            absl::StatusCode code, const std::string& detail) {
  entry.positions.clear();
  for (RequestId get : std::exchange(entry.gets, {})) {
    context.requests.Answer(
        {.request = get,
         .code = code,
         .detail = detail,
         .remote = entry.server ? entry.server : entry.failed,
         .bytes_done = entry.received,
         .bytes_total = entry.size},
        context.out);
  }
}

// --- Pulls. -----------------------------------------------------------------

bool LocalObjects::OnPull(NodeContext& context,
                          const event::PullRequested& pull, bool may_come) {
  may_come |= MayBeAssigned(pull.key.object, pull.generation);
  auto it = objects_.find(pull.key.object);
  if (it == objects_.end()) {
    if (!may_come) return false;
    it = objects_.try_emplace(pull.key.object).first;
    it->second.state = State::kProducing;  // to be put, or reduced, here
  }
  LocalObject& entry = it->second;
  if (entry.state == State::kNoRoom) return false;
  const bool same = entry.generation == pull.generation;
  if (entry.generation && !same && !may_come) return false;
  pulls_[pull.pull] = pull.key.object;
  if (same && entry.buffer_ready) {
    entry.pulls.insert(pull.pull);
    context.out.push_back(command::ServePull{pull.pull, entry.buffer});
  } else {
    entry.held.push_back({pull.pull, pull.generation});
  }
  return true;
}

bool LocalObjects::MayBeAssigned(const ObjectId& object,
                                 Generation generation) const {
  return generation.is_target() &&
         std::ranges::find(ended_targets_, std::pair(object, generation)) ==
             ended_targets_.end();
}

void LocalObjects::ServeHeld(NodeContext& context, LocalObject& entry) {
  for (const LocalObject::HeldPull& held : std::exchange(entry.held, {})) {
    if (held.generation == entry.generation) {
      entry.pulls.insert(held.pull);
      context.out.push_back(command::ServePull{held.pull, entry.buffer});
    } else {
      pulls_.erase(held.pull);
      context.out.push_back(command::RefusePull{held.pull});
    }
  }
}

void LocalObjects::OnPullEnded(NodeContext& context, PullId pull) {
  auto it = pulls_.find(pull);
  if (it == pulls_.end()) return;
  const ObjectId object = it->second;
  pulls_.erase(it);
  auto entry = objects_.find(object);
  HOPLITE_CHECK(entry != objects_.end());
  entry->second.pulls.erase(pull);
  std::erase_if(entry->second.held,
                [&](const auto& held) { return held.pull == pull; });
  EndFetchIfUnwanted(context, object);
}

LocalObject* LocalObjects::FindHeld(const ObjectId& object,
                                    Generation generation) {
  auto it = objects_.find(object);
  if (it == objects_.end() || it->second.generation != generation ||
      !it->second.buffer_ready) {
    return nullptr;
  }
  return &it->second;
}

void LocalObjects::AppendStatus(std::vector<LocalObjectStatus>& objects) const {
  static constexpr const char* kNames[] = {
      "asking", "no room", "allocating", "fetching", "producing", "complete"};
  for (const auto& [object, entry] : objects_) {
    objects.push_back(
        {.object = object,
         .generation = entry.generation,
         .size = entry.size,
         .state = kNames[static_cast<int>(entry.state)],
         .server = entry.server,
         .gets = static_cast<std::uint32_t>(entry.gets.size()),
         .pulls = static_cast<std::uint32_t>(entry.pulls.size()),
         .buffer = entry.buffer_ready ? entry.buffer : BufferId()});
  }
}

std::string LocalObjects::CheckInvariants(const BufferTable& buffers) const {
  for (const auto& [object, entry] : objects_) {
    const std::string name = object.ToHex();
    if (entry.buffer && buffers.Find(entry.buffer) == nullptr) {
      return absl::StrCat("object ", name, " names a released buffer");
    }
    if ((entry.state == State::kFetching) != bool{entry.transfer}) {
      return absl::StrCat("object ", name, " fetches without a transfer");
    }
    if (entry.state == State::kComplete && !entry.buffer_ready) {
      return absl::StrCat("object ", name, " is complete without a buffer");
    }
    if (entry.state == State::kComplete && entry.final && !entry.gets.empty()) {
      return absl::StrCat("object ", name, " keeps its Gets waiting");
    }
  }
  return "";
}

}  // namespace hoplite
