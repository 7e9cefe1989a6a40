#include "hoplite/core/membership/head.h"

#include <algorithm>

#include "hoplite/base/check.h"

namespace hoplite {

using command::Send;

Head::Head(const NodeConfig& config)
    : self_(config.self),
      cluster_(config.cluster),
      dead_after_(config.dead_after),
      shard_map_(config.shard_map),
      returning_(config.returns) {
  for (const Member& member : config.members) {
    members_[member.ref.node] = member;
    last_node_ = std::max(last_node_, member.ref.node.value());
    last_incarnation_ =
        std::max(last_incarnation_, member.ref.incarnation.value());
  }
  const std::uint64_t before_first = number() << kHeadNumberShiftOfNodes;
  last_node_ = std::max(last_node_, static_cast<std::uint32_t>(before_first));
}

void Head::OnJoin(const event::JoinRequested& join, Commands& out) {
  if (returning_) {
    joins_.push_back(join);
    return;
  }
  const Member member{
      .ref = {NodeId(++last_node_), Incarnation(++last_incarnation_)},
      .control_address = join.control_address,
      .data_address = join.data_address,
      .agent_address = join.agent_address};
  // At once: a host that has closed shards may be heard before this node hears
  // of the member, and the shards may go to it.
  out.push_back(command::LearnMember{member});
  TellAll(message::MemberJoined{member}, out);
  members_[member.ref.node] = member;
  command::Admit admit{
      .token = join.token, .member = member, .shard_map = shard_map_};
  for (const auto& [id, known] : members_) admit.members.push_back(known);
  out.push_back(std::move(admit));
  AskForSurplus(out);
}

absl::btree_map<NodeRef, std::uint32_t> Head::Shares() const {
  absl::btree_map<NodeRef, std::uint32_t> shares;
  for (const auto& [id, member] : members_) shares[member.ref] = 0;
  for (const ShardAssignment& shard : shard_map_.assignments()) {
    auto host = shares.find(shard.host);
    if (host != shares.end()) ++host->second;
  }
  return shares;
}

void Head::AskForSurplus(Commands& out) {
  const auto hosts = static_cast<std::uint32_t>(members_.size() - 1);
  if (hosts == 0) return;
  const std::uint32_t fair = kShardCount / hosts;
  std::uint32_t remainder = kShardCount % hosts;  // hosts that keep one more
  absl::btree_map<NodeRef, std::uint32_t> kept;
  absl::btree_map<NodeRef, message::CloseShards> surplus;
  for (const ShardAssignment& shard : shard_map_.assignments()) {
    std::uint32_t& keeps = kept[shard.host];
    const bool is_host = shard.host != self_;
    if (is_host && keeps < fair) {
      ++keeps;
    } else if (is_host && keeps == fair && remainder > 0) {
      ++keeps;
      --remainder;
    } else if (closing_.insert(shard.at.shard).second) {
      surplus[shard.host].shards.push_back(shard.at);
    }
  }
  for (auto& [host, close] : surplus) out.push_back(Send{host, close});
}

void Head::OnShardsClosed(NodeRef from, const message::ShardsClosed& closed,
                          Commands& out) {
  if (returning_) {
    given_up_.insert(closed.shards.begin(), closed.shards.end());
    return;
  }
  std::vector<ShardId> moving;
  for (const ShardRef& at : closed.shards) {
    const ShardAssignment& known = shard_map_.Find(at.shard);
    if (known.at == at && known.host == from) moving.push_back(at.shard);
  }
  // Whatever the host kept is not empty, and stays with it.
  std::erase_if(closing_, [&](ShardId shard) {
    return shard_map_.Find(shard).host == from;
  });
  Assign(moving, /*rebuilds=*/false, out);
}

void Head::Assign(const std::vector<ShardId>& shards, bool rebuilds,
                  Commands& out) {
  if (shards.empty()) return;
  absl::btree_map<NodeRef, std::uint32_t> shares = Shares();
  if (shares.size() > 1) shares.erase(self_);
  message::MapUpdate update;
  for (ShardId shard : shards) {
    auto fewest = std::ranges::min_element(
        shares,
        [](const auto& a, const auto& b) { return a.second < b.second; });
    HOPLITE_CHECK(fewest != shares.end());
    const ShardAssignment& old = shard_map_.Find(shard);
    auto before = shares.find(old.host);
    if (before != shares.end()) --before->second;
    ++fewest->second;
    const Epoch first(number() << kHeadNumberShift | 1);
    const ShardAssignment next{
        .at = {shard, std::max(old.at.epoch.Next(), first)},
        .host = fewest->first,
        .rebuilds = rebuilds};
    HOPLITE_CHECK(shard_map_.Apply(next));
    update.assignments.push_back(next);
  }
  TellAll(update, out);
}

void Head::OnMemberGone(NodeRef member, Commands& out) {
  const auto is_it = [&](const auto& known) {
    return known.second.ref == member;
  };
  if (member == self_ || (absl::erase_if(awaited_, is_it) == 0 &&
                          std::ranges::none_of(members_, is_it))) {
    return;
  }
  TellAll(message::MemberLost{member}, out);
  absl::erase_if(members_, is_it);
  if (returning_) {  // its shards move with all others
    lost_.insert(member);
    return;
  }
  std::vector<ShardId> orphans;
  for (const ShardAssignment& shard : shard_map_.assignments()) {
    if (shard.host != member) continue;
    orphans.push_back(shard.at.shard);
    closing_.erase(shard.at.shard);
  }
  Assign(orphans, /*rebuilds=*/true, out);
}

void Head::TellAll(const Message& message, Commands& out) const {
  for (const auto& [id, member] : members_) {
    out.push_back(Send{member.ref, message});
  }
}

}  // namespace hoplite
