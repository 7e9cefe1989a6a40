#include "hoplite/core/message.h"

#include <string>

#include "hoplite/core/debug_print.h"
#include "hoplite/core/message_fields.h"

namespace hoplite {
namespace message {

namespace {

bool SameBytes(const Payload& a, const Payload& b) {
  if (a == nullptr || b == nullptr) return a == b;
  return *a == *b;
}

}  // namespace

bool operator==(const GrantInline& a, const GrantInline& b) {
  return a.at == b.at && a.object == b.object && a.ask == b.ask &&
         a.generation == b.generation && SameBytes(a.payload, b.payload);
}

bool operator==(const PutBegun& a, const PutBegun& b) {
  return a.at == b.at && a.object == b.object && a.generation == b.generation &&
         a.size == b.size && a.sealed == b.sealed && a.streams == b.streams &&
         SameBytes(a.payload, b.payload);
}

bool operator==(const SourceEntry& a, const SourceEntry& b) {
  return a.object == b.object && a.state == b.state &&
         a.generation == b.generation && a.size == b.size &&
         a.holder == b.holder && SameBytes(a.payload, b.payload);
}

}  // namespace message

std::string DebugString(const Message& message) {
  return debug_print::NameAndFields(message);
}

}  // namespace hoplite
