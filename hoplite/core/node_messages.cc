// How messages from peers reach a node's machines, and how epochs are kept.

#include <algorithm>
#include <optional>
#include <utility>

#include "hoplite/core/node_parts.h"
#include "hoplite/core/plausible_message.h"

namespace hoplite {
namespace {

// Messages that only a shard's host takes; those that come from a shard are
// checked by ask number and generation.
template <typename M>
inline constexpr bool kToHost = false;
template <>
inline constexpr bool kToHost<message::Ask> = true;
template <>
inline constexpr bool kToHost<message::Withdraw> = true;
template <>
inline constexpr bool kToHost<message::CopyComplete> = true;
template <>
inline constexpr bool kToHost<message::PutBegun> = true;
template <>
inline constexpr bool kToHost<message::PutSealed> = true;
template <>
inline constexpr bool kToHost<message::PutAborted> = true;
template <>
inline constexpr bool kToHost<message::DeleteAsk> = true;
template <>
inline constexpr bool kToHost<message::Dropped> = true;
template <>
inline constexpr bool kToHost<message::Holdings> = true;
template <>
inline constexpr bool kToHost<message::ReduceAsk> = true;
template <>
inline constexpr bool kToHost<message::AssignmentFailed> = true;

// Messages kept until the head's map comes, which is soon; what comes beyond
// it is asked again.
constexpr std::size_t kKeptMessagesMax = 1024;

}  // namespace

void Node::Parts::On(NodeContext& context,
                     const event::MessageReceived& received) {
  if (!IsPlausible(received.message)) return;
  On(context, received.from, received.message);
}

Node::Parts::Route Node::Parts::RouteOf(const ShardRef& at) const {
  const ShardAssignment& known = shard_map.Find(at.shard);
  if (at.epoch > known.at.epoch) return Route::kLater;
  if (at.epoch < known.at.epoch) return Route::kStale;
  if (known.host != config.self) return Route::kStale;
  // Closed, and on its way to another host.
  return directory.HostedEpoch(at.shard) == at.epoch ? Route::kHere
                                                     : Route::kLater;
}

bool Node::Parts::IsHere(NodeContext& context, NodeRef from, const ShardRef& at,
                         const Message& message) {
  switch (RouteOf(at)) {
    case Route::kHere:
      return true;
    case Route::kStale:
      context.Send(from, message::StaleEpoch{shard_map.Find(at.shard)});
      return false;
    case Route::kLater:
      if (kept.size() < kKeptMessagesMax) kept.emplace_back(from, message);
      return false;
  }
  return false;
}

template <typename Body>
void Node::Parts::Hear(NodeContext& context, NodeRef from, const Body& body) {
  static_assert(kToHost<Body>, "a message without a handler");
  if (IsHere(context, from, body.at, body)) {
    directory.On(context.now, from, body, context.out);
  }
}

void Node::Parts::On(NodeContext& context, NodeRef from,
                     const Message& message) {
  std::visit([&](const auto& body) { Hear(context, from, body); }, message);
}

// --- Membership and epochs. -------------------------------------------------

void Node::Parts::Hear(NodeContext& context, NodeRef from,
                       const message::MemberJoined& joined) {
  if (IsOrder(from)) Join(context, joined.member);
}

void Node::Parts::Hear(NodeContext& context, NodeRef from,
                       const message::MemberLost& lost) {
  if (!IsOrder(from)) return;
  if (lost.member == config.self) {
    On(context, event::Fenced{"the head has declared it dead"});
  } else {
    Lose(context, lost.member);
  }
}

void Node::Parts::Hear(NodeContext& context, NodeRef from,
                       const message::Leave&) {
  if (head.has_value()) head->OnMemberGone(from, context.out);
}

void Node::Parts::Hear(NodeContext& context, NodeRef from,
                       const message::MapUpdate& update) {
  if (IsOrder(from)) Apply(context, update.assignments);
}

void Node::Parts::Hear(NodeContext& context, NodeRef,
                       const message::StaleEpoch& stale) {
  // What this node is to host the head tells it, with all members.
  if (stale.newer.host == config.self) return;
  Apply(context, {stale.newer});
}

void Node::Parts::Hear(NodeContext& context, NodeRef from,
                       const message::CloseShards& close) {
  if (!IsOrder(from)) return;
  message::ShardsClosed closed;
  for (const ShardRef& at : close.shards) {
    const bool hosted = directory.HostedEpoch(at.shard) == at.epoch;
    const bool given_up_before =
        shard_map.Find(at.shard).at == at && !directory.HostedEpoch(at.shard);
    if (given_up_before || (hosted && directory.CloseIfEmpty(at.shard))) {
      closed.shards.push_back(at);
    }
  }
  context.Send(from, std::move(closed));
}

void Node::Parts::Hear(NodeContext& context, NodeRef from,
                       const message::ShardsClosed& closed) {
  if (head.has_value()) head->OnShardsClosed(from, closed, context.out);
}

void Node::Parts::Hear(NodeContext& context, NodeRef,
                       const message::HoldingsAsk& ask) {
  ShardSet known;
  for (const ShardAssignment& shard : ask.shards) {
    if (shard_map.Find(shard.at.shard) == shard) {
      known.set(shard.at.shard.value());
    }
  }
  if (known.any()) Report(context, known);
  Apply(context, ask.shards);
}

// --- Answers to what this node has asked. -----------------------------------

void Node::Parts::Hear(NodeContext& context, NodeRef,
                       const message::Grant& grant) {
  objects.OnGrant(context, grant);
}

void Node::Parts::Hear(NodeContext& context, NodeRef,
                       const message::GrantInline& grant) {
  objects.OnGrantInline(context, grant);
}

void Node::Parts::Hear(NodeContext& context, NodeRef,
                       const message::Refusal& refusal) {
  objects.OnRefusal(context, refusal);
  member.OnObjectGone(context, refusal.object);
}

void Node::Parts::Hear(NodeContext& context, NodeRef,
                       const message::PutAnswer& answer) {
  const std::optional<absl::Duration> took = puts.OnAnswer(context, answer);
  // As good as a hello, and there are more of them.
  if (took.has_value()) On(context, event::LatencyMeasured{*took / 2});
  member.OnObjectHere(context, answer.object);
}

bool Node::Parts::Asked(RequestKind kind, RequestId id,
                        const ObjectId& object) const {
  const RequestTable::Request* request = requests.Find(id);
  return request != nullptr && request->kind == kind &&
         request->object == object;
}

void Node::Parts::Hear(NodeContext& context, NodeRef from,
                       const message::DeleteAnswer& answer) {
  if (!Asked(RequestKind::kDelete, answer.request, answer.object)) return;
  requests.Answer(
      {.request = answer.request,
       .code = answer.code,
       .detail = answer.code == absl::StatusCode::kOk ? "" : "no such object",
       .remote = from},
      context.out);
}

void Node::Parts::Hear(NodeContext& context, NodeRef from,
                       const message::Drop& drop) {
  if (context.IsOld(drop.at)) return;
  puts.OnDrop(context, drop);
  member.OnDrop(context, drop);
  objects.OnDrop(context, from, drop);
  if (drop.code != absl::StatusCode::kAborted) {
    member.OnObjectGone(context, drop.object);
  }
}

void Node::Parts::Hear(NodeContext& context, NodeRef,
                       const message::EvictAnswer& answer) {
  objects.OnEvictAnswer(context, answer);
  // Somebody who needs room is to find out what else may go.
  if (!answer.denied.empty() && buffers.anyone_waits()) {
    TryAgain(context, buffers.NextToRetry());
  }
}

void Node::Parts::Hear(NodeContext& context, NodeRef,
                       const message::Final& final) {
  objects.OnFinal(context, final);
}

void Node::Parts::Hear(NodeContext& context, NodeRef from,
                       const message::ReduceAnswer& answer) {
  // An earlier host's reduction starts again where its shard is now.
  if (from != shard_map.FindFor(answer.target).host) return;
  if (!Asked(RequestKind::kReduce, answer.request, answer.target)) return;
  reduces.erase(answer.request);
  requests.Answer({.request = answer.request,
                   .code = answer.code,
                   .detail = answer.reason,
                   .remote = from,
                   .sources = answer.sources},
                  context.out);
}

// --- Messages to several shards of one host, and to members. ----------------

void Node::Parts::Hear(NodeContext& context, NodeRef from,
                       const message::EvictAsk& ask) {
  message::EvictAnswer answer;
  for (const message::EvictEntry& entry : ask.entries) {
    // Asked of a shard that has moved: no leave, it will be asked again.
    const bool allowed =
        RouteOf(entry.at) == Route::kHere && directory.Evict(from, entry);
    (allowed ? answer.allowed : answer.denied).push_back(entry);
  }
  context.Send(from, std::move(answer));
}

void Node::Parts::Hear(NodeContext& context, NodeRef from,
                       const message::WatchSources& watch) {
  message::WatchSources here{.target = watch.target};
  for (const message::WatchEntry& entry : watch.entries) {
    const message::WatchSources single{.target = watch.target,
                                       .entries = {entry}};
    if (IsHere(context, from, entry.at, single)) here.entries.push_back(entry);
  }
  directory.On(context.now, from, here, context.out);
}

void Node::Parts::Hear(NodeContext& context, NodeRef from,
                       const message::UnwatchSources& unwatch) {
  directory.On(context.now, from, unwatch, context.out);
}

void Node::Parts::Hear(NodeContext& context, NodeRef from,
                       const message::SourceNews& news) {
  directory.On(context.now, from, news, context.out);
}

void Node::Parts::Hear(NodeContext& context, NodeRef from,
                       const message::Assignment& assignment) {
  if (context.IsOld(assignment.at)) return;
  member.OnAssignment(context, from, assignment);
}

void Node::Parts::Hear(NodeContext& context, NodeRef,
                       const message::Release& release) {
  member.OnRelease(context, release);
}

void Node::Parts::Apply(NodeContext& context,
                        const std::vector<ShardAssignment>& assignments) {
  ShardSet moved;
  ShardSet rebuilt;
  for (const ShardAssignment& assignment : assignments) {
    const ShardRef& at = assignment.at;
    const bool was_here = shard_map.Find(at.shard).host == config.self;
    if (!shard_map.Apply(assignment)) continue;
    moved.set(at.shard.value());
    rebuilt.set(at.shard.value(), assignment.rebuilds);
    if (assignment.host == config.self) {
      if (assignment.rebuilds) {
        directory.Rebuild(context.now, at, LivingMembers(), context.out);
      } else {
        directory.Open(at);
      }
    } else if (was_here) {
      directory.CloseIfEmpty(at.shard);
    }
  }
  if (moved.none()) return;
  if (rebuilt.any()) member.OnShardsLost(context, rebuilt);
  // What is asked for comes before the report: that one may be the last.
  Resend(context, moved);
  Report(context, rebuilt);
  for (const auto& [from, message] : std::exchange(kept, {})) {
    On(context, from, message);
  }
}

std::vector<NodeRef> Node::Parts::LivingMembers() const {
  std::vector<NodeRef> living;
  for (const auto& [id, known] : members) living.push_back(known.ref);
  return living;
}

void Node::Parts::Report(NodeContext& context, const ShardSet& shards) {
  HoldingsByShard holdings;
  objects.AppendHoldings(shards, holdings);
  puts.AppendHoldings(shards, holdings);
  for (std::uint32_t i = 0; i < kShardCount; ++i) {
    if (!shards.test(i)) continue;
    const ShardAssignment& shard = shard_map.Find(ShardId(i));
    const std::vector<message::Holding>& held = holdings[ShardId(i)];
    std::size_t sent = 0;
    do {
      const std::size_t end = std::min(sent + kHoldingsPerMessage, held.size());
      context.Send(shard.host,
                   message::Holdings{
                       .at = shard.at,
                       .first = sent == 0,
                       .last = end == held.size(),
                       .entries = {held.begin() + sent, held.begin() + end}});
      sent = end;
    } while (sent < held.size());
  }
}

void Node::Parts::Resend(NodeContext& context, const ShardSet& shards) {
  objects.Resend(context, shards);
  puts.Resend(context, shards);
  for (std::uint32_t i = 0; i < kShardCount; ++i) {
    if (shards.test(i)) directory.WatchAgain(ShardId(i), context.out);
  }
  for (const auto& [id, request] : requests.all()) {
    if (request.kind == RequestKind::kDelete &&
        shards.test(request.object.shard().value())) {
      context.SendToShard(
          request.object,
          message::DeleteAsk{.object = request.object, .request = id});
    }
  }
  for (const auto& [id, ask] : reduces) {
    if (shards.test(ask.target.shard().value())) {
      context.SendToShard(ask.target, ask);
    }
  }
}

}  // namespace hoplite
