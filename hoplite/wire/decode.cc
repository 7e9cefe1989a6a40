#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hoplite/wire/codec.h"
#include "hoplite/wire/message_reader.h"

namespace hoplite::wire {
namespace {

// The kinds are tried in three groups, to keep each function on one page.
std::optional<hoplite::Message> ReadMembership(MessageReader& reader,
                                               Envelope& envelope) {
  switch (envelope.kind_case()) {
    case Envelope::kMemberJoined:
      return reader.Read(envelope.member_joined());
    case Envelope::kMemberLost:
      return reader.Read(envelope.member_lost());
    case Envelope::kLeave:
      return reader.Read(envelope.leave());
    case Envelope::kMapUpdate:
      return reader.Read(envelope.map_update());
    case Envelope::kCloseShards:
      return reader.Read(envelope.close_shards());
    case Envelope::kShardsClosed:
      return reader.Read(envelope.shards_closed());
    default:
      return std::nullopt;
  }
}

std::optional<hoplite::Message> ReadDirectory(MessageReader& reader,
                                              Envelope& envelope) {
  switch (envelope.kind_case()) {
    case Envelope::kStaleEpoch:
      return reader.Read(envelope.stale_epoch());
    case Envelope::kAsk:
      return reader.Read(envelope.ask());
    case Envelope::kGrant:
      return reader.Read(envelope.grant());
    case Envelope::kGrantInline:
      return reader.Read(*envelope.mutable_grant_inline());
    case Envelope::kRefusal:
      return reader.Read(*envelope.mutable_refusal());
    case Envelope::kWithdraw:
      return reader.Read(envelope.withdraw());
    case Envelope::kCopyComplete:
      return reader.Read(envelope.copy_complete());
    case Envelope::kPutBegun:
      return reader.Read(*envelope.mutable_put_begun());
    case Envelope::kPutAnswer:
      return reader.Read(envelope.put_answer());
    case Envelope::kPutSealed:
      return reader.Read(envelope.put_sealed());
    case Envelope::kPutAborted:
      return reader.Read(envelope.put_aborted());
    case Envelope::kDeleteAsk:
      return reader.Read(envelope.delete_ask());
    case Envelope::kDeleteAnswer:
      return reader.Read(envelope.delete_answer());
    case Envelope::kDrop:
      return reader.Read(*envelope.mutable_drop());
    case Envelope::kDropped:
      return reader.Read(envelope.dropped());
    case Envelope::kEvictAsk:
      return reader.Read(envelope.evict_ask());
    case Envelope::kEvictAnswer:
      return reader.Read(envelope.evict_answer());
    case Envelope::kHoldings:
      return reader.Read(envelope.holdings());
    case Envelope::kHoldingsAsk:
      return reader.Read(envelope.holdings_ask());
    case Envelope::kFinal:
      return reader.Read(envelope.final());
    default:
      return std::nullopt;
  }
}

std::optional<hoplite::Message> ReadReduce(MessageReader& reader,
                                           Envelope& envelope) {
  switch (envelope.kind_case()) {
    case Envelope::kReduceAsk:
      return reader.Read(envelope.reduce_ask());
    case Envelope::kReduceAnswer:
      return reader.Read(*envelope.mutable_reduce_answer());
    case Envelope::kWatchSources:
      return reader.Read(envelope.watch_sources());
    case Envelope::kUnwatchSources:
      return reader.Read(envelope.unwatch_sources());
    case Envelope::kSourceNews:
      return reader.Read(*envelope.mutable_source_news());
    case Envelope::kAssignment:
      return reader.Read(envelope.assignment());
    case Envelope::kAssignmentFailed:
      return reader.Read(envelope.assignment_failed());
    case Envelope::kRelease:
      return reader.Read(envelope.release());
    default:
      return std::nullopt;
  }
}

template <typename To, typename From>
absl::StatusOr<To> DecodeValue(const From& from) {
  MessageReader reader;
  To to = reader.Read(from);
  if (!reader.status().ok()) return reader.status();
  return to;
}

}  // namespace

absl::StatusOr<hoplite::Message> Decode(Envelope envelope) {
  MessageReader reader;
  std::optional<hoplite::Message> message = ReadDirectory(reader, envelope);
  if (!message.has_value()) message = ReadReduce(reader, envelope);
  if (!message.has_value()) message = ReadMembership(reader, envelope);
  if (!message.has_value()) reader.Fail("Envelope.kind is missing or unknown");
  if (!reader.status().ok()) return reader.status();
  return *std::move(message);
}

hoplite::NodeRef DecodeNodeRef(const NodeRef& ref) {
  if (ref.node() == 0) return {};  // nobody, of whatever life
  return {.node = NodeId(ref.node()),
          .incarnation = Incarnation(ref.incarnation())};
}

absl::StatusOr<hoplite::Member> DecodeMember(const Member& member) {
  return DecodeValue<hoplite::Member>(member);
}

absl::StatusOr<hoplite::ShardAssignment> DecodeAssignment(
    const ShardAssignment& assignment) {
  return DecodeValue<hoplite::ShardAssignment>(assignment);
}

}  // namespace hoplite::wire
