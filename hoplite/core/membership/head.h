// Who is a member, and which node hosts which shard: the head's machine.
//
// Node ids and incarnations only grow. Shards are spread evenly over all
// members but the head, which hosts them only while it is alone. At a join a
// host gives up those of its surplus that are empty; others stay where they
// are until their host is lost.
//
// Not responsible for: finding out that a node is dead (the driver does).
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CORE_MEMBERSHIP_HEAD_H_
#define HOPLITE_CORE_MEMBERSHIP_HEAD_H_

#include <cstdint>
#include <set>
#include <vector>

#include "absl/container/btree_map.h"
#include "hoplite/core/command.h"
#include "hoplite/core/config.h"

namespace hoplite {

class Head {
 public:
  explicit Head(const NodeConfig& config);

  void OnJoin(const event::JoinRequested& join, Commands& out);
  void OnShardsClosed(NodeRef from, const message::ShardsClosed& closed,
                      Commands& out);
  // A member said goodbye, or is dead. Tells all, this node included.
  void OnMemberGone(NodeRef member, Commands& out);

 private:
  // Hosts, and how many shards each has.
  absl::btree_map<NodeRef, std::uint32_t> Shares() const;
  void AskForSurplus(Commands& out);
  void Assign(const std::vector<ShardId>& shards, Commands& out);
  void TellAll(const Message& message, Commands& out) const;

  const NodeRef self_;
  absl::btree_map<NodeId, Member> members_;
  ShardMap shard_map_;
  std::uint32_t last_node_ = 0;
  std::uint64_t last_incarnation_ = 0;
  std::set<ShardId> closing_;  // asked for, not answered yet
};

}  // namespace hoplite

#endif  // HOPLITE_CORE_MEMBERSHIP_HEAD_H_
