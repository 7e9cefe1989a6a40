#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "hoplite/base/payload.h"
#include "hoplite/core/config.h"
#include "hoplite/wire/codec.h"

namespace hoplite::wire {
namespace {

hoplite::Generation ReadGeneration(const Generation& from) {
  return {.node = NodeId(from.node()),
          .era = from.era(),
          .counter = from.counter()};
}

// Reads one envelope; the first field that is not valid is its status, and
// what is read after that counts for nothing.
class Decoder {
 public:
  const absl::Status& status() const { return status_; }
  void Fail(std::string reason) {
    if (status_.ok()) status_ = absl::InvalidArgumentError(std::move(reason));
  }

  // --- Membership. ---
  message::MemberJoined Read(const MemberJoined& from) {
    return {.member = Read(from.member())};
  }
  message::MemberLost Read(const MemberLost& from) {
    return {.member = DecodeNodeRef(from.member())};
  }
  message::Leave Read(const Leave&) { return {}; }
  message::MapUpdate Read(const MapUpdate& from) {
    return {.assignments = ReadList<hoplite::ShardAssignment>(
                from.assignments(), kShardCount, "MapUpdate.assignments")};
  }
  message::CloseShards Read(const CloseShards& from) {
    return {.shards = ReadList<hoplite::ShardRef>(from.shards(), kShardCount,
                                                  "CloseShards.shards")};
  }
  message::ShardsClosed Read(const ShardsClosed& from) {
    return {.shards = ReadList<hoplite::ShardRef>(from.shards(), kShardCount,
                                                  "ShardsClosed.shards")};
  }

  // --- The directory. ---
  message::StaleEpoch Read(const StaleEpoch& from) {
    return {.newer = Read(from.newer())};
  }
  message::Ask Read(const Ask& from) {
    auto to = ReadAsk<message::Ask>(from, "Ask.object");
    to.held = ReadGeneration(from.held());
    to.begin = from.begin();
    to.lost = DecodeNodeRef(from.lost());
    return to;
  }
  message::Grant Read(const Grant& from) {
    auto to = ReadAsk<message::Grant>(from, "Grant.object");
    to.generation = ReadGeneration(from.generation());
    to.size = from.size();
    to.frame_bytes = from.frame_bytes();
    to.server = DecodeNodeRef(from.server());
    to.final = from.final();
    return to;
  }
  message::GrantInline Read(GrantInline& from) {
    auto to = ReadAsk<message::GrantInline>(from, "GrantInline.object");
    to.generation = ReadGeneration(from.generation());
    to.payload = TakePayload(from, "GrantInline.payload");
    return to;
  }
  message::Refusal Read(Refusal& from) {
    auto to = ReadAsk<message::Refusal>(from, "Refusal.object");
    to.code = Code(from.code(), "Refusal.code");
    to.reason = Reason(*from.mutable_reason(), "Refusal.reason");
    return to;
  }
  message::Withdraw Read(const Withdraw& from) {
    return ReadAsk<message::Withdraw>(from, "Withdraw.object");
  }
  message::CopyComplete Read(const CopyComplete& from) {
    return ReadCopy<message::CopyComplete>(from, "CopyComplete.object");
  }
  message::PutBegun Read(PutBegun& from) {
    auto to = ReadCopy<message::PutBegun>(from, "PutBegun.object");
    to.size = from.size();
    to.sealed = from.sealed();
    to.streams = from.streams();
    to.payload = TakePayload(from, "PutBegun.payload");
    return to;
  }
  message::PutAnswer Read(const PutAnswer& from) {
    auto to = ReadCopy<message::PutAnswer>(from, "PutAnswer.object");
    to.code = Code(from.code(), "PutAnswer.code");
    return to;
  }
  message::PutSealed Read(const PutSealed& from) {
    return ReadCopy<message::PutSealed>(from, "PutSealed.object");
  }
  message::PutAborted Read(const PutAborted& from) {
    return ReadCopy<message::PutAborted>(from, "PutAborted.object");
  }
  message::DeleteAsk Read(const DeleteAsk& from) {
    return {.at = Read(from.at()),
            .object = Id(from.object(), "DeleteAsk.object"),
            .request = RequestId(from.request())};
  }
  message::DeleteAnswer Read(const DeleteAnswer& from) {
    return {.object = Id(from.object(), "DeleteAnswer.object"),
            .request = RequestId(from.request()),
            .code = Code(from.code(), "DeleteAnswer.code")};
  }
  message::Drop Read(Drop& from) {
    auto to = ReadCopy<message::Drop>(from, "Drop.object");
    to.code = Code(from.code(), "Drop.code");
    to.reason = Reason(*from.mutable_reason(), "Drop.reason");
    return to;
  }
  message::Dropped Read(const Dropped& from) {
    return ReadCopy<message::Dropped>(from, "Dropped.object");
  }
  message::EvictAsk Read(const EvictAsk& from) {
    return {.entries = ReadList<message::EvictEntry>(
                from.entries(), kListLengthMax, "EvictAsk.entries")};
  }
  message::EvictAnswer Read(const EvictAnswer& from) {
    return {.allowed = ReadList<message::EvictEntry>(
                from.allowed(), kListLengthMax, "EvictAnswer.allowed"),
            .denied = ReadList<message::EvictEntry>(
                from.denied(), kListLengthMax, "EvictAnswer.denied")};
  }
  message::Final Read(const Final& from) {
    return ReadCopy<message::Final>(from, "Final.object");
  }

  // --- Reduce. ---
  message::ReduceAsk Read(const ReduceAsk& from) {
    return {.at = Read(from.at()),
            .target = Id(from.target(), "ReduceAsk.target"),
            .request = RequestId(from.request()),
            .sources = Ids(from.sources(), "ReduceAsk.sources"),
            .count = from.count(),
            .op = Op(from.op(), "ReduceAsk.op"),
            .type = Type(from.type(), "ReduceAsk.type")};
  }
  message::ReduceAnswer Read(ReduceAnswer& from) {
    return {.target = Id(from.target(), "ReduceAnswer.target"),
            .request = RequestId(from.request()),
            .code = Code(from.code(), "ReduceAnswer.code"),
            .reason = Reason(*from.mutable_reason(), "ReduceAnswer.reason"),
            .sources = Ids(from.sources(), "ReduceAnswer.sources")};
  }
  message::WatchSources Read(const WatchSources& from) {
    return {.target = Id(from.target(), "WatchSources.target"),
            .entries = ReadList<message::WatchEntry>(
                from.entries(), kListLengthMax, "WatchSources.entries")};
  }
  message::UnwatchSources Read(const UnwatchSources& from) {
    return {.target = Id(from.target(), "UnwatchSources.target"),
            .entries = ReadList<message::WatchEntry>(
                from.entries(), kListLengthMax, "UnwatchSources.entries")};
  }
  message::SourceNews Read(SourceNews& from) {
    return {.target = Id(from.target(), "SourceNews.target"),
            .entries = ReadList<message::SourceEntry>(
                *from.mutable_entries(), kListLengthMax, "SourceNews.entries")};
  }
  message::Assignment Read(const Assignment& from) {
    auto to = ReadPosition<message::Assignment>(from, "Assignment.target");
    to.source = Id(from.source(), "Assignment.source");
    to.source_generation = ReadGeneration(from.source_generation());
    to.inputs = ReadList<message::ReduceInput>(from.inputs(), kListLengthMax,
                                               "Assignment.inputs");
    to.op = Op(from.op(), "Assignment.op");
    to.type = Type(from.type(), "Assignment.type");
    to.size = from.size();
    to.frame_bytes = from.frame_bytes();
    to.divisor = from.divisor();
    to.root = from.root();
    return to;
  }
  message::AssignmentFailed Read(const AssignmentFailed& from) {
    auto to = ReadPosition<message::AssignmentFailed>(
        from, "AssignmentFailed.target");
    to.code = Code(from.code(), "AssignmentFailed.code");
    to.lost = DecodeNodeRef(from.lost());
    return to;
  }
  message::Release Read(const Release& from) {
    return {.target = Id(from.target(), "Release.target")};
  }

  // --- Values. ---
  hoplite::Member Read(const Member& from) {
    return {.ref = DecodeNodeRef(from.ref()),
            .control_address = Address(from.control_address()),
            .data_address = Address(from.data_address())};
  }
  hoplite::ShardRef Read(const ShardRef& from) {
    if (from.shard() >= kShardCount) {
      Fail(absl::StrFormat("ShardRef.shard is %d, not below %d", from.shard(),
                           kShardCount));
    }
    return {.shard = ShardId(from.shard()), .epoch = Epoch(from.epoch())};
  }
  hoplite::ShardAssignment Read(const ShardAssignment& from) {
    return {.at = Read(from.at()), .host = DecodeNodeRef(from.host())};
  }

 private:
  // --- Entries of lists. ---
  message::EvictEntry Read(const EvictEntry& from) {
    return ReadCopy<message::EvictEntry>(from, "EvictEntry.object");
  }
  message::WatchEntry Read(const WatchEntry& from) {
    return {.at = Read(from.at()),
            .object = Id(from.object(), "WatchEntry.object")};
  }
  message::SourceEntry Read(SourceEntry& from) {
    const auto gone = static_cast<std::uint32_t>(message::SourceState::kGone);
    if (from.state() > gone) {
      Fail(absl::StrFormat("SourceEntry.state is %d, above %d", from.state(),
                           gone));
    }
    return {.object = Id(from.object(), "SourceEntry.object"),
            .state = static_cast<message::SourceState>(from.state()),
            .generation = ReadGeneration(from.generation()),
            .size = from.size(),
            .holder = DecodeNodeRef(from.holder()),
            .payload = TakePayload(from, "SourceEntry.payload")};
  }
  message::ReduceInput Read(const ReduceInput& from) {
    return {.position = from.position(),
            .generation = ReadGeneration(from.generation()),
            .member = DecodeNodeRef(from.member())};
  }

  // --- Groups of fields that several messages begin with. ---
  template <typename To, typename From>
  To ReadAsk(const From& from, absl::string_view field) {
    To to;
    to.at = Read(from.at());
    to.object = Id(from.object(), field);
    to.ask = AskNumber(from.ask());
    return to;
  }
  template <typename To, typename From>
  To ReadCopy(const From& from, absl::string_view field) {
    To to;
    to.at = Read(from.at());
    to.object = Id(from.object(), field);
    to.generation = ReadGeneration(from.generation());
    return to;
  }
  template <typename To, typename From>
  To ReadPosition(const From& from, absl::string_view field) {
    To to;
    to.at = Read(from.at());
    to.target = Id(from.target(), field);
    to.position = from.position();
    to.output = ReadGeneration(from.output());
    return to;
  }
  template <typename To, typename List>
  std::vector<To> ReadList(List& from, std::size_t limit,
                           absl::string_view field) {
    std::vector<To> to;
    if (!LengthIsValid(from.size(), limit, field)) return to;
    to.reserve(from.size());
    for (auto& entry : from) to.push_back(Read(entry));
    return to;
  }

  // --- Single fields. ---
  template <typename List>
  std::vector<ObjectId> Ids(const List& from, absl::string_view field) {
    std::vector<ObjectId> to;
    if (!LengthIsValid(from.size(), kReduceSourcesMax, field)) return to;
    to.reserve(from.size());
    for (const std::string& id : from) to.push_back(Id(id, field));
    return to;
  }
  ObjectId Id(const std::string& bytes, absl::string_view field) {
    const std::optional<ObjectId> id = ObjectId::FromBinary(bytes);
    if (id.has_value()) return *id;
    Fail(absl::StrFormat("%s has %d bytes, not %d", field, bytes.size(),
                         ObjectId::kSize));
    return ObjectId();
  }
  template <typename From>
  Payload TakePayload(From& from, absl::string_view field) {
    if (!from.has_payload()) return nullptr;
    if (!LengthIsValid(from.payload().size(), kInlineBytesMax, field)) {
      return nullptr;
    }
    return MakePayload(std::move(*from.mutable_payload()));
  }
  absl::StatusCode Code(std::uint32_t code, absl::string_view field) {
    const auto last =
        static_cast<std::uint32_t>(absl::StatusCode::kUnauthenticated);
    if (code <= last) return static_cast<absl::StatusCode>(code);
    Fail(absl::StrFormat("%s is %d, above %d", field, code, last));
    return absl::StatusCode::kUnknown;
  }
  ReduceOp Op(std::uint32_t op, absl::string_view field) {
    if (op < kReduceOpCount) return static_cast<ReduceOp>(op);
    Fail(absl::StrFormat("%s is %d, not below %d", field, op, kReduceOpCount));
    return ReduceOp::kSum;
  }
  DataType Type(std::uint32_t type, absl::string_view field) {
    if (type < kDataTypeCount) return static_cast<DataType>(type);
    Fail(
        absl::StrFormat("%s is %d, not below %d", field, type, kDataTypeCount));
    return DataType::kF32;
  }
  std::string Reason(std::string& reason, absl::string_view field) {
    if (!LengthIsValid(reason.size(), kReasonBytesMax, field)) return "";
    return std::move(reason);
  }
  std::string Address(const std::string& address) {
    return LengthIsValid(address.size(), kAddressBytesMax, "Member.address")
               ? address
               : "";
  }
  bool LengthIsValid(std::size_t length, std::size_t limit,
                     absl::string_view field) {
    if (length <= limit) return true;
    Fail(absl::StrFormat("%s has length %d, above its limit %d", field, length,
                         limit));
    return false;
  }

  absl::Status status_;
};

// The kinds are tried in three groups, to keep each function on one page.
std::optional<hoplite::Message> ReadMembership(Decoder& decoder,
                                               Envelope& envelope) {
  switch (envelope.kind_case()) {
    case Envelope::kMemberJoined:
      return decoder.Read(envelope.member_joined());
    case Envelope::kMemberLost:
      return decoder.Read(envelope.member_lost());
    case Envelope::kLeave:
      return decoder.Read(envelope.leave());
    case Envelope::kMapUpdate:
      return decoder.Read(envelope.map_update());
    case Envelope::kCloseShards:
      return decoder.Read(envelope.close_shards());
    case Envelope::kShardsClosed:
      return decoder.Read(envelope.shards_closed());
    default:
      return std::nullopt;
  }
}

std::optional<hoplite::Message> ReadDirectory(Decoder& decoder,
                                              Envelope& envelope) {
  switch (envelope.kind_case()) {
    case Envelope::kStaleEpoch:
      return decoder.Read(envelope.stale_epoch());
    case Envelope::kAsk:
      return decoder.Read(envelope.ask());
    case Envelope::kGrant:
      return decoder.Read(envelope.grant());
    case Envelope::kGrantInline:
      return decoder.Read(*envelope.mutable_grant_inline());
    case Envelope::kRefusal:
      return decoder.Read(*envelope.mutable_refusal());
    case Envelope::kWithdraw:
      return decoder.Read(envelope.withdraw());
    case Envelope::kCopyComplete:
      return decoder.Read(envelope.copy_complete());
    case Envelope::kPutBegun:
      return decoder.Read(*envelope.mutable_put_begun());
    case Envelope::kPutAnswer:
      return decoder.Read(envelope.put_answer());
    case Envelope::kPutSealed:
      return decoder.Read(envelope.put_sealed());
    case Envelope::kPutAborted:
      return decoder.Read(envelope.put_aborted());
    case Envelope::kDeleteAsk:
      return decoder.Read(envelope.delete_ask());
    case Envelope::kDeleteAnswer:
      return decoder.Read(envelope.delete_answer());
    case Envelope::kDrop:
      return decoder.Read(*envelope.mutable_drop());
    case Envelope::kDropped:
      return decoder.Read(envelope.dropped());
    case Envelope::kEvictAsk:
      return decoder.Read(envelope.evict_ask());
    case Envelope::kEvictAnswer:
      return decoder.Read(envelope.evict_answer());
    case Envelope::kFinal:
      return decoder.Read(envelope.final());
    default:
      return std::nullopt;
  }
}

std::optional<hoplite::Message> ReadReduce(Decoder& decoder,
                                           Envelope& envelope) {
  switch (envelope.kind_case()) {
    case Envelope::kReduceAsk:
      return decoder.Read(envelope.reduce_ask());
    case Envelope::kReduceAnswer:
      return decoder.Read(*envelope.mutable_reduce_answer());
    case Envelope::kWatchSources:
      return decoder.Read(envelope.watch_sources());
    case Envelope::kUnwatchSources:
      return decoder.Read(envelope.unwatch_sources());
    case Envelope::kSourceNews:
      return decoder.Read(*envelope.mutable_source_news());
    case Envelope::kAssignment:
      return decoder.Read(envelope.assignment());
    case Envelope::kAssignmentFailed:
      return decoder.Read(envelope.assignment_failed());
    case Envelope::kRelease:
      return decoder.Read(envelope.release());
    default:
      return std::nullopt;
  }
}

template <typename To, typename From>
absl::StatusOr<To> DecodeValue(const From& from) {
  Decoder decoder;
  To to = decoder.Read(from);
  if (!decoder.status().ok()) return decoder.status();
  return to;
}

}  // namespace

absl::StatusOr<hoplite::Message> Decode(Envelope envelope) {
  Decoder decoder;
  std::optional<hoplite::Message> message = ReadDirectory(decoder, envelope);
  if (!message.has_value()) message = ReadReduce(decoder, envelope);
  if (!message.has_value()) message = ReadMembership(decoder, envelope);
  if (!message.has_value()) decoder.Fail("Envelope.kind is missing or unknown");
  if (!decoder.status().ok()) return decoder.status();
  return *std::move(message);
}

hoplite::NodeRef DecodeNodeRef(const NodeRef& ref) {
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
