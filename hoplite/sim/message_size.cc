#include "hoplite/sim/message_size.h"

#include <type_traits>
#include <variant>

namespace hoplite::sim {
namespace {

// Headers of the stream, and a message's fixed fields.
constexpr std::uint64_t kFixedBytes = 100;
// An object's id, a generation, a node: one line of a list.
constexpr std::uint64_t kEntryBytes = 64;

std::uint64_t Bytes(const Payload& payload) {
  return payload == nullptr ? 0 : payload->size();
}

template <typename Entry>
std::uint64_t ListBytes(const std::vector<Entry>& entries) {
  std::uint64_t bytes = entries.size() * kEntryBytes;
  if constexpr (requires(const Entry& entry) { entry.payload; }) {
    for (const Entry& entry : entries) bytes += Bytes(entry.payload);
  }
  return bytes;
}

template <typename T>
std::uint64_t VariableBytes(const T& value) {
  std::uint64_t bytes = 0;
  if constexpr (requires { value.payload; }) bytes += Bytes(value.payload);
  if constexpr (requires { value.entries; }) bytes += ListBytes(value.entries);
  if constexpr (requires { value.sources; }) bytes += ListBytes(value.sources);
  if constexpr (requires { value.inputs; }) bytes += ListBytes(value.inputs);
  if constexpr (requires { value.shards; }) bytes += ListBytes(value.shards);
  if constexpr (requires { value.assignments; }) {
    bytes += ListBytes(value.assignments);
  }
  return bytes;
}

}  // namespace

std::uint64_t WireBytes(const Message& message) {
  return kFixedBytes +
         std::visit([](const auto& value) { return VariableBytes(value); },
                    message);
}

}  // namespace hoplite::sim
