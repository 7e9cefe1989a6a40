// What nodes tell each other: the messages of the protocol.
//
// A message is a noun and carries everything that makes it safe to repeat:
// shard and epoch, generation, ask number. Messages of one sender to one
// receiver arrive in order. The sender (node and incarnation) is known from
// the stream that brought it.
//
// Not responsible for: bytes of objects, but for a small object's payload,
// which is passed on unread; encoding (hoplite/wire).
// Thread safety: values; as safe as int.
// Units: bytes.

#ifndef HOPLITE_CORE_MESSAGE_H_
#define HOPLITE_CORE_MESSAGE_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "hoplite/base/id.h"
#include "hoplite/base/payload.h"
#include "hoplite/base/reduction.h"
#include "hoplite/core/directory/shard_map.h"

namespace hoplite::message {

// --- Membership: between the head and every node. -------------------------

struct MemberJoined {
  Member member;
  friend bool operator==(const MemberJoined&, const MemberJoined&) = default;
};
// The head's verdict; whatever the incarnation still says is refused.
struct MemberLost {
  NodeRef member;
  friend bool operator==(const MemberLost&, const MemberLost&) = default;
};
// A node says goodbye to the head.
struct Leave {
  friend bool operator==(const Leave&, const Leave&) = default;
};
// New hosts of shards; an entry counts where its epoch is newer.
struct MapUpdate {
  std::vector<ShardAssignment> assignments;
  friend bool operator==(const MapUpdate&, const MapUpdate&) = default;
};
// The head asks a host to give up shards; it closes those that are empty.
struct CloseShards {
  std::vector<ShardRef> shards;
  friend bool operator==(const CloseShards&, const CloseShards&) = default;
};
struct ShardsClosed {
  std::vector<ShardRef> shards;
  friend bool operator==(const ShardsClosed&, const ShardsClosed&) = default;
};

// --- The directory: between a node and a shard's host. ---------------------

// "You name an old epoch": the shard's newer assignment.
struct StaleEpoch {
  ShardAssignment newer;
  friend bool operator==(const StaleEpoch&, const StaleEpoch&) = default;
};
// A receiver asks whom to fetch an object from.
struct Ask {
  ShardRef at;
  ObjectId object;
  AskNumber ask;
  Generation held;          // of the bytes [0, begin) that it has; or none
  std::uint64_t begin = 0;  // the first byte that it lacks
  NodeRef lost;             // the server that failed it, or none
  friend bool operator==(const Ask&, const Ask&) = default;
};
struct Grant {
  ShardRef at;
  ObjectId object;
  AskNumber ask;
  Generation generation;
  std::uint64_t size = 0;
  std::uint64_t frame_bytes = 0;
  NodeRef server;
  bool final = false;  // false: a Get of it returns at Final only
  friend bool operator==(const Grant&, const Grant&) = default;
};
// The answer that is the object itself. Always final.
struct GrantInline {
  ShardRef at;
  ObjectId object;
  AskNumber ask;
  Generation generation;
  Payload payload;
  friend bool operator==(const GrantInline&, const GrantInline&);
};
// The ask ends with an error: kNotFound, kDataLoss, or the reduction's.
struct Refusal {
  ShardRef at;
  ObjectId object;
  AskNumber ask;
  absl::StatusCode code = absl::StatusCode::kUnknown;
  std::string reason;
  friend bool operator==(const Refusal&, const Refusal&) = default;
};
// The receiver no longer wants the object, or hands its grant back.
struct Withdraw {
  ShardRef at;
  ObjectId object;
  AskNumber ask;
  friend bool operator==(const Withdraw&, const Withdraw&) = default;
};
// All bytes of this generation are here.
struct CopyComplete {
  ShardRef at;
  ObjectId object;
  Generation generation;
  friend bool operator==(const CopyComplete&, const CopyComplete&) = default;
};
// A Put registers; `sealed` where all bytes are written already.
struct PutBegun {
  ShardRef at;
  ObjectId object;
  Generation generation;
  std::uint64_t size = 0;
  bool sealed = false;
  bool streams = false;  // filled in place, and may be reduced meanwhile
  Payload payload;       // of a small sealed object, else null
  friend bool operator==(const PutBegun&, const PutBegun&);
};
struct PutAnswer {
  ShardRef at;
  ObjectId object;
  Generation generation;
  absl::StatusCode code = absl::StatusCode::kOk;  // or kAlreadyExists, …
  friend bool operator==(const PutAnswer&, const PutAnswer&) = default;
};
struct PutSealed {
  ShardRef at;
  ObjectId object;
  Generation generation;
  friend bool operator==(const PutSealed&, const PutSealed&) = default;
};
// The writer ended before its Seal: the object never was.
struct PutAborted {
  ShardRef at;
  ObjectId object;
  Generation generation;
  friend bool operator==(const PutAborted&, const PutAborted&) = default;
};
struct DeleteAsk {
  ShardRef at;
  ObjectId object;
  RequestId request;
  friend bool operator==(const DeleteAsk&, const DeleteAsk&) = default;
};
struct DeleteAnswer {
  ObjectId object;
  RequestId request;
  absl::StatusCode code = absl::StatusCode::kOk;
  friend bool operator==(const DeleteAnswer&, const DeleteAnswer&) = default;
};
// The shard tells a holder to drop the object: its generation was deleted
// (kNotFound), never was (kAborted: Gets wait on), or ended in an error.
struct Drop {
  ShardRef at;
  ObjectId object;
  Generation generation;
  absl::StatusCode code = absl::StatusCode::kNotFound;
  std::string reason;
  friend bool operator==(const Drop&, const Drop&) = default;
};
struct Dropped {
  ShardRef at;
  ObjectId object;
  Generation generation;
  friend bool operator==(const Dropped&, const Dropped&) = default;
};
struct EvictEntry {
  ShardRef at;
  ObjectId object;
  Generation generation;
  friend bool operator==(const EvictEntry&, const EvictEntry&) = default;
};
// May these copies go? Answered with those that may; they are struck already.
struct EvictAsk {
  std::vector<EvictEntry> entries;
  friend bool operator==(const EvictAsk&, const EvictAsk&) = default;
};
struct EvictAnswer {
  std::vector<EvictEntry> allowed;
  std::vector<EvictEntry> denied;
  friend bool operator==(const EvictAnswer&, const EvictAnswer&) = default;
};
// What a node has or does of an object of a shard.
struct Holding {
  enum class State : std::uint8_t {
    kPutting,    // registers a Put, and is not answered
    kAsking,     // waits for a grant; may hold bytes from an earlier one
    kFetching,   // was granted a server, or is taking room for its bytes
    kProducing,  // new bytes arise here: an accepted Put, or a target's root
    kComplete,
  };
  ObjectId object;
  State state = State::kAsking;
  Generation generation;  // none: only asks
  std::uint64_t size = 0;
  std::uint64_t frame_bytes = 0;
  AskNumber ask;  // the node's latest
  NodeRef server;
  bool final = false;
  bool streams = false;
  friend bool operator==(const Holding&, const Holding&) = default;
};
// All that a node has of a shard, for a host that has lost its records or
// some of the node's messages. In several pieces; the last one makes it count.
struct Holdings {
  ShardRef at;
  bool first = false;
  bool last = false;
  std::vector<Holding> entries;
  friend bool operator==(const Holdings&, const Holdings&) = default;
};
// A shard's host waits for a member's Holdings.
struct HoldingsAsk {
  std::vector<ShardAssignment> shards;
  friend bool operator==(const HoldingsAsk&, const HoldingsAsk&) = default;
};
// The target can never change again: its Gets may return.
struct Final {
  ShardRef at;
  ObjectId object;
  Generation generation;
  friend bool operator==(const Final&, const Final&) = default;
};

// --- Reduce. ----------------------------------------------------------------

struct ReduceAsk {
  ShardRef at;  // the target's shard
  ObjectId target;
  RequestId request;
  std::vector<ObjectId> sources;
  std::uint32_t count = 0;
  ReduceOp op = ReduceOp::kSum;
  DataType type = DataType::kF32;
  friend bool operator==(const ReduceAsk&, const ReduceAsk&) = default;
};
struct ReduceAnswer {
  ObjectId target;
  RequestId request;
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string reason;
  std::vector<ObjectId> sources;  // that went in, in order of their ids
  friend bool operator==(const ReduceAnswer&, const ReduceAnswer&) = default;
};
struct WatchEntry {
  ShardRef at;
  ObjectId object;
  // Nodes that cannot serve as its holder. Where there are any, the answer is
  // kUnready if no other has it.
  std::vector<NodeRef> avoid;
  friend bool operator==(const WatchEntry&, const WatchEntry&) = default;
};
// A reduction wants to hear of its sources: once for each change of state.
struct WatchSources {
  ObjectId target;
  std::vector<WatchEntry> entries;
  friend bool operator==(const WatchSources&, const WatchSources&) = default;
};
struct UnwatchSources {
  ObjectId target;
  std::vector<WatchEntry> entries;
  friend bool operator==(const UnwatchSources&,
                         const UnwatchSources&) = default;
};
enum class SourceState : std::uint8_t {
  kReady,    // may take a position; not final yet where it is itself a target
  kFinal,    // ready, and can never change
  kUnready,  // it never was, or is lost, and may come yet
  kGone,     // deleted, or its reduction failed
};
struct SourceEntry {
  ObjectId object;
  SourceState state = SourceState::kReady;
  Generation generation;
  std::uint64_t size = 0;
  NodeRef holder;   // complete, or the producer
  Payload payload;  // of a small object, else null
  friend bool operator==(const SourceEntry&, const SourceEntry&);
};
struct SourceNews {
  ObjectId target;
  std::vector<SourceEntry> entries;
  friend bool operator==(const SourceNews&, const SourceNews&) = default;
};
// Where a member finds one of its position's inputs.
struct ReduceInput {
  std::uint32_t position = 0;
  Generation generation;  // of that position's output
  NodeRef member;
  friend bool operator==(const ReduceInput&, const ReduceInput&) = default;
};
// The shard gives a position of the tree to a node.
struct Assignment {
  ShardRef at;
  ObjectId target;
  std::uint32_t position = 0;
  Generation output;  // of this position's output; the root's is the target's
  ObjectId source;
  Generation source_generation;
  std::vector<ReduceInput> inputs;  // none: a leaf, its output is its source
  ReduceOp op = ReduceOp::kSum;
  DataType type = DataType::kF32;
  std::uint64_t size = 0;
  std::uint64_t frame_bytes = 0;
  std::uint64_t divisor = 1;  // for kAverage at the root
  bool root = false;
  friend bool operator==(const Assignment&, const Assignment&) = default;
};
// The member cannot fill its position, or has lost an input of it.
struct AssignmentFailed {
  ShardRef at;
  ObjectId target;
  std::uint32_t position = 0;
  Generation output;
  absl::StatusCode code = absl::StatusCode::kUnknown;
  NodeRef lost;  // the input's member that failed it, or none
  friend bool operator==(const AssignmentFailed&,
                         const AssignmentFailed&) = default;
};
// The reduction has ended: members let their outputs go. With an output: only
// this one, whose position another member fills.
struct Release {
  ObjectId target;
  std::uint32_t position = 0;
  Generation output;  // or none
  friend bool operator==(const Release&, const Release&) = default;
};

}  // namespace hoplite::message

namespace hoplite {

using Message = std::variant<
    message::MemberJoined, message::MemberLost, message::Leave,
    message::MapUpdate, message::CloseShards, message::ShardsClosed,
    message::StaleEpoch, message::Ask, message::Grant, message::GrantInline,
    message::Refusal, message::Withdraw, message::CopyComplete,
    message::PutBegun, message::PutAnswer, message::PutSealed,
    message::PutAborted, message::DeleteAsk, message::DeleteAnswer,
    message::Drop, message::Dropped, message::EvictAsk, message::EvictAnswer,
    message::Holdings, message::HoldingsAsk, message::Final, message::ReduceAsk,
    message::ReduceAnswer, message::WatchSources, message::UnwatchSources,
    message::SourceNews, message::Assignment, message::AssignmentFailed,
    message::Release>;

// A stable one-line form for traces: name and identifying fields.
std::string DebugString(const Message& message);

}  // namespace hoplite

#endif  // HOPLITE_CORE_MESSAGE_H_
