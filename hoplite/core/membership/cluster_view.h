// What a member knows of its cluster: it is told to a head that may have lost
// sight of the member, or know less.
//
// Thread safety: values; as safe as int.

#ifndef HOPLITE_CORE_MEMBERSHIP_CLUSTER_VIEW_H_
#define HOPLITE_CORE_MEMBERSHIP_CLUSTER_VIEW_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hoplite/core/directory/shard_map.h"

namespace hoplite {

struct ClusterView {
  ClusterId cluster;
  Member self;
  std::vector<Member> members;  // living, itself and its head included
  std::vector<NodeRef> lost;    // declared dead; the latest of them
  ShardMap shard_map;
  friend bool operator==(const ClusterView&, const ClusterView&) = default;
};

// The highest number of a head that the member has seen anything of.
inline std::uint64_t HighestHeadNumber(const ClusterView& view) {
  std::uint64_t highest = HeadNumberOf(view.self.ref.incarnation);
  for (const Member& member : view.members) {
    highest = std::max(highest, HeadNumberOf(member.ref.incarnation));
  }
  for (const NodeRef& lost : view.lost) {
    highest = std::max(highest, HeadNumberOf(lost.incarnation));
  }
  for (const ShardAssignment& shard : view.shard_map.assignments()) {
    highest = std::max(highest, HeadNumberOf(shard.at.epoch));
  }
  return highest;
}

}  // namespace hoplite

#endif  // HOPLITE_CORE_MEMBERSHIP_CLUSTER_VIEW_H_
