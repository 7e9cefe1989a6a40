// Who is a member, and which node hosts which shard: the head's machine.
//
// Node ids and incarnations only grow, and those of a later head begin with
// its number: it may not have heard of all that an earlier one gave out. Shards
// are spread evenly over all members but the head, which hosts them only while
// it is alone. At a join a host gives up those of its surplus that are empty;
// others stay where they are until their host is lost.
//
// A head that comes back knows nothing. Its members seek it and say what they
// know; it waits for those that others name, one dead-limit at most. Until then
// nobody joins and no shard moves. The limit counts steps that it was called
// for, not time: a head that stood still has not waited.
//
// Not responsible for: finding out that a node is dead (the driver does).
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CORE_MEMBERSHIP_HEAD_H_
#define HOPLITE_CORE_MEMBERSHIP_HEAD_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"
#include "hoplite/core/command.h"
#include "hoplite/core/config.h"

namespace hoplite {

class Head {
 public:
  explicit Head(const NodeConfig& config);

  void OnJoin(const event::JoinRequested& join, Commands& out);
  // Takes the member back, or tells it that its life is over. The head's own
  // life ends where its cluster has had a later head, or where it has yet to
  // become the member's.
  void OnReturn(absl::Time now, const event::ReturnRequested& request,
                Commands& out);
  void OnShardsClosed(NodeRef from, const message::ShardsClosed& closed,
                      Commands& out);
  // A member said goodbye, or is dead. Tells all, this node included.
  void OnMemberGone(NodeRef member, Commands& out);

  void HandleTimeout(absl::Time now, Commands& out);
  std::optional<absl::Time> NextTimeout() const;

 private:
  std::uint64_t number() const { return HeadNumberOf(self_.incarnation); }
  // Hosts, and how many shards each has.
  absl::btree_map<NodeRef, std::uint32_t> Shares() const;
  void AskForSurplus(Commands& out);
  // `rebuilds`: their host was lost, and what it knew.
  void Assign(const std::vector<ShardId>& shards, bool rebuilds, Commands& out);
  void TellAll(const Message& message, Commands& out) const;

  void BeginIfNew(absl::Time now);
  // Why this head does not go on with a member; empty where it does. May end
  // the life of the head instead, and says so by `ends`.
  std::string WhyNot(absl::Time now, const ClusterView& view, Commands& out,
                     bool& ends) const;
  void LearnFrom(const ClusterView& view, Commands& out);
  // What the member has heard of an earlier head, and this one has not.
  void LearnShards(const ClusterView& view, Commands& out);
  // Shards whose host is no member, or has given them up, get another.
  void AssignOrphans(Commands& out);
  void EndReturn(Commands& out);

  const NodeRef self_;
  const ClusterId cluster_;
  const absl::Duration dead_after_;
  absl::btree_map<NodeId, Member> members_;
  ShardMap shard_map_;
  std::uint32_t last_node_ = 0;
  std::uint64_t last_incarnation_ = 0;
  std::set<ShardId> closing_;  // asked for, not answered yet
  std::optional<absl::Time> began_;

  // While it comes back.
  bool returning_ = false;
  int steps_waited_ = 0;
  std::optional<absl::Time> step_ends_;
  absl::btree_map<NodeId, Member> awaited_;  // named, and not heard yet
  std::set<NodeRef> lost_;
  std::vector<event::JoinRequested> joins_;
  std::set<ShardRef> given_up_;  // by their hosts, for an earlier head
};

}  // namespace hoplite

#endif  // HOPLITE_CORE_MEMBERSHIP_HEAD_H_
