#include "hoplite/runtime/client_protocol.h"

#include <cstddef>

#include "hoplite/core/fields.h"
#include "hoplite/wire/field_reader.h"
#include "hoplite/wire/field_writer.h"

namespace hoplite::client_message {

HOPLITE_FIELDS(Hello, version)
HOPLITE_FIELDS(Put, number, object, size, timeout, streams, payload)
HOPLITE_FIELDS(Advance, number, to)
HOPLITE_FIELDS(Seal, number)
HOPLITE_FIELDS(Get, number, object, timeout)
HOPLITE_FIELDS(Release, number)
HOPLITE_FIELDS(Delete, number, object, timeout)
HOPLITE_FIELDS(Reduce, number, target, sources, count, op, type, timeout)
HOPLITE_FIELDS(Cancel, number)
HOPLITE_FIELDS(ReportAsk, number)
HOPLITE_FIELDS(Welcome, version, store_capacity)
HOPLITE_FIELDS(Room, number, offset, size)
HOPLITE_FIELDS(Answer, number, code, text, offset, size, sources)
HOPLITE_FIELDS(ReportAnswer, number, json)

}  // namespace hoplite::client_message

namespace hoplite {

std::string EncodeFrame(const ClientMessage& message) {
  std::string frame(4, '\0');
  wire::FieldWriter write(&frame);
  write(message);
  const auto length = static_cast<std::uint32_t>(frame.size() - 4);
  for (int i = 0; i < 4; ++i) frame[i] = static_cast<char>(length >> (8 * i));
  return frame;
}

std::optional<ClientMessage> DecodeFrame(absl::string_view frame) {
  ClientMessage message;
  wire::FieldReader read(frame);
  read(message);
  if (!read.done()) return std::nullopt;
  return message;
}

}  // namespace hoplite
