// What a reduction knows of its sources and of the positions of its tree.
//
// Thread safety: values; as safe as int.

#ifndef HOPLITE_CORE_REDUCE_REDUCTION_PARTS_H_
#define HOPLITE_CORE_REDUCE_REDUCTION_PARTS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "hoplite/base/id.h"
#include "hoplite/base/payload.h"
#include "hoplite/core/broadcast/transfer_plan.h"
#include "hoplite/core/command.h"
#include "hoplite/core/directory/lost_nodes.h"
#include "hoplite/core/directory/shard_map.h"

namespace hoplite {

// What a reduction may use while it handles an event.
struct ReduceContext {
  NodeRef self;
  const ShardMap& shard_map;
  LinkEstimate link;
  const LostNodes& lost;
  std::uint64_t& generation_counter;  // of the shard's host
  Commands& out;
};

struct ReductionSource {
  bool ready = false;
  bool final = false;    // can never change
  bool gone = false;     // deleted, or nobody who has it can use it
  bool no_room = false;  // the latter
  bool asked = false;    // its shard, for a holder
  Generation generation;
  NodeRef holder;              // none: its shard is asked for one
  std::vector<NodeRef> avoid;  // holders that are lost, or cannot use it
  Payload payload;             // of one in an inline set
  bool in_set = false;
  std::optional<std::uint32_t> position;  // of one in a tree
};

struct ReductionPosition {
  ObjectId source;
  bool taken = false;  // has a source
  // The source as the member has it. No member: none is known yet.
  NodeRef member;
  Generation source_generation;
  bool final = false;
  Generation output;
  bool assigned = false;  // the member was told of it; else it has yet to be
  bool told = false;      // the member works at this output, or an older one
  bool lost = false;      // the member has died. Its parent may have all of it
  bool stuck = false;     // the member lost an input, and waits to be told
};

}  // namespace hoplite

#endif  // HOPLITE_CORE_REDUCE_REDUCTION_PARTS_H_
