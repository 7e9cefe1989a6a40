// Pack and Unpack turn the messages between processes into bytes and back.
//
// A message is a struct whose Fields() ties its members in order. Integers are
// little-endian, texts and lists have their length before them. Bytes of
// another process are not trusted: Unpack checks every length before it
// allocates, and allocates a small multiple of the input at most. An enum
// says with LastOf(Enum) which of its values is the last: others are refused.
//
// Thread safety: Unpacker: one thread at a time; the functions are pure.
// Units: bytes.

#ifndef HOPLITE_RAY_INTEGRATION_WIRE_PACK_H_
#define HOPLITE_RAY_INTEGRATION_WIRE_PACK_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "hoplite/base/id.h"
#include "ray_integration/base/process_id.h"

namespace hoplite::task {

template <typename T>
concept Packable = requires(T& value) {
  value.Fields();
};
template <typename T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

template <Plain T>
void Pack(const T& value, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}
void Pack(const std::string& text, std::string& out);
void Pack(const ObjectId& id, std::string& out);
void Pack(const NodeRef& node, std::string& out);
void Pack(const WorkerNumber& worker, std::string& out);
void Pack(const ProcessId& process, std::string& out);

template <Packable T>
void Pack(const T& message, std::string& out);
template <typename A, typename B>
void Pack(const std::pair<A, B>& pair, std::string& out);
template <typename T>
void Pack(const std::vector<T>& list, std::string& out) {
  Pack(static_cast<std::uint32_t>(list.size()), out);
  for (const T& one : list) Pack(one, out);
}
template <typename A, typename B>
void Pack(const std::pair<A, B>& pair, std::string& out) {
  Pack(pair.first, out);
  Pack(pair.second, out);
}
template <Packable T>
void Pack(const T& message, std::string& out) {
  // Fields() ties references that may be written; nothing is written here.
  std::apply([&](const auto&... fields) { (Pack(fields, out), ...); },
             const_cast<T&>(message).Fields());
}

class Unpacker {
 public:
  explicit Unpacker(absl::string_view bytes) : bytes_(bytes) {}

  // False, for good, once the bytes have not been what was asked for.
  bool ok() const { return ok_; }
  bool AtEnd() const { return ok_ && bytes_.empty(); }

  template <Plain T>
  void Take(T& value) {
    const absl::string_view raw = TakeBytes(sizeof(value));
    if (!ok_) return;
    if constexpr (std::is_same_v<T, bool>) {
      value = raw[0] != 0;
      ok_ = static_cast<unsigned char>(raw[0]) <= 1;
    } else {
      std::memcpy(&value, raw.data(), sizeof(value));
      if constexpr (std::is_enum_v<T>) ok_ = value <= LastOf(T());
    }
  }
  void Take(std::string& text);
  void Take(ObjectId& id);
  void Take(NodeRef& node);
  void Take(WorkerNumber& worker);
  void Take(ProcessId& process);
  template <typename A, typename B>
  void Take(std::pair<A, B>& pair) {
    Take(pair.first);
    Take(pair.second);
  }
  template <typename T>
  void Take(std::vector<T>& list) {
    std::uint32_t size = 0;
    Take(size);
    // An element is one byte long at least.
    if (size > bytes_.size()) ok_ = false;
    list.clear();
    for (std::uint32_t i = 0; ok_ && i < size; ++i) Take(list.emplace_back());
  }
  template <Packable T>
  void Take(T& message) {
    std::apply([&](auto&... fields) { (Take(fields), ...); }, message.Fields());
  }

 private:
  // Empty, and not ok, where there are not so many.
  absl::string_view TakeBytes(std::size_t size);

  absl::string_view bytes_;
  bool ok_ = true;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_WIRE_PACK_H_
