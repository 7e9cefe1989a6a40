#include "hoplite/wire/message_reader.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "hoplite/core/config.h"
#include "hoplite/wire/codec.h"

namespace hoplite::wire {
namespace {

hoplite::Generation ReadGeneration(const Generation& from) {
  if (from.counter() == 0) return {};  // none, of whatever node and era
  return {.node = NodeId(from.node()),
          .era = from.era(),
          .counter = from.counter()};
}

}  // namespace

// --- Membership. ---

message::MemberJoined MessageReader::Read(const MemberJoined& from) {
  return {.member = Read(from.member())};
}

message::MemberLost MessageReader::Read(const MemberLost& from) {
  return {.member = DecodeNodeRef(from.member())};
}

message::Leave MessageReader::Read(const Leave&) { return {}; }

message::MapUpdate MessageReader::Read(const MapUpdate& from) {
  return {.assignments = ReadList<hoplite::ShardAssignment>(
              from.assignments(), kShardCount, "MapUpdate.assignments")};
}

message::CloseShards MessageReader::Read(const CloseShards& from) {
  return {.shards = ReadList<hoplite::ShardRef>(from.shards(), kShardCount,
                                                "CloseShards.shards")};
}

message::ShardsClosed MessageReader::Read(const ShardsClosed& from) {
  return {.shards = ReadList<hoplite::ShardRef>(from.shards(), kShardCount,
                                                "ShardsClosed.shards")};
}

// --- The directory. ---

message::StaleEpoch MessageReader::Read(const StaleEpoch& from) {
  return {.newer = Read(from.newer())};
}

message::Ask MessageReader::Read(const Ask& from) {
  auto to = ReadAsk<message::Ask>(from, "Ask.object");
  to.held = ReadGeneration(from.held());
  to.begin = from.begin();
  to.lost = DecodeNodeRef(from.lost());
  return to;
}

message::Grant MessageReader::Read(const Grant& from) {
  auto to = ReadAsk<message::Grant>(from, "Grant.object");
  to.generation = ReadGeneration(from.generation());
  to.size = from.size();
  to.frame_bytes = from.frame_bytes();
  to.server = DecodeNodeRef(from.server());
  to.final = from.final();
  return to;
}

message::GrantInline MessageReader::Read(GrantInline& from) {
  auto to = ReadAsk<message::GrantInline>(from, "GrantInline.object");
  to.generation = ReadGeneration(from.generation());
  to.payload = TakePayload(from, "GrantInline.payload");
  return to;
}

message::Refusal MessageReader::Read(Refusal& from) {
  auto to = ReadAsk<message::Refusal>(from, "Refusal.object");
  to.code = Code(from.code(), "Refusal.code");
  to.reason = Reason(*from.mutable_reason(), "Refusal.reason");
  return to;
}

message::Withdraw MessageReader::Read(const Withdraw& from) {
  return ReadAsk<message::Withdraw>(from, "Withdraw.object");
}

message::CopyComplete MessageReader::Read(const CopyComplete& from) {
  return ReadCopy<message::CopyComplete>(from, "CopyComplete.object");
}

message::PutBegun MessageReader::Read(PutBegun& from) {
  auto to = ReadCopy<message::PutBegun>(from, "PutBegun.object");
  to.size = from.size();
  to.sealed = from.sealed();
  to.streams = from.streams();
  to.payload = TakePayload(from, "PutBegun.payload");
  return to;
}

message::PutAnswer MessageReader::Read(const PutAnswer& from) {
  auto to = ReadCopy<message::PutAnswer>(from, "PutAnswer.object");
  to.code = Code(from.code(), "PutAnswer.code");
  return to;
}

message::PutSealed MessageReader::Read(const PutSealed& from) {
  return ReadCopy<message::PutSealed>(from, "PutSealed.object");
}

message::PutAborted MessageReader::Read(const PutAborted& from) {
  return ReadCopy<message::PutAborted>(from, "PutAborted.object");
}

message::DeleteAsk MessageReader::Read(const DeleteAsk& from) {
  return {.at = Read(from.at()),
          .object = Id(from.object(), "DeleteAsk.object"),
          .request = RequestId(from.request())};
}

message::DeleteAnswer MessageReader::Read(const DeleteAnswer& from) {
  return {.object = Id(from.object(), "DeleteAnswer.object"),
          .request = RequestId(from.request()),
          .code = Code(from.code(), "DeleteAnswer.code")};
}

message::Drop MessageReader::Read(Drop& from) {
  auto to = ReadCopy<message::Drop>(from, "Drop.object");
  to.code = Code(from.code(), "Drop.code");
  to.reason = Reason(*from.mutable_reason(), "Drop.reason");
  return to;
}

message::Dropped MessageReader::Read(const Dropped& from) {
  return ReadCopy<message::Dropped>(from, "Dropped.object");
}

message::EvictAsk MessageReader::Read(const EvictAsk& from) {
  return {.entries = ReadList<message::EvictEntry>(
              from.entries(), kListLengthMax, "EvictAsk.entries")};
}

message::EvictAnswer MessageReader::Read(const EvictAnswer& from) {
  return {.allowed = ReadList<message::EvictEntry>(
              from.allowed(), kListLengthMax, "EvictAnswer.allowed"),
          .denied = ReadList<message::EvictEntry>(from.denied(), kListLengthMax,
                                                  "EvictAnswer.denied")};
}

message::Holdings MessageReader::Read(const Holdings& from) {
  return {.at = Read(from.at()),
          .first = from.first(),
          .last = from.last(),
          .entries = ReadList<message::Holding>(from.entries(), kListLengthMax,
                                                "Holdings.entries")};
}

message::HoldingsAsk MessageReader::Read(const HoldingsAsk& from) {
  return {.shards = ReadList<hoplite::ShardAssignment>(
              from.shards(), kShardCount, "HoldingsAsk.shards")};
}

message::Final MessageReader::Read(const Final& from) {
  return ReadCopy<message::Final>(from, "Final.object");
}

// --- Reduce. ---

message::ReduceAsk MessageReader::Read(const ReduceAsk& from) {
  return {.at = Read(from.at()),
          .target = Id(from.target(), "ReduceAsk.target"),
          .request = RequestId(from.request()),
          .sources = Ids(from.sources(), "ReduceAsk.sources"),
          .count = from.count(),
          .op = Op(from.op(), "ReduceAsk.op"),
          .type = Type(from.type(), "ReduceAsk.type")};
}

message::ReduceAnswer MessageReader::Read(ReduceAnswer& from) {
  return {.target = Id(from.target(), "ReduceAnswer.target"),
          .request = RequestId(from.request()),
          .code = Code(from.code(), "ReduceAnswer.code"),
          .reason = Reason(*from.mutable_reason(), "ReduceAnswer.reason"),
          .sources = Ids(from.sources(), "ReduceAnswer.sources")};
}

message::WatchSources MessageReader::Read(const WatchSources& from) {
  return {.target = Id(from.target(), "WatchSources.target"),
          .entries = ReadList<message::WatchEntry>(
              from.entries(), kListLengthMax, "WatchSources.entries")};
}

message::UnwatchSources MessageReader::Read(const UnwatchSources& from) {
  return {.target = Id(from.target(), "UnwatchSources.target"),
          .entries = ReadList<message::WatchEntry>(
              from.entries(), kListLengthMax, "UnwatchSources.entries")};
}

message::SourceNews MessageReader::Read(SourceNews& from) {
  return {.target = Id(from.target(), "SourceNews.target"),
          .entries = ReadList<message::SourceEntry>(
              *from.mutable_entries(), kListLengthMax, "SourceNews.entries")};
}

message::Assignment MessageReader::Read(const Assignment& from) {
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

message::AssignmentFailed MessageReader::Read(const AssignmentFailed& from) {
  auto to =
      ReadPosition<message::AssignmentFailed>(from, "AssignmentFailed.target");
  to.code = Code(from.code(), "AssignmentFailed.code");
  to.lost = DecodeNodeRef(from.lost());
  return to;
}

message::Release MessageReader::Read(const Release& from) {
  return {.target = Id(from.target(), "Release.target"),
          .position = from.position(),
          .output = ReadGeneration(from.output())};
}

// --- Values. ---

hoplite::Member MessageReader::Read(const Member& from) {
  return {.ref = DecodeNodeRef(from.ref()),
          .control_address = Address(from.control_address()),
          .data_address = Address(from.data_address()),
          .agent_address = Address(from.agent_address())};
}

hoplite::NodeRef MessageReader::Read(const NodeRef& from) {
  return DecodeNodeRef(from);
}

hoplite::ShardRef MessageReader::Read(const ShardRef& from) {
  if (from.shard() >= kShardCount) {
    Fail(absl::StrFormat("ShardRef.shard is %d, not below %d", from.shard(),
                         kShardCount));
  }
  return {.shard = ShardId(from.shard()), .epoch = Epoch(from.epoch())};
}

hoplite::ShardAssignment MessageReader::Read(const ShardAssignment& from) {
  return {.at = Read(from.at()),
          .host = DecodeNodeRef(from.host()),
          .rebuilds = from.rebuilds()};
}

// --- Entries of lists. ---

message::EvictEntry MessageReader::Read(const EvictEntry& from) {
  return ReadCopy<message::EvictEntry>(from, "EvictEntry.object");
}

message::Holding MessageReader::Read(const Holding& from) {
  const auto last =
      static_cast<std::uint32_t>(message::Holding::State::kComplete);
  if (from.state() > last) {
    Fail(absl::StrFormat("Holding.state is %d, above %d", from.state(), last));
  }
  return {.object = Id(from.object(), "Holding.object"),
          .state = static_cast<message::Holding::State>(from.state()),
          .generation = ReadGeneration(from.generation()),
          .size = from.size(),
          .frame_bytes = from.frame_bytes(),
          .ask = AskNumber(from.ask()),
          .server = DecodeNodeRef(from.server()),
          .final = from.final(),
          .streams = from.streams()};
}

message::WatchEntry MessageReader::Read(const WatchEntry& from) {
  return {.at = Read(from.at()),
          .object = Id(from.object(), "WatchEntry.object"),
          .avoid = ReadList<hoplite::NodeRef>(from.avoid(), kListLengthMax,
                                              "WatchEntry.avoid")};
}

message::SourceEntry MessageReader::Read(SourceEntry& from) {
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

message::ReduceInput MessageReader::Read(const ReduceInput& from) {
  return {.position = from.position(),
          .generation = ReadGeneration(from.generation()),
          .member = DecodeNodeRef(from.member())};
}

// --- Groups of fields that several messages begin with. ---

template <typename To, typename From>
To MessageReader::ReadAsk(const From& from, absl::string_view field) {
  To to;
  to.at = Read(from.at());
  to.object = Id(from.object(), field);
  to.ask = AskNumber(from.ask());
  return to;
}

template <typename To, typename From>
To MessageReader::ReadCopy(const From& from, absl::string_view field) {
  To to;
  to.at = Read(from.at());
  to.object = Id(from.object(), field);
  to.generation = ReadGeneration(from.generation());
  return to;
}

template <typename To, typename From>
To MessageReader::ReadPosition(const From& from, absl::string_view field) {
  To to;
  to.at = Read(from.at());
  to.target = Id(from.target(), field);
  to.position = from.position();
  to.output = ReadGeneration(from.output());
  return to;
}

template <typename To, typename List>
std::vector<To> MessageReader::ReadList(List& from, std::size_t limit,
                                        absl::string_view field) {
  std::vector<To> to;
  if (!LengthIsValid(from.size(), limit, field)) return to;
  to.reserve(from.size());
  for (auto& entry : from) to.push_back(Read(entry));
  return to;
}

// --- Single fields. ---

template <typename List>
std::vector<ObjectId> MessageReader::Ids(const List& from,
                                         absl::string_view field) {
  std::vector<ObjectId> to;
  if (!LengthIsValid(from.size(), kReduceSourcesMax, field)) return to;
  to.reserve(from.size());
  for (const std::string& id : from) to.push_back(Id(id, field));
  return to;
}

ObjectId MessageReader::Id(const std::string& bytes, absl::string_view field) {
  const std::optional<ObjectId> id = ObjectId::FromBinary(bytes);
  if (id.has_value()) return *id;
  Fail(absl::StrFormat("%s has %d bytes, not %d", field, bytes.size(),
                       ObjectId::kSize));
  return ObjectId();
}

template <typename From>
Payload MessageReader::TakePayload(From& from, absl::string_view field) {
  if (!from.has_payload()) return nullptr;
  if (!LengthIsValid(from.payload().size(), kInlineBytesMax, field)) {
    return nullptr;
  }
  return MakePayload(std::move(*from.mutable_payload()));
}

absl::StatusCode MessageReader::Code(std::uint32_t code,
                                     absl::string_view field) {
  const auto last =
      static_cast<std::uint32_t>(absl::StatusCode::kUnauthenticated);
  if (code <= last) return static_cast<absl::StatusCode>(code);
  Fail(absl::StrFormat("%s is %d, above %d", field, code, last));
  return absl::StatusCode::kUnknown;
}

ReduceOp MessageReader::Op(std::uint32_t op, absl::string_view field) {
  if (op < kReduceOpCount) return static_cast<ReduceOp>(op);
  Fail(absl::StrFormat("%s is %d, not below %d", field, op, kReduceOpCount));
  return ReduceOp::kSum;
}

DataType MessageReader::Type(std::uint32_t type, absl::string_view field) {
  if (type < kDataTypeCount) return static_cast<DataType>(type);
  Fail(absl::StrFormat("%s is %d, not below %d", field, type, kDataTypeCount));
  return DataType::kF32;
}

std::string MessageReader::Reason(std::string& reason,
                                  absl::string_view field) {
  if (!LengthIsValid(reason.size(), kReasonBytesMax, field)) return "";
  return std::move(reason);
}

std::string MessageReader::Address(const std::string& address) {
  return LengthIsValid(address.size(), kAddressBytesMax, "Member.address")
             ? address
             : "";
}

bool MessageReader::LengthIsValid(std::size_t length, std::size_t limit,
                                  absl::string_view field) {
  if (length <= limit) return true;
  Fail(absl::StrFormat("%s has length %d, above its limit %d", field, length,
                       limit));
  return false;
}

}  // namespace hoplite::wire
