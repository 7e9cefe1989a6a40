// Turns messages of the core into their protobuf form and back.
//
// Both ways are total and checked: an id of 27 bytes, an operation that does
// not exist, a shard above the last, a list or a payload above its limit is
// an error that names the field, never a message that means something else.
//
// Not responsible for: streams (hoplite/net); what messages mean.
// Thread safety: thread-safe.
// Units: bytes.

#ifndef HOPLITE_WIRE_CODEC_H_
#define HOPLITE_WIRE_CODEC_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hoplite/core/directory/shard_map.h"
#include "hoplite/core/membership/cluster_view.h"
#include "hoplite/core/message.h"
#include "hoplite/wire/hoplite.pb.h"

namespace hoplite::wire {

// Nodes of different versions do not talk to each other.
inline constexpr std::uint32_t kProtocolVersion = 2;
// What one write carries at most. A peer that sends more is cut off before
// any of it is kept.
inline constexpr std::size_t kMaxBatchBytes = 1 << 20;
// Room in a batch for its hello, ping and pong.
inline constexpr std::size_t kBatchHeaderBytes = 256;
// Entries of any list in a message, but for sources and shards, which have
// limits of their own.
inline constexpr int kListLengthMax = 16384;
// A longer reason is cut off here: better a shorter error than none.
inline constexpr std::size_t kReasonBytesMax = 1024;
// A host name has at most 253 characters.
inline constexpr std::size_t kAddressBytesMax = 300;

// Errors: kInvalidArgument, naming the field; kResourceExhausted where the
// message fits in no batch.
absl::StatusOr<Envelope> Encode(const hoplite::Message& message);

// The message takes `envelope`'s payloads where it has some. A life of no node
// is nobody's, and a generation without a counter is none.
// Errors: kInvalidArgument, naming the field.
absl::StatusOr<hoplite::Message> Decode(Envelope envelope);

// The parts that joins and hellos are made of.
// Errors: kInvalidArgument, naming the field.
NodeRef EncodeNodeRef(hoplite::NodeRef ref);
hoplite::NodeRef DecodeNodeRef(const NodeRef& ref);
absl::StatusOr<Member> EncodeMember(const hoplite::Member& member);
absl::StatusOr<hoplite::Member> DecodeMember(const Member& member);
absl::StatusOr<ClusterView> EncodeView(const hoplite::ClusterView& view);
absl::StatusOr<hoplite::ClusterView> DecodeView(const ClusterView& view);
absl::StatusOr<ShardAssignment> EncodeAssignment(
    const hoplite::ShardAssignment& assignment);
absl::StatusOr<hoplite::ShardAssignment> DecodeAssignment(
    const ShardAssignment& assignment);

// The bytes that `envelope` takes of a batch.
std::size_t BytesInBatch(const Envelope& envelope);

}  // namespace hoplite::wire

#endif  // HOPLITE_WIRE_CODEC_H_
