// Short names for the values that tests of the core need.
//
// Thread safety: pure functions.

#ifndef HOPLITE_CORE_TESTING_VALUES_H_
#define HOPLITE_CORE_TESTING_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "hoplite/base/payload.h"
#include "hoplite/core/directory/shard_map.h"

namespace hoplite::testing {

// Node n in its first life.
inline NodeRef Ref(std::uint32_t node) {
  return {NodeId(node), Incarnation(node)};
}

inline Member MemberOf(std::uint32_t node) {
  const std::string name = "node-" + std::to_string(node);
  return {.ref = Ref(node),
          .control_address = name + ":1",
          .data_address = name + ":2",
          .agent_address = name + ":3"};
}

// The n-th object, in whatever shard.
inline ObjectId Id(std::uint32_t number) {
  ObjectId::Bytes bytes{};
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[i] = static_cast<std::uint8_t>(number >> (8 * (3 - i)));
  }
  return ObjectId(bytes);
}

// The n-th object of those in that shard.
inline ObjectId IdIn(std::uint32_t shard, std::uint32_t number = 1) {
  for (std::uint32_t i = 1;; ++i) {
    const ObjectId id = Id(i);
    if (id.shard() == ShardId(shard) && --number == 0) return id;
  }
}

// The counter-th Put of a node.
inline Generation PutOf(std::uint32_t node, std::uint64_t counter = 1) {
  return {.node = NodeId(node), .era = node, .counter = counter};
}

// The counter-th generation that a shard's host gave out under epoch 1.
inline Generation TargetNumber(std::uint64_t counter, std::uint64_t epoch = 1) {
  return {.era = epoch, .counter = counter};
}

inline absl::Time At(std::int64_t seconds) {
  return absl::FromUnixSeconds(1'000'000 + seconds);
}

// Every shard on one host, under one epoch.
inline ShardMap AllShardsOn(NodeRef host, Epoch epoch = Epoch(1)) {
  ShardMap map;
  for (std::uint32_t i = 0; i < kShardCount; ++i) {
    map.Apply({.at = {ShardId(i), epoch}, .host = host});
  }
  return map;
}

}  // namespace hoplite::testing

#endif  // HOPLITE_CORE_TESTING_VALUES_H_
