// The identifiers of the protocol: strong types that do not mix.
//
// Every one is ordered and hashable. Default construction gives "none", which
// no live thing has.
//
// Thread safety: values; as safe as int.

#ifndef HOPLITE_BASE_ID_H_
#define HOPLITE_BASE_ID_H_

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace hoplite {

// An integer of its own kind; Tag tells the kinds apart.
template <typename Tag, typename Rep = std::uint64_t>
class StrongInt {
 public:
  constexpr StrongInt() = default;
  constexpr explicit StrongInt(Rep value) : value_(value) {}

  constexpr Rep value() const { return value_; }
  constexpr explicit operator bool() const { return value_ != 0; }
  // The identifier after this one, for whoever counts them out.
  constexpr StrongInt Next() const { return StrongInt(value_ + 1); }

  friend constexpr auto operator<=>(StrongInt, StrongInt) = default;
  template <typename H>
  friend H AbslHashValue(H state, StrongInt id) {
    return H::combine(std::move(state), id.value_);
  }

 private:
  Rep value_ = 0;
};

// A node of the cluster, given out by the head; the head itself is 1.
using NodeId = StrongInt<struct NodeIdTag, std::uint32_t>;
// One life of a node's process, growing over the whole cluster.
using Incarnation = StrongInt<struct IncarnationTag>;
// One assignment of a directory shard to its host.
using Epoch = StrongInt<struct EpochTag>;
// One ask of a receiver for an object; the latest one counts.
using AskNumber = StrongInt<struct AskNumberTag>;
// One call of a client, unique in its node.
using RequestId = StrongInt<struct RequestIdTag>;
// One pull of bytes into this node, unique in its node.
using TransferId = StrongInt<struct TransferIdTag>;
// One pull that a peer makes from this node, unique in this node.
using PullId = StrongInt<struct PullIdTag>;
// One standing fold order, unique in its node.
using FoldId = StrongInt<struct FoldIdTag>;
// One buffer of the store, unique in its node.
using BufferId = StrongInt<struct BufferIdTag>;
// One cluster: nodes of different clusters refuse each other.
using ClusterId = StrongInt<struct ClusterIdTag>;

// One of the directory's kShardCount shards.
using ShardId = StrongInt<struct ShardIdTag, std::uint32_t>;
inline constexpr std::uint32_t kShardCount = 256;

// A head has a number above that of every head before it in its cluster, and
// each node id, incarnation and epoch that it gives out begins with it: those
// of a later head are above all earlier ones. The first head's number is 0.
inline constexpr int kHeadNumberShift = 32;
// Node ids are shorter, and begin with less of it.
inline constexpr int kHeadNumberShiftOfNodes = 16;
constexpr std::uint64_t HeadNumberOf(Incarnation incarnation) {
  return incarnation.value() >> kHeadNumberShift;
}
constexpr std::uint64_t HeadNumberOf(Epoch epoch) {
  return epoch.value() >> kHeadNumberShift;
}
constexpr std::uint64_t HeadNumberOf(NodeId node) {
  return node.value() >> kHeadNumberShiftOfNodes;
}
// What fits into a node's id. Clusters never get there.
inline constexpr std::uint64_t kHeadNumberMax = 0xffff;

// A node in one of its lives.
struct NodeRef {
  NodeId node;
  Incarnation incarnation;

  explicit operator bool() const { return static_cast<bool>(node); }
  friend constexpr auto operator<=>(const NodeRef&, const NodeRef&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const NodeRef& ref) {
    return H::combine(std::move(state), ref.node, ref.incarnation);
  }
};

// One version of the bytes under an id.
//
// A Put's is (node, incarnation, counter), compared for equality only. A
// reduction's target and each position's output have (no node, shard epoch,
// counter): those are ordered.
struct Generation {
  NodeId node;
  std::uint64_t era = 0;  // the node's incarnation, or the shard's epoch
  std::uint64_t counter = 0;

  explicit operator bool() const { return counter != 0; }
  bool is_target() const { return counter != 0 && !node; }
  friend constexpr auto operator<=>(const Generation&,
                                    const Generation&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const Generation& generation) {
    return H::combine(std::move(state), generation.node, generation.era,
                      generation.counter);
  }
};

// The name of an object: 28 bytes, the size of Ray's.
class ObjectId {
 public:
  static constexpr std::size_t kSize = 28;
  using Bytes = std::array<std::uint8_t, kSize>;

  constexpr ObjectId() = default;
  constexpr explicit ObjectId(const Bytes& bytes) : bytes_(bytes) {}

  // From exactly 56 hexadecimal digits; nullopt for anything else.
  static std::optional<ObjectId> FromHex(absl::string_view hex);
  // From exactly 28 bytes; nullopt for any other length.
  static std::optional<ObjectId> FromBinary(absl::string_view bytes);

  const Bytes& bytes() const { return bytes_; }
  absl::string_view binary() const {
    return {reinterpret_cast<const char*>(bytes_.data()), kSize};
  }
  std::string ToHex() const;
  // The shard that holds this object's record; it never changes.
  ShardId shard() const;

  friend constexpr auto operator<=>(const ObjectId&, const ObjectId&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const ObjectId& id) {
    return H::combine(std::move(state), id.bytes_);
  }

 private:
  Bytes bytes_{};
};

// "node 3" and "3/1.7", as they appear in messages to people.
std::string ToString(NodeId node);
std::string ToString(const Generation& generation);

}  // namespace hoplite

#endif  // HOPLITE_BASE_ID_H_
