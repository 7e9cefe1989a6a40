// What a node tells of itself: `hoplite status`, tests, the simulator.
//
// Thread safety: values; as safe as int.
// Units: bytes.

#ifndef HOPLITE_CORE_NODE_STATUS_H_
#define HOPLITE_CORE_NODE_STATUS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "hoplite/core/config.h"
#include "hoplite/core/directory/shard_map.h"

namespace hoplite {

// An object on this node, as `hoplite status` shows it.
struct LocalObjectStatus {
  ObjectId object;
  Generation generation;
  std::uint64_t size = 0;
  std::string state;       // "asking", "fetching", "producing", "complete", …
  NodeRef server;          // whom it is fetched from, or none
  std::uint32_t gets = 0;  // requests that wait for it
  std::uint32_t pulls = 0;  // peers that it is streamed to
  BufferId buffer;          // where its bytes are, or none
  std::uint64_t bytes = 0;  // verified here; the core does not know
};

// A position of a reduction that this node fills.
struct PositionStatus {
  ObjectId target;
  std::uint32_t position = 0;
  bool root = false;
  std::vector<NodeRef> inputs;  // the members of its children; a leaf's: none
  std::uint64_t size = 0;
  BufferId output;          // a leaf's is its source, or none
  std::uint64_t bytes = 0;  // of the output, as above
};

struct NodeStatus {
  NodeRef self;
  bool is_head = false;
  Schedule schedule = Schedule::kHoplite;  // of the cluster
  std::vector<Member> members;
  std::vector<ShardAssignment> shards;     // the whole map
  std::vector<LocalObjectStatus> objects;  // on this node
  std::vector<PositionStatus> positions;   // likewise
  // In the shards hosted here, without those of deleted objects.
  std::uint64_t directory_records = 0;
  std::uint64_t requests_waiting = 0;
  std::uint64_t transfers_under_way = 0;   // pulls into this node
  std::uint64_t reductions_under_way = 0;  // coordinated here
  std::uint64_t buffers_held = 0;
  absl::Duration latency;       // L, as measured
  double bytes_per_second = 0;  // B, as measured
};

}  // namespace hoplite

#endif  // HOPLITE_CORE_NODE_STATUS_H_
