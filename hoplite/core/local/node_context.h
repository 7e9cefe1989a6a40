// What a node's machines share while one event is handled.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CORE_LOCAL_NODE_CONTEXT_H_
#define HOPLITE_CORE_LOCAL_NODE_CONTEXT_H_

#include <utility>

#include "absl/time/time.h"
#include "hoplite/core/command.h"
#include "hoplite/core/directory/shard_map.h"
#include "hoplite/core/local/buffer_table.h"
#include "hoplite/core/local/request_table.h"

namespace hoplite {

struct NodeContext {
  absl::Time now;
  NodeRef self;
  const ShardMap& shard_map;
  BufferTable& buffers;
  RequestTable& requests;
  Commands& out;

  // From the host of an earlier epoch: whoever hosts the shard now was told
  // what this node has, and will say what comes of it.
  bool IsOld(const ShardRef& at) const {
    return at.epoch < shard_map.Find(at.shard).at.epoch;
  }
  void Send(NodeRef to, Message message) {
    out.push_back(command::Send{to, std::move(message)});
  }
  // To the host of the object's shard, under the epoch known here.
  template <typename M>
  void SendToShard(const ObjectId& object, M message) {
    const ShardAssignment& shard = shard_map.FindFor(object);
    message.at = shard.at;
    Send(shard.host, std::move(message));
  }
};

}  // namespace hoplite

#endif  // HOPLITE_CORE_LOCAL_NODE_CONTEXT_H_
