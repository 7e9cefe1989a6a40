// Reads the messages of the core out of their protobuf form, field by field.
//
// Part of the codec: nobody else needs it.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_WIRE_MESSAGE_READER_H_
#define HOPLITE_WIRE_MESSAGE_READER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "hoplite/base/payload.h"
#include "hoplite/core/message.h"
#include "hoplite/wire/hoplite.pb.h"

namespace hoplite::wire {

// Reads one envelope; the first field that is not valid is its status, and
// what is read after that counts for nothing.
class MessageReader {
 public:
  const absl::Status& status() const { return status_; }
  void Fail(std::string reason) {
    if (status_.ok()) status_ = absl::InvalidArgumentError(std::move(reason));
  }
  // --- Membership. ---
  message::MemberJoined Read(const MemberJoined& from);
  message::MemberLost Read(const MemberLost& from);
  message::Leave Read(const Leave&);
  message::MapUpdate Read(const MapUpdate& from);
  message::CloseShards Read(const CloseShards& from);
  message::ShardsClosed Read(const ShardsClosed& from);
  // --- The directory. ---
  message::StaleEpoch Read(const StaleEpoch& from);
  message::Ask Read(const Ask& from);
  message::Grant Read(const Grant& from);
  message::GrantInline Read(GrantInline& from);
  message::Refusal Read(Refusal& from);
  message::Withdraw Read(const Withdraw& from);
  message::CopyComplete Read(const CopyComplete& from);
  message::PutBegun Read(PutBegun& from);
  message::PutAnswer Read(const PutAnswer& from);
  message::PutSealed Read(const PutSealed& from);
  message::PutAborted Read(const PutAborted& from);
  message::DeleteAsk Read(const DeleteAsk& from);
  message::DeleteAnswer Read(const DeleteAnswer& from);
  message::Drop Read(Drop& from);
  message::Dropped Read(const Dropped& from);
  message::EvictAsk Read(const EvictAsk& from);
  message::EvictAnswer Read(const EvictAnswer& from);
  message::Holdings Read(const Holdings& from);
  message::HoldingsAsk Read(const HoldingsAsk& from);
  message::Final Read(const Final& from);
  // --- Reduce. ---
  message::ReduceAsk Read(const ReduceAsk& from);
  message::ReduceAnswer Read(ReduceAnswer& from);
  message::WatchSources Read(const WatchSources& from);
  message::UnwatchSources Read(const UnwatchSources& from);
  message::SourceNews Read(SourceNews& from);
  message::Assignment Read(const Assignment& from);
  message::AssignmentFailed Read(const AssignmentFailed& from);
  message::Release Read(const Release& from);
  // --- Values. ---
  hoplite::Member Read(const Member& from);
  hoplite::NodeRef Read(const NodeRef& from);
  hoplite::ShardRef Read(const ShardRef& from);
  hoplite::ShardAssignment Read(const ShardAssignment& from);

 private:
  // --- Entries of lists. ---
  message::EvictEntry Read(const EvictEntry& from);
  message::Holding Read(const Holding& from);
  message::WatchEntry Read(const WatchEntry& from);
  message::SourceEntry Read(SourceEntry& from);
  message::ReduceInput Read(const ReduceInput& from);
  // --- Groups of fields that several messages begin with. ---
  template <typename To, typename From>
  To ReadAsk(const From& from, absl::string_view field);
  template <typename To, typename From>
  To ReadCopy(const From& from, absl::string_view field);
  template <typename To, typename From>
  To ReadPosition(const From& from, absl::string_view field);
  template <typename To, typename List>
  std::vector<To> ReadList(List& from, std::size_t limit,
                           absl::string_view field);
  // --- Single fields. ---
  template <typename List>
  std::vector<ObjectId> Ids(const List& from, absl::string_view field);
  ObjectId Id(const std::string& bytes, absl::string_view field);
  template <typename From>
  Payload TakePayload(From& from, absl::string_view field);
  absl::StatusCode Code(std::uint32_t code, absl::string_view field);
  ReduceOp Op(std::uint32_t op, absl::string_view field);
  DataType Type(std::uint32_t type, absl::string_view field);
  std::string Reason(std::string& reason, absl::string_view field);
  std::string Address(const std::string& address);
  bool LengthIsValid(std::size_t length, std::size_t limit,
                     absl::string_view field);

  absl::Status status_;
};

}  // namespace hoplite::wire

#endif  // HOPLITE_WIRE_MESSAGE_READER_H_
