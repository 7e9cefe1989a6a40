// How messages from peers reach a node's machines, and how epochs are kept.

#include <optional>
#include <utility>

#include "hoplite/core/node_parts.h"

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
inline constexpr bool kToHost<message::ReduceAsk> = true;
template <>
inline constexpr bool kToHost<message::AssignmentFailed> = true;

}  // namespace

void Node::Parts::On(NodeContext& context,
                     const event::MessageReceived& received) {
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
      kept.emplace_back(from, message);
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

void Node::Parts::Hear(NodeContext& context, NodeRef,
                       const message::MemberJoined& joined) {
  if (joined.member.ref == config.self) return;
  members[joined.member.ref.node] = joined.member;
  context.out.push_back(command::LearnMember{joined.member});
  directory.SetNodeCount(static_cast<std::uint32_t>(members.size()));
}

void Node::Parts::Hear(NodeContext& context, NodeRef,
                       const message::MemberLost& lost) {
  auto it = members.find(lost.member.node);
  if (it == members.end() || it->second.ref != lost.member) return;
  members.erase(it);
  context.out.push_back(command::ForgetMember{lost.member});
  directory.SetNodeCount(static_cast<std::uint32_t>(members.size()));
  directory.OnNodeLost(context.now, lost.member, context.out);
}

void Node::Parts::Hear(NodeContext& context, NodeRef from,
                       const message::Leave&) {
  if (head.has_value()) head->OnMemberGone(from, context.out);
}

void Node::Parts::Hear(NodeContext& context, NodeRef,
                       const message::MapUpdate& update) {
  Apply(context, update.assignments);
}

void Node::Parts::Hear(NodeContext& context, NodeRef,
                       const message::StaleEpoch& stale) {
  Apply(context, {stale.newer});
}

void Node::Parts::Hear(NodeContext& context, NodeRef from,
                       const message::CloseShards& close) {
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
}

void Node::Parts::Hear(NodeContext& context, NodeRef,
                       const message::PutAnswer& answer) {
  const std::optional<absl::Duration> took = puts.OnAnswer(context, answer);
  // As good as a hello, and there are more of them.
  if (took.has_value()) On(context, event::LatencyMeasured{*took / 2});
  member.OnObjectHere(context, answer.object);
}

void Node::Parts::Hear(NodeContext& context, NodeRef from,
                       const message::DeleteAnswer& answer) {
  requests.Answer(
      {.request = answer.request,
       .code = answer.code,
       .detail = answer.code == absl::StatusCode::kOk ? "" : "no such object",
       .remote = from},
      context.out);
}

void Node::Parts::Hear(NodeContext& context, NodeRef from,
                       const message::Drop& drop) {
  puts.OnDrop(context, drop);
  member.OnDrop(context, drop);
  objects.OnDrop(context, from, drop);
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
  member.OnAssignment(context, from, assignment);
}

void Node::Parts::Hear(NodeContext& context, NodeRef,
                       const message::Release& release) {
  member.OnRelease(context, release.target);
}

void Node::Parts::Apply(NodeContext& context,
                        const std::vector<ShardAssignment>& assignments) {
  std::vector<ShardId> moved;
  for (const ShardAssignment& assignment : assignments) {
    const bool was_here =
        shard_map.Find(assignment.at.shard).host == config.self;
    if (!shard_map.Apply(assignment)) continue;
    moved.push_back(assignment.at.shard);
    if (assignment.host == config.self) {
      directory.Open(assignment.at);
    } else if (was_here) {
      directory.CloseIfEmpty(assignment.at.shard);
    }
  }
  if (moved.empty()) return;
  for (ShardId shard : moved) Resend(context, shard);
  for (const auto& [from, message] : std::exchange(kept, {})) {
    On(context, from, message);
  }
}

void Node::Parts::Resend(NodeContext& context, ShardId shard) {
  objects.Resend(context, shard);
  puts.Resend(context, shard);
  directory.OnShardMoved(shard, context.out);
  for (const auto& [id, request] : requests.all()) {
    if (request.kind == RequestKind::kDelete &&
        request.object.shard() == shard) {
      context.SendToShard(
          request.object,
          message::DeleteAsk{.object = request.object, .request = id});
    }
  }
  for (const auto& [id, ask] : reduces) {
    if (ask.target.shard() == shard) context.SendToShard(ask.target, ask);
  }
}

}  // namespace hoplite
