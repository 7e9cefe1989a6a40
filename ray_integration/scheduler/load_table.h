// The table of other nodes' free resources, as last heard, less what has been
// sent there since.
//
// Thread safety: none; one thread at a time.
// Complexity: O(nodes) for each call; O(1) for a need like one that found no
// node since the table was last replaced.

#ifndef HOPLITE_RAY_INTEGRATION_SCHEDULER_LOAD_TABLE_H_
#define HOPLITE_RAY_INTEGRATION_SCHEDULER_LOAD_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "hoplite/base/id.h"
#include "ray_integration/scheduler/lease_request.h"
#include "ray_integration/scheduler/node_load.h"
#include "ray_integration/scheduler/resources.h"

namespace hoplite::task {

class LoadTable {
 public:
  explicit LoadTable(NodeRef self) : self_(self) {}

  void Replace(const std::vector<NodeLoad>& nodes);
  void Forget(const NodeRef& node);

  // Of the nodes with that much free, the one that holds most bytes of the
  // arguments; of several, in turn. Its row has so much less afterwards. An
  // empty host: any.
  std::optional<NodeRef> TakeFree(const Resources& need,
                                  const std::vector<LeaseArgument>& arguments,
                                  absl::string_view host);
  // Of the nodes that have that much, free or not, the one with the shortest
  // queue, if that is shorter than `queued_below`; of several, in turn.
  std::optional<NodeRef> TakeAny(const Resources& need, absl::string_view host,
                                 std::uint32_t queued_below);
  bool HasHost(absl::string_view host) const;
  std::size_t size() const { return rows_.size(); }

 private:
  bool NoneFree(const Resources& need) const;

  const NodeRef self_;
  std::vector<NodeLoad> rows_;  // without this node
  std::size_t turn_ = 0;
  // Needs for which no node had enough.
  std::vector<Resources> none_free_;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_SCHEDULER_LOAD_TABLE_H_
