// Which node hosts which shard of the object directory, and who is a member.
//
// An id's shard never changes; its host does, and each change has an epoch
// higher than every earlier one of that shard. The head decides, all others
// apply what they hear: an assignment counts where its epoch is newer.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CORE_DIRECTORY_SHARD_MAP_H_
#define HOPLITE_CORE_DIRECTORY_SHARD_MAP_H_

#include <bitset>
#include <string>
#include <vector>

#include "hoplite/base/id.h"

namespace hoplite {

// The head is the first node of its cluster, in each of its lives.
inline constexpr NodeId kHeadNode(1);

// A node and where it is reached; the core passes addresses on unread.
struct Member {
  NodeRef ref;
  std::string control_address;     // host:port of its gRPC service
  std::string data_address;        // host:port of its data plane
  std::string agent_address = {};  // of what runs above it, or empty
  friend bool operator==(const Member&, const Member&) = default;
};

// A shard under one epoch: every message to or from a shard names it.
struct ShardRef {
  ShardId shard;
  Epoch epoch;
  friend constexpr auto operator<=>(const ShardRef&, const ShardRef&) = default;
};

struct ShardAssignment {
  ShardRef at;
  NodeRef host;
  // The last host was lost, and its records with it: members report.
  bool rebuilds = false;
  friend bool operator==(const ShardAssignment&,
                         const ShardAssignment&) = default;
};

using ShardSet = std::bitset<kShardCount>;  // indexed by shard

class ShardMap {
 public:
  // All shards without a host, epoch 0.
  ShardMap() : assignments_(kShardCount) {
    for (std::uint32_t i = 0; i < kShardCount; ++i) {
      assignments_[i].at.shard = ShardId(i);
    }
  }

  const ShardAssignment& Find(ShardId shard) const {
    return assignments_[shard.value()];
  }
  const ShardAssignment& FindFor(const ObjectId& object) const {
    return Find(object.shard());
  }
  // True where the assignment was newer and is now in the map.
  // REQUIRES: assignment.at.shard < kShardCount.
  bool Apply(const ShardAssignment& assignment) {
    ShardAssignment& known = assignments_[assignment.at.shard.value()];
    if (assignment.at.epoch <= known.at.epoch) return false;
    known = assignment;
    return true;
  }
  const std::vector<ShardAssignment>& assignments() const {
    return assignments_;
  }

  friend bool operator==(const ShardMap&, const ShardMap&) = default;

 private:
  std::vector<ShardAssignment> assignments_;  // indexed by shard
};

}  // namespace hoplite

#endif  // HOPLITE_CORE_DIRECTORY_SHARD_MAP_H_
