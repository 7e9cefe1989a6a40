// What the machines of one node share, for tests of one of them.
//
// The node is 5, and every shard is on node 1 under epoch 1.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CORE_TESTING_LOCAL_NODE_H_
#define HOPLITE_CORE_TESTING_LOCAL_NODE_H_

#include <cstdint>
#include <utility>

#include "absl/time/time.h"
#include "hoplite/core/local/node_context.h"
#include "hoplite/core/testing/commands.h"
#include "hoplite/core/testing/values.h"

namespace hoplite::testing {

class LocalNode {
 public:
  static constexpr std::uint32_t kSelf = 5;
  static constexpr std::uint32_t kHost = 1;

  NodeContext context() {
    return {.now = now,
            .self = Ref(kSelf),
            .shard_map = shard_map,
            .buffers = buffers,
            .requests = requests,
            .out = out};
  }
  // Runs `act` with a context; what it has ordered.
  template <typename Act>
  Commands Do(Act act) {
    out.clear();
    NodeContext shared = context();
    act(shared);
    return std::exchange(out, {});
  }
  // A client's request, as Node enters it before a machine hears of it.
  RequestId Enter(RequestKind kind, const ObjectId& object) {
    last_request = last_request.Next();
    requests.Add(last_request, {kind, object, absl::InfiniteFuture()});
    return last_request;
  }
  ShardRef At(const ObjectId& object) const {
    return shard_map.FindFor(object).at;
  }
  // Every shard goes to another host, under the next epoch.
  void MoveShardsTo(std::uint32_t host) {
    const ShardMap before = shard_map;
    for (const ShardAssignment& shard : before.assignments()) {
      shard_map.Apply(
          {.at = {shard.at.shard, shard.at.epoch.Next()}, .host = Ref(host)});
    }
  }

  absl::Time now = testing::At(0);
  ShardMap shard_map = AllShardsOn(Ref(kHost));
  BufferTable buffers;
  RequestTable requests;
  RequestId last_request;
  Commands out;
};

}  // namespace hoplite::testing

#endif  // HOPLITE_CORE_TESTING_LOCAL_NODE_H_
