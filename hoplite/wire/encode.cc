#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "hoplite/core/config.h"
#include "hoplite/wire/codec.h"

namespace hoplite::wire {
namespace {

// Fills one envelope; the first field that is not valid is its status.
class Encoder {
 public:
  const absl::Status& status() const { return status_; }
  Envelope TakeEnvelope() { return std::move(envelope_); }

  // --- Membership. ---
  void Add(const message::MemberJoined& from) {
    Fill(from.member, envelope_.mutable_member_joined()->mutable_member());
  }
  void Add(const message::MemberLost& from) {
    Fill(from.member, envelope_.mutable_member_lost()->mutable_member());
  }
  void Add(const message::Leave&) { envelope_.mutable_leave(); }
  void Add(const message::MapUpdate& from) {
    auto* to = envelope_.mutable_map_update();
    FillList(from.assignments, to->mutable_assignments(), kShardCount,
             "MapUpdate.assignments");
  }
  void Add(const message::CloseShards& from) {
    FillList(from.shards, envelope_.mutable_close_shards()->mutable_shards(),
             kShardCount, "CloseShards.shards");
  }
  void Add(const message::ShardsClosed& from) {
    FillList(from.shards, envelope_.mutable_shards_closed()->mutable_shards(),
             kShardCount, "ShardsClosed.shards");
  }

  // --- The directory. ---
  void Add(const message::StaleEpoch& from) {
    Fill(from.newer, envelope_.mutable_stale_epoch()->mutable_newer());
  }
  void Add(const message::Ask& from) {
    auto* to = envelope_.mutable_ask();
    FillAsk(from, to);
    Fill(from.held, to->mutable_held());
    to->set_begin(from.begin);
    if (from.lost) Fill(from.lost, to->mutable_lost());
  }
  void Add(const message::Grant& from) {
    auto* to = envelope_.mutable_grant();
    FillAsk(from, to);
    Fill(from.generation, to->mutable_generation());
    to->set_size(from.size);
    to->set_frame_bytes(from.frame_bytes);
    Fill(from.server, to->mutable_server());
    to->set_final(from.final);
  }
  void Add(const message::GrantInline& from) {
    auto* to = envelope_.mutable_grant_inline();
    FillAsk(from, to);
    Fill(from.generation, to->mutable_generation());
    FillPayload(from.payload, to, "GrantInline.payload");
  }
  void Add(const message::Refusal& from) {
    auto* to = envelope_.mutable_refusal();
    FillAsk(from, to);
    to->set_code(Code(from.code, "Refusal.code"));
    to->set_reason(Reason(from.reason));
  }
  void Add(const message::Withdraw& from) {
    FillAsk(from, envelope_.mutable_withdraw());
  }
  void Add(const message::CopyComplete& from) {
    FillCopy(from, envelope_.mutable_copy_complete());
  }
  void Add(const message::PutBegun& from) {
    auto* to = envelope_.mutable_put_begun();
    FillCopy(from, to);
    to->set_size(from.size);
    to->set_sealed(from.sealed);
    to->set_streams(from.streams);
    FillPayload(from.payload, to, "PutBegun.payload");
  }
  void Add(const message::PutAnswer& from) {
    auto* to = envelope_.mutable_put_answer();
    FillCopy(from, to);
    to->set_code(Code(from.code, "PutAnswer.code"));
  }
  void Add(const message::PutSealed& from) {
    FillCopy(from, envelope_.mutable_put_sealed());
  }
  void Add(const message::PutAborted& from) {
    FillCopy(from, envelope_.mutable_put_aborted());
  }
  void Add(const message::DeleteAsk& from) {
    auto* to = envelope_.mutable_delete_ask();
    Fill(from.at, to->mutable_at());
    to->set_object(Id(from.object));
    to->set_request(from.request.value());
  }
  void Add(const message::DeleteAnswer& from) {
    auto* to = envelope_.mutable_delete_answer();
    to->set_object(Id(from.object));
    to->set_request(from.request.value());
    to->set_code(Code(from.code, "DeleteAnswer.code"));
  }
  void Add(const message::Drop& from) {
    auto* to = envelope_.mutable_drop();
    FillCopy(from, to);
    to->set_code(Code(from.code, "Drop.code"));
    to->set_reason(Reason(from.reason));
  }
  void Add(const message::Dropped& from) {
    FillCopy(from, envelope_.mutable_dropped());
  }
  void Add(const message::EvictAsk& from) {
    FillList(from.entries, envelope_.mutable_evict_ask()->mutable_entries(),
             kListLengthMax, "EvictAsk.entries");
  }
  void Add(const message::EvictAnswer& from) {
    auto* to = envelope_.mutable_evict_answer();
    FillList(from.allowed, to->mutable_allowed(), kListLengthMax,
             "EvictAnswer.allowed");
    FillList(from.denied, to->mutable_denied(), kListLengthMax,
             "EvictAnswer.denied");
  }
  void Add(const message::Holdings& from) {
    auto* to = envelope_.mutable_holdings();
    Fill(from.at, to->mutable_at());
    to->set_first(from.first);
    to->set_last(from.last);
    FillList(from.entries, to->mutable_entries(), kListLengthMax,
             "Holdings.entries");
  }
  void Add(const message::HoldingsAsk& from) {
    FillList(from.shards, envelope_.mutable_holdings_ask()->mutable_shards(),
             kShardCount, "HoldingsAsk.shards");
  }
  void Add(const message::Final& from) {
    FillCopy(from, envelope_.mutable_final());
  }

  // --- Reduce. ---
  void Add(const message::ReduceAsk& from) {
    auto* to = envelope_.mutable_reduce_ask();
    Fill(from.at, to->mutable_at());
    to->set_target(Id(from.target));
    to->set_request(from.request.value());
    FillIds(from.sources, to->mutable_sources(), "ReduceAsk.sources");
    to->set_count(from.count);
    FillKind(from, to);
  }
  void Add(const message::ReduceAnswer& from) {
    auto* to = envelope_.mutable_reduce_answer();
    to->set_target(Id(from.target));
    to->set_request(from.request.value());
    to->set_code(Code(from.code, "ReduceAnswer.code"));
    to->set_reason(Reason(from.reason));
    FillIds(from.sources, to->mutable_sources(), "ReduceAnswer.sources");
  }
  void Add(const message::WatchSources& from) {
    auto* to = envelope_.mutable_watch_sources();
    to->set_target(Id(from.target));
    FillList(from.entries, to->mutable_entries(), kListLengthMax,
             "WatchSources.entries");
  }
  void Add(const message::UnwatchSources& from) {
    auto* to = envelope_.mutable_unwatch_sources();
    to->set_target(Id(from.target));
    FillList(from.entries, to->mutable_entries(), kListLengthMax,
             "UnwatchSources.entries");
  }
  void Add(const message::SourceNews& from) {
    auto* to = envelope_.mutable_source_news();
    to->set_target(Id(from.target));
    FillList(from.entries, to->mutable_entries(), kListLengthMax,
             "SourceNews.entries");
  }
  void Add(const message::Assignment& from) {
    auto* to = envelope_.mutable_assignment();
    FillPosition(from, to);
    to->set_source(Id(from.source));
    Fill(from.source_generation, to->mutable_source_generation());
    FillList(from.inputs, to->mutable_inputs(), kListLengthMax,
             "Assignment.inputs");
    FillKind(from, to);
    to->set_size(from.size);
    to->set_frame_bytes(from.frame_bytes);
    to->set_divisor(from.divisor);
    to->set_root(from.root);
  }
  void Add(const message::AssignmentFailed& from) {
    auto* to = envelope_.mutable_assignment_failed();
    FillPosition(from, to);
    to->set_code(Code(from.code, "AssignmentFailed.code"));
    if (from.lost) Fill(from.lost, to->mutable_lost());
  }
  void Add(const message::Release& from) {
    auto* to = envelope_.mutable_release();
    to->set_target(Id(from.target));
    to->set_position(from.position);
    Fill(from.output, to->mutable_output());
  }

  // --- Values. ---
  void Fill(const hoplite::NodeRef& from, NodeRef* to) {
    *to = EncodeNodeRef(from);
  }
  void Fill(const hoplite::Member& from, Member* to) {
    Fill(from.ref, to->mutable_ref());
    to->set_control_address(Address(from.control_address));
    to->set_data_address(Address(from.data_address));
    to->set_agent_address(Address(from.agent_address));
  }
  void Fill(const hoplite::ShardRef& from, ShardRef* to) {
    Require(from.shard.value() < kShardCount, "shard", from.shard.value());
    to->set_shard(from.shard.value());
    to->set_epoch(from.epoch.value());
  }
  void Fill(const hoplite::ShardAssignment& from, ShardAssignment* to) {
    Fill(from.at, to->mutable_at());
    if (from.host) Fill(from.host, to->mutable_host());
    to->set_rebuilds(from.rebuilds);
  }
  void Fill(const hoplite::Generation& from, Generation* to) {
    to->set_node(from.node.value());
    to->set_era(from.era);
    to->set_counter(from.counter);
  }

 private:
  // --- Entries of lists. ---
  void Fill(const message::Holding& from, Holding* to) {
    to->set_object(Id(from.object));
    to->set_state(static_cast<std::uint32_t>(from.state));
    Fill(from.generation, to->mutable_generation());
    to->set_size(from.size);
    to->set_frame_bytes(from.frame_bytes);
    to->set_ask(from.ask.value());
    if (from.server) Fill(from.server, to->mutable_server());
    to->set_final(from.final);
    to->set_streams(from.streams);
  }
  void Fill(const message::EvictEntry& from, EvictEntry* to) {
    FillCopy(from, to);
  }
  void Fill(const message::WatchEntry& from, WatchEntry* to) {
    Fill(from.at, to->mutable_at());
    to->set_object(Id(from.object));
    FillList(from.avoid, to->mutable_avoid(), kListLengthMax,
             "WatchEntry.avoid");
  }
  void Fill(const message::SourceEntry& from, SourceEntry* to) {
    to->set_object(Id(from.object));
    const auto state = static_cast<std::uint32_t>(from.state);
    Require(from.state <= message::SourceState::kGone, "SourceEntry.state",
            state);
    to->set_state(state);
    Fill(from.generation, to->mutable_generation());
    to->set_size(from.size);
    Fill(from.holder, to->mutable_holder());
    FillPayload(from.payload, to, "SourceEntry.payload");
  }
  void Fill(const message::ReduceInput& from, ReduceInput* to) {
    to->set_position(from.position);
    Fill(from.generation, to->mutable_generation());
    Fill(from.member, to->mutable_member());
  }

  // --- Groups of fields that several messages begin with. ---
  template <typename From, typename To>
  void FillAsk(const From& from, To* to) {
    Fill(from.at, to->mutable_at());
    to->set_object(Id(from.object));
    to->set_ask(from.ask.value());
  }
  template <typename From, typename To>
  void FillCopy(const From& from, To* to) {
    Fill(from.at, to->mutable_at());
    to->set_object(Id(from.object));
    Fill(from.generation, to->mutable_generation());
  }
  template <typename From, typename To>
  void FillPosition(const From& from, To* to) {
    Fill(from.at, to->mutable_at());
    to->set_target(Id(from.target));
    to->set_position(from.position);
    Fill(from.output, to->mutable_output());
  }
  template <typename From, typename To>
  void FillKind(const From& from, To* to) {
    const auto op = static_cast<std::uint32_t>(from.op);
    const auto type = static_cast<std::uint32_t>(from.type);
    Require(op < kReduceOpCount, "op", op);
    Require(type < kDataTypeCount, "type", type);
    to->set_op(op);
    to->set_type(type);
  }
  template <typename To>
  void FillPayload(const Payload& from, To* to, absl::string_view field) {
    if (from == nullptr) return;
    Require(from->size() <= kInlineBytesMax, field, from->size());
    if (status_.ok()) to->set_payload(*from);
  }
  template <typename From, typename To>
  void FillList(const std::vector<From>& from, To* to, std::size_t limit,
                absl::string_view field) {
    Require(from.size() <= limit, field, from.size());
    if (!status_.ok()) return;
    to->Reserve(static_cast<int>(from.size()));
    for (const From& entry : from) Fill(entry, to->Add());
  }
  template <typename To>
  void FillIds(const std::vector<ObjectId>& from, To* to,
               absl::string_view field) {
    Require(from.size() <= kReduceSourcesMax, field, from.size());
    if (!status_.ok()) return;
    to->Reserve(static_cast<int>(from.size()));
    for (const ObjectId& id : from) *to->Add() = Id(id);
  }

  // --- Single fields. ---
  static std::string Id(const ObjectId& id) { return std::string(id.binary()); }
  static std::string Reason(const std::string& reason) {
    return reason.substr(0, kReasonBytesMax);
  }
  const std::string& Address(const std::string& address) {
    Require(address.size() <= kAddressBytesMax, "address", address.size());
    return address;
  }
  std::uint32_t Code(absl::StatusCode code, absl::string_view field) {
    const auto value = static_cast<std::uint32_t>(code);
    Require(
        value <= static_cast<std::uint32_t>(absl::StatusCode::kUnauthenticated),
        field, value);
    return value;
  }
  void Require(bool valid, absl::string_view field, std::uint64_t value) {
    if (valid || !status_.ok()) return;
    status_ = absl::InvalidArgumentError(absl::StrFormat(
        "cannot encode a message: %s is %d, above its limit", field, value));
  }

  Envelope envelope_;
  absl::Status status_;
};

template <typename To, typename From>
absl::StatusOr<To> EncodeValue(const From& from) {
  Encoder encoder;
  To to;
  encoder.Fill(from, &to);
  if (!encoder.status().ok()) return encoder.status();
  return to;
}

}  // namespace

absl::StatusOr<Envelope> Encode(const hoplite::Message& message) {
  Encoder encoder;
  std::visit([&](const auto& from) { encoder.Add(from); }, message);
  if (!encoder.status().ok()) return encoder.status();
  Envelope envelope = encoder.TakeEnvelope();
  const std::size_t bytes = BytesInBatch(envelope);
  if (bytes > kMaxBatchBytes - kBatchHeaderBytes) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "a control message of %d bytes fits in no batch (at most %d): %.200s",
        bytes, kMaxBatchBytes - kBatchHeaderBytes, DebugString(message)));
  }
  return envelope;
}

std::size_t BytesInBatch(const Envelope& envelope) {
  // The tag, and at most three bytes that say the length.
  return envelope.ByteSizeLong() + 4;
}

NodeRef EncodeNodeRef(hoplite::NodeRef ref) {
  NodeRef to;
  to.set_node(ref.node.value());
  to.set_incarnation(ref.incarnation.value());
  return to;
}

absl::StatusOr<Member> EncodeMember(const hoplite::Member& member) {
  return EncodeValue<Member>(member);
}

absl::StatusOr<ShardAssignment> EncodeAssignment(
    const hoplite::ShardAssignment& assignment) {
  return EncodeValue<ShardAssignment>(assignment);
}

}  // namespace hoplite::wire
