// What a worker and its node say to each other over the Unix socket.
//
// A frame is its length (4 bytes, little endian, without itself), the kind of
// its message (1 byte: the index in ClientMessage) and the message's fields, by
// hoplite/wire/field_writer.h.
// Requests carry a number of the worker's choice, which their answers name; a
// Get's stays taken until Release. Bytes of large objects never pass here:
// they lie in the node's memory, whose descriptors come with Welcome.
//
// Thread safety: values; as safe as int.
// Units: bytes; offsets are of the node's store.

#ifndef HOPLITE_RUNTIME_CLIENT_PROTOCOL_H_
#define HOPLITE_RUNTIME_CLIENT_PROTOCOL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "hoplite/base/reduction.h"

namespace hoplite {

inline constexpr std::uint32_t kClientProtocolVersion = 2;
// To a node: its largest message names kReduceSourcesMax sources.
inline constexpr std::uint32_t kFrameToNodeBytesMax = 1 << 20;
// To a worker: a report of many objects.
inline constexpr std::uint32_t kFrameToClientBytesMax = 64 << 20;

}  // namespace hoplite

namespace hoplite::client_message {

// --- To the node. -----------------------------------------------------------

struct Hello {
  std::uint32_t version = kClientProtocolVersion;
};
// With a payload: all of a small object. Without: answered by Room first.
struct Put {
  std::uint64_t number = 0;
  ObjectId object;
  std::uint64_t size = 0;
  absl::Duration timeout = absl::InfiniteDuration();
  bool streams = false;
  std::optional<std::string> payload = std::nullopt;
};
struct Advance {  // [0, to) of a Put's room is written
  std::uint64_t number = 0;
  std::uint64_t to = 0;
};
struct Seal {  // a Put's room is all written
  std::uint64_t number = 0;
};
struct Get {
  std::uint64_t number = 0;
  ObjectId object;
  absl::Duration timeout = absl::InfiniteDuration();
};
// A Get's object is no longer read, or a Put's room no longer written that is
// not sealed.
struct Release {
  std::uint64_t number = 0;
};
struct Delete {
  std::uint64_t number = 0;
  ObjectId object;
  absl::Duration timeout = absl::InfiniteDuration();
};
struct Reduce {
  std::uint64_t number = 0;
  ObjectId target;
  std::vector<ObjectId> sources;
  std::uint32_t count = 0;
  ReduceOp op = ReduceOp::kSum;
  DataType type = DataType::kF32;
  absl::Duration timeout = absl::InfiniteDuration();
};
struct Cancel {
  std::uint64_t number = 0;
};
struct ReportAsk {
  std::uint64_t number = 0;
};

// --- To the worker. ---------------------------------------------------------

// The answer to Hello; with it come two descriptors of the store's memory, one
// that only reads and one that writes. Another version: without, and the end.
struct Welcome {
  std::uint32_t version = kClientProtocolVersion;
  std::uint64_t store_capacity = 0;
};
struct Room {
  std::uint64_t number = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};
struct Answer {
  std::uint64_t number = 0;
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string text;               // of an error
  std::uint64_t offset = 0;       // of a Get that succeeded
  std::uint64_t size = 0;         // of a Get that succeeded
  std::vector<ObjectId> sources;  // of a Reduce that succeeded
};
struct ReportAnswer {
  std::uint64_t number = 0;
  std::string json;
};

}  // namespace hoplite::client_message

namespace hoplite {

using ClientMessage = std::variant<
    client_message::Hello, client_message::Put, client_message::Advance,
    client_message::Seal, client_message::Get, client_message::Release,
    client_message::Delete, client_message::Reduce, client_message::Cancel,
    client_message::ReportAsk, client_message::Welcome, client_message::Room,
    client_message::Answer, client_message::ReportAnswer>;

// The whole frame, its length included.
std::string EncodeFrame(const ClientMessage& message);
// Of a frame without its length; nullopt for garbage.
std::optional<ClientMessage> DecodeFrame(absl::string_view frame);

}  // namespace hoplite

#endif  // HOPLITE_RUNTIME_CLIENT_PROTOCOL_H_
