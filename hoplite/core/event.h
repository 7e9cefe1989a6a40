// What happened: everything a driver tells a node's machine.
//
// Events are in the past tense. Every command that starts something ends in
// exactly one event here, done or failed, a cancelled one too; the event may
// come late, never twice.
//
// Thread safety: values; as safe as int.
// Units: bytes.

#ifndef HOPLITE_CORE_EVENT_H_
#define HOPLITE_CORE_EVENT_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "hoplite/base/id_prefix.h"
#include "hoplite/base/payload.h"
#include "hoplite/base/reduction.h"
#include "hoplite/core/membership/cluster_view.h"
#include "hoplite/core/message.h"

namespace hoplite {

// What is pulled over the data plane: an object, or a position's output of
// the reduction whose target is `object`.
struct PullKey {
  static constexpr std::uint32_t kWholeObject = UINT32_MAX;

  ObjectId object;
  std::uint32_t position = kWholeObject;

  bool is_output() const { return position != kWholeObject; }
  friend constexpr auto operator<=>(const PullKey&, const PullKey&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const PullKey& key) {
    return H::combine(std::move(state), key.object, key.position);
  }
};

}  // namespace hoplite

namespace hoplite::event {

// --- From clients. Each request ends in one AnswerRequest. ------------------

// With a payload: the whole small object, put in one go. Without: the client
// is handed a buffer (HandBuffer), writes it, and says PutFilled.
struct PutRequested {
  RequestId request;
  ObjectId object;
  std::uint64_t size = 0;
  absl::Time deadline = absl::InfiniteFuture();
  Payload payload;
  bool streams = false;  // the writer lets reductions read before its Seal
};
struct PutFilled {  // the client has sealed its buffer
  RequestId request;
};
struct GetRequested {
  RequestId request;
  ObjectId object;
  absl::Time deadline = absl::InfiniteFuture();
};
struct DeleteRequested {
  RequestId request;
  ObjectId object;
  absl::Time deadline = absl::InfiniteFuture();
};
struct ReduceRequested {
  RequestId request;
  ObjectId target;
  std::vector<ObjectId> sources;
  std::uint32_t count = 0;
  ReduceOp op = ReduceOp::kSum;
  DataType type = DataType::kF32;
  absl::Time deadline = absl::InfiniteFuture();
};
// The client gave up: cancelled, or its process is gone. A Put that was not
// filled never was. Answered with kCancelled unless answered before.
struct RequestCancelled {
  RequestId request;
};

// --- From the control plane. ------------------------------------------------

struct MessageReceived {
  NodeRef from;
  Message message;
};
// The stream to a peer broke, or a head is silent: a suspicion, not a verdict.
struct PeerLost {
  NodeRef peer;
};
// A stream to a peer that was lost stands again. Whatever either sent on the
// old one may be lost; what is sent from now on goes on the new one.
struct PeerReturned {
  NodeRef peer;
};
// Nobody is at the peer's address any more, or another life is, or it has been
// silent for the limit. The head's verdict follows.
struct PeerDied {
  NodeRef peer;
};
// A process wants to be a member (only the head hears it); ends in Admit.
struct JoinRequested {
  std::uint64_t token = 0;
  std::string control_address;
  std::string data_address;
  std::string agent_address = {};
};
// A member has lost sight of the head and is back (only the head hears it);
// ends in Admit or RefuseReturn, unless this node's life ends before.
struct ReturnRequested {
  std::uint64_t token = 0;
  ClusterView view;
};
// The answer to SeekHead: the head, in its old life or a new one, goes on with
// this node.
struct HeadFound {
  std::vector<Member> members;  // all living ones, the head included
  ShardMap shard_map;
};
// The other answer: this incarnation is not a member any more.
struct Fenced {
  std::string reason;
};
// A link's one-way latency, from a hello's round trip.
struct LatencyMeasured {
  absl::Duration latency;
};
// What one transfer of 64 KiB or more reached.
struct BandwidthMeasured {
  double bytes_per_second = 0;
};

// --- From the store. --------------------------------------------------------

struct BufferCreated {
  BufferId buffer;
};
// No room, now or ever. `evictable` are the buffers that no client reads, in
// LRU order.
struct BufferRefused {
  BufferId buffer;
  std::uint64_t capacity = 0;  // of the store; below the size asked: for ever
  std::vector<BufferId> evictable;
};
// Memory has come back to the store.
struct RoomFreed {};

// --- From the data plane. ---------------------------------------------------

// A peer opened a stream and names what it wants. Ends in PullEnded.
struct PullRequested {
  PullId pull;
  NodeRef peer;
  PullKey key;
  Generation generation;
  std::uint64_t begin = 0;
  std::uint64_t frame_bytes = 0;
};
struct PullEnded {
  PullId pull;
};
struct TransferDone {
  TransferId transfer;
};
struct TransferFailed {
  TransferId transfer;
  std::uint64_t received = 0;  // verified bytes from 0
  bool refused = false;        // the server said no; else the stream broke
};
struct FoldDone {
  FoldId fold;
};
struct FoldFailed {
  FoldId fold;
  NodeRef lost;  // the input's member that failed it
};
// The answer to FoldPayloads.
struct PayloadsFolded {
  ObjectId target;
  Generation generation;
  Payload payload;
};

// --- From what runs above the node. -----------------------------------------

// Whoever made the ids that begin so is gone: the shards here delete every such
// object, and take no Put or Reduce of one, for as long as a tombstone stands.
// Ends in nothing.
struct PrefixEnded {
  IdPrefix prefix;
};

}  // namespace hoplite::event

namespace hoplite {

using Event = std::variant<
    event::PutRequested, event::PutFilled, event::GetRequested,
    event::DeleteRequested, event::ReduceRequested, event::RequestCancelled,
    event::MessageReceived, event::PeerLost, event::PeerReturned,
    event::PeerDied, event::JoinRequested, event::ReturnRequested,
    event::HeadFound, event::Fenced, event::LatencyMeasured,
    event::BandwidthMeasured, event::BufferCreated, event::BufferRefused,
    event::RoomFreed, event::PullRequested, event::PullEnded,
    event::TransferDone, event::TransferFailed, event::FoldDone,
    event::FoldFailed, event::PayloadsFolded, event::PrefixEnded>;

// A stable one-line form for traces.
std::string DebugString(const Event& event);

}  // namespace hoplite

#endif  // HOPLITE_CORE_EVENT_H_
