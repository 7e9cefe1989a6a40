// Head: how it comes back, and how members come back to it.

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "hoplite/core/membership/head.h"

namespace hoplite {

using command::EndLife;

namespace {

// Of the dead-limit: in each, members that seek their head ask at least twice.
constexpr int kReturnSteps = 12;

// An id in the view that no head up to this number has given out, if any.
std::optional<NodeId> FindForeignId(const ClusterView& view,
                                    std::uint64_t number) {
  const auto foreign = [&](const NodeRef& ref) {
    return HeadNumberOf(ref.node) > number;
  };
  if (foreign(view.self.ref)) return view.self.ref.node;
  for (const Member& member : view.members) {
    if (foreign(member.ref)) return member.ref.node;
  }
  for (const NodeRef& lost : view.lost) {
    if (foreign(lost)) return lost.node;
  }
  return std::nullopt;
}

}  // namespace

void Head::BeginIfNew(absl::Time now) {
  if (!began_.has_value()) began_ = now;
}

std::string Head::WhyNot(absl::Time now, const ClusterView& view, Commands& out,
                         bool& ends) const {
  const std::uint64_t seen = HighestHeadNumber(view);
  if (!view.self.ref || view.self.ref.node == kHeadNode) {
    return "the caller is no member";
  }
  if (seen > number() && seen >= kHeadNumberMax) {
    return absl::StrFormat("no head can come after number %d", seen);
  }
  if (const auto foreign = FindForeignId(view, std::max(seen, number()))) {
    return absl::StrFormat("no head has given out the id of %s",
                           ToString(*foreign));
  }
  if (view.cluster != cluster_) {
    ends = number() == 0 && !returning_ && now <= *began_ + kSucceedsWithin;
    if (!ends) return "this is the head of another cluster";
    out.push_back(EndLife{"a cluster that had its head here goes on",
                          view.cluster, seen + 1});
    return "";
  }
  if (seen > number()) {
    ends = true;
    out.push_back(EndLife{
        absl::StrFormat("the cluster has had a later head, number %d", seen),
        cluster_, returning_ ? seen + 1 : 0});
    return "";
  }
  const NodeRef member = view.self.ref;
  const auto known = members_.find(member.node);
  if (known != members_.end() && known->second.ref == member) return "";
  const bool may_be_new = returning_ && known == members_.end() &&
                          !lost_.contains(member) &&
                          HeadNumberOf(member.incarnation) < number();
  if (may_be_new) return "";
  return absl::StrFormat(
      "incarnation %d of %s is no longer a member; it has to join again",
      member.incarnation.value(), ToString(member.node));
}

void Head::OnReturn(absl::Time now, const event::ReturnRequested& request,
                    Commands& out) {
  BeginIfNew(now);
  const ClusterView& view = request.view;
  bool ends = false;
  std::string why = WhyNot(now, view, out, ends);
  if (ends) return;
  if (!why.empty()) {
    out.push_back(command::RefuseReturn{request.token, std::move(why)});
    return;
  }
  if (returning_) LearnFrom(view, out);
  LearnShards(view, out);
  command::Admit admit{.token = request.token,
                       .member = view.self,
                       .members = {},
                       .shard_map = shard_map_};
  for (const auto& [id, known] : members_) admit.members.push_back(known);
  for (const auto& [id, known] : awaited_) admit.members.push_back(known);
  out.push_back(std::move(admit));
  if (returning_ && awaited_.empty()) EndReturn(out);
  // What it was asked, or has answered, may be lost with its stream.
  const std::size_t asked = std::erase_if(closing_, [&](ShardId shard) {
    return shard_map_.Find(shard).host == view.self.ref;
  });
  if (asked > 0) AskForSurplus(out);
}

void Head::LearnFrom(const ClusterView& view, Commands& out) {
  const auto learn = [&](const Member& member) {
    last_node_ = std::max(last_node_, member.ref.node.value());
    const bool known = members_.contains(member.ref.node) ||
                       awaited_.contains(member.ref.node);
    if (known || lost_.contains(member.ref)) return;
    out.push_back(command::LearnMember{member});
    TellAll(message::MemberJoined{member}, out);
    awaited_[member.ref.node] = member;
  };
  for (const NodeRef& lost : view.lost) {
    last_node_ = std::max(last_node_, lost.node.value());
    if (lost.node != kHeadNode) OnMemberGone(lost, out);
    lost_.insert(lost);
  }
  for (const Member& member : view.members) {
    if (member.ref.node != kHeadNode) learn(member);
  }
  learn(view.self);
  if (awaited_.erase(view.self.ref.node) > 0) {
    members_[view.self.ref.node] = view.self;
  }
}

void Head::LearnShards(const ClusterView& view, Commands& out) {
  message::MapUpdate update;
  for (const ShardAssignment& shard : view.shard_map.assignments()) {
    if (shard_map_.Apply(shard)) update.assignments.push_back(shard);
  }
  if (update.assignments.empty()) return;
  TellAll(update, out);
  if (!returning_) AssignOrphans(out);
}

void Head::AssignOrphans(Commands& out) {
  std::vector<ShardId> empty;
  std::vector<ShardId> lost;
  for (const ShardAssignment& shard : shard_map_.assignments()) {
    const auto host = members_.find(shard.host.node);
    const bool lives = host != members_.end() && host->second.ref == shard.host;
    if (given_up_.contains(shard.at)) {
      empty.push_back(shard.at.shard);
    } else if (!lives) {
      lost.push_back(shard.at.shard);
    }
  }
  Assign(empty, /*rebuilds=*/false, out);
  Assign(lost, /*rebuilds=*/true, out);
}

void Head::EndReturn(Commands& out) {
  returning_ = false;
  for (const auto& [id, member] : std::exchange(awaited_, {})) {
    TellAll(message::MemberLost{member.ref}, out);
  }
  lost_.clear();
  AssignOrphans(out);
  given_up_.clear();
  for (const event::JoinRequested& join : std::exchange(joins_, {})) {
    OnJoin(join, out);
  }
}

void Head::HandleTimeout(absl::Time now, Commands& out) {
  BeginIfNew(now);
  if (!returning_) return;
  if (step_ends_.has_value()) {
    if (now < *step_ends_) return;
    ++steps_waited_;
  }
  step_ends_ = now + dead_after_ / kReturnSteps;
  if (steps_waited_ == kReturnSteps) EndReturn(out);
}

std::optional<absl::Time> Head::NextTimeout() const {
  if (!returning_) return std::nullopt;
  return step_ends_.value_or(absl::InfinitePast());
}

}  // namespace hoplite
