// A node's part in its cluster's membership: the head that it follows, and
// what it does when that is away, comes back, or has given this node up.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/core/node_parts.h"

namespace hoplite {

NodeRef Node::Parts::Leader() const {
  const auto leader = members.find(kHeadNode);
  return leader == members.end() ? NodeRef() : leader->second.ref;
}

bool Node::Parts::IsOrder(NodeRef from) const {
  return from.node == kHeadNode && from.incarnation >= Leader().incarnation;
}

void Node::Parts::Join(NodeContext& context, const Member& member) {
  if (member.ref == config.self || std::ranges::count(lost, member.ref) > 0) {
    return;
  }
  members[member.ref.node] = member;
  context.out.push_back(command::LearnMember{member});
  directory.SetNodeCount(static_cast<std::uint32_t>(members.size()));
}

void Node::Parts::Lose(NodeContext& context, NodeRef member) {
  auto it = members.find(member.node);
  if (it == members.end() || it->second.ref != member) return;
  members.erase(it);
  lost.push_back(member);
  if (lost.size() > kLostMembersKept) lost.pop_front();
  context.out.push_back(command::ForgetMember{member});
  directory.SetNodeCount(static_cast<std::uint32_t>(members.size()));
  directory.OnNodeLost(context.now, member, context.out);
}

void Node::Parts::On(NodeContext& context, const event::PeerLost& lost_peer) {
  if (lost_peer.peer == Leader() && !head.has_value()) SeekHead(context);
}

void Node::Parts::On(NodeContext& context, const event::PeerDied& died) {
  if (head.has_value()) {
    head->OnMemberGone(died.peer, context.out);
  } else if (died.peer == Leader()) {
    SeekHead(context);
  }
}

void Node::Parts::On(NodeContext& context,
                     const event::PeerReturned& returned) {
  ShardSet shards;
  for (const ShardAssignment& shard : shard_map.assignments()) {
    if (shard.host == returned.peer) shards.set(shard.at.shard.value());
  }
  if (shards.any()) {
    Resend(context, shards);
    Report(context, shards);
  }
  directory.OnPeerReturned(returned.peer, context.out);
  // The head may have noticed later that the stream was lost, and have spoken
  // in vain even after it was found.
  if (returned.peer == Leader() && !head.has_value()) SeekHead(context);
}

void Node::Parts::SeekHead(NodeContext& context) {
  std::set<NodeRef> named;
  for (const auto& [id, member] : members) {
    if (!head_away || told_of.contains(member.ref)) named.insert(member.ref);
  }
  told_of = std::move(named);
  head_away = true;
  ClusterView view{.cluster = config.cluster,
                   .self = members[config.self.node],
                   .members = {},
                   .lost = {lost.begin(), lost.end()},
                   .shard_map = shard_map};
  for (const auto& [id, member] : members) view.members.push_back(member);
  context.out.push_back(
      command::SeekHead{.head_address = members[kHeadNode].control_address,
                        .view = std::move(view)});
}

void Node::Parts::On(NodeContext& context, const event::HeadFound& found) {
  const auto leader = std::ranges::find_if(
      found.members,
      [](const Member& member) { return member.ref.node == kHeadNode; });
  if (leader == found.members.end() || !IsOrder(leader->ref)) return;
  head_away = false;
  bool knows_more = false;
  std::vector<NodeRef> gone;
  for (const auto& [id, known] : members) {
    const bool lives =
        std::ranges::count(found.members, known.ref, &Member::ref) > 0;
    if (lives || known.ref == config.self) continue;
    // Whom the head was not told of, it may not know: it is no verdict.
    if (id == kHeadNode || told_of.contains(known.ref)) {
      gone.push_back(known.ref);
    } else {
      knows_more = true;
    }
  }
  for (const NodeRef& member : gone) Lose(context, member);
  for (const Member& member : found.members) {
    // The head, though it is known: to be met again.
    const bool is_new = !members.contains(member.ref.node);
    if (is_new || member.ref.node == kHeadNode) Join(context, member);
  }
  Apply(context, found.shard_map.assignments());
  message::ShardsClosed closed;
  for (const ShardAssignment& shard : shard_map.assignments()) {
    knows_more |=
        shard.at.epoch > found.shard_map.Find(shard.at.shard).at.epoch;
    // Given up for a head that did not live to hear so.
    if (shard.host == config.self && !directory.HostedEpoch(shard.at.shard)) {
      closed.shards.push_back(shard.at);
    }
  }
  if (!closed.shards.empty()) context.Send(Leader(), std::move(closed));
  // The last words of an earlier head may have come after this node asked.
  if (knows_more) SeekHead(context);
}

void Node::Parts::On(NodeContext& context, const event::Fenced& fenced) {
  const std::string reason =
      absl::StrCat("this node is not a member any more: ", fenced.reason);
  const auto all = requests.all();
  for (const auto& [id, request] : all) {
    EndRequest(context, id, absl::StatusCode::kUnavailable,
               absl::StrCat("when ", reason));
  }
  context.out.push_back(
      command::EndLife{.reason = reason, .cluster = config.cluster});
}

void Node::Parts::On(NodeContext& context, const event::JoinRequested& join) {
  if (head.has_value()) head->OnJoin(join, context.out);
}

void Node::Parts::On(NodeContext& context,
                     const event::ReturnRequested& request) {
  if (head.has_value()) head->OnReturn(context.now, request, context.out);
}

}  // namespace hoplite
