// What a member knows of its cluster, on the wire.

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/core/config.h"
#include "hoplite/wire/codec.h"

namespace hoplite::wire {
namespace {

absl::Status CheckLength(int length, std::size_t limit,
                         absl::string_view field) {
  if (static_cast<std::size_t>(length) <= limit) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s has %d entries, of at most %d", field, length, limit));
}

}  // namespace

absl::StatusOr<ClusterView> EncodeView(const hoplite::ClusterView& view) {
  ClusterView to;
  to.set_cluster(view.cluster.value());
  HOPLITE_ASSIGN_OR_RETURN(*to.mutable_self(), EncodeMember(view.self));
  for (const hoplite::Member& member : view.members) {
    HOPLITE_ASSIGN_OR_RETURN(*to.add_members(), EncodeMember(member));
  }
  for (const hoplite::NodeRef& lost : view.lost) {
    *to.add_lost() = EncodeNodeRef(lost);
  }
  for (const hoplite::ShardAssignment& shard : view.shard_map.assignments()) {
    HOPLITE_ASSIGN_OR_RETURN(*to.add_assignments(), EncodeAssignment(shard));
  }
  return to;
}

absl::StatusOr<hoplite::ClusterView> DecodeView(const ClusterView& view) {
  HOPLITE_RETURN_IF_ERROR(
      CheckLength(view.members_size(), kListLengthMax, "ClusterView.members"));
  HOPLITE_RETURN_IF_ERROR(
      CheckLength(view.lost_size(), kLostMembersKept, "ClusterView.lost"));
  HOPLITE_RETURN_IF_ERROR(CheckLength(view.assignments_size(), kShardCount,
                                      "ClusterView.assignments"));
  hoplite::ClusterView to;
  to.cluster = ClusterId(view.cluster());
  HOPLITE_ASSIGN_OR_RETURN(to.self, DecodeMember(view.self()));
  for (const Member& one : view.members()) {
    HOPLITE_ASSIGN_OR_RETURN(hoplite::Member member, DecodeMember(one));
    to.members.push_back(std::move(member));
  }
  for (const NodeRef& one : view.lost()) to.lost.push_back(DecodeNodeRef(one));
  for (const ShardAssignment& one : view.assignments()) {
    HOPLITE_ASSIGN_OR_RETURN(const hoplite::ShardAssignment shard,
                             DecodeAssignment(one));
    to.shard_map.Apply(shard);
  }
  return to;
}

}  // namespace hoplite::wire
