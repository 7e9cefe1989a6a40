// Writes values field by field, by the lists of hoplite/core/fields.h.
//
// Numbers are little endian and of fixed width; a text, a payload and a list
// begin with their length (4 bytes), a variant with its index (1 byte), what
// may be missing with whether it is there (1 byte).
//
// Not responsible for: messages between nodes (codec.h), which have to be read
// by other releases.
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_WIRE_FIELD_WRITER_H_
#define HOPLITE_WIRE_FIELD_WRITER_H_

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "hoplite/base/id_prefix.h"
#include "hoplite/base/payload.h"
#include "hoplite/core/fields.h"
#include "hoplite/core/message_fields.h"

namespace hoplite::wire {

// What absl::Time and absl::Duration count in.
inline absl::Duration Tick() { return absl::Nanoseconds(1) / 4; }

class FieldWriter {
 public:
  explicit FieldWriter(std::string* out) : out_(*out) {}

  template <std::unsigned_integral T>
  void operator()(const T& value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      out_.push_back(static_cast<char>(value >> (8 * i)));
    }
  }
  void operator()(const double& value) {
    (*this)(std::bit_cast<std::uint64_t>(value));
  }
  template <typename T>
  requires std::is_enum_v<T>
  void operator()(const T& value) { (*this)(static_cast<std::uint8_t>(value)); }
  template <typename Tag, typename Rep>
  void operator()(const StrongInt<Tag, Rep>& value) {
    (*this)(value.value());
  }
  void operator()(const ObjectId& id) { Append(id.binary()); }
  void operator()(const IdPrefix& prefix) { Append(prefix.binary()); }
  // Exactly, to the tick.
  void operator()(const absl::Duration& value) {
    absl::Duration rest = value;
    std::int64_t seconds = absl::IDivDuration(rest, absl::Seconds(1), &rest);
    if (rest < absl::ZeroDuration()) {
      --seconds;
      rest += absl::Seconds(1);
    }
    const bool endless = value == absl::InfiniteDuration();
    (*this)(static_cast<std::uint64_t>(seconds));
    (*this)(endless ? std::numeric_limits<std::uint32_t>::max()
                    : static_cast<std::uint32_t>(rest / Tick()));
  }
  void operator()(const absl::Time& value) {
    (*this)(value - absl::UnixEpoch());
  }
  void operator()(const std::string& text) {
    (*this)(static_cast<std::uint32_t>(text.size()));
    Append(text);
  }
  void operator()(const Payload& payload) {
    (*this)(payload != nullptr);
    if (payload != nullptr) (*this)(*payload);
  }
  template <typename T>
  void operator()(const std::optional<T>& value) {
    (*this)(value.has_value());
    if (value.has_value()) (*this)(*value);
  }
  template <typename T>
  void operator()(const std::vector<T>& values) {
    (*this)(static_cast<std::uint32_t>(values.size()));
    for (const T& value : values) (*this)(value);
  }
  void operator()(const ShardMap& map) { (*this)(map.assignments()); }
  template <typename... Ts>
  void operator()(const std::variant<Ts...>& variant) {
    static_assert(sizeof...(Ts) <= 256);
    (*this)(static_cast<std::uint8_t>(variant.index()));
    std::visit(*this, variant);
  }
  template <HasFields T>
  void operator()(const T& value) {
    ForEachField(value, *this);
  }

 private:
  void Append(absl::string_view bytes) {
    out_.append(bytes.data(), bytes.size());
  }

  std::string& out_;
};

}  // namespace hoplite::wire

#endif  // HOPLITE_WIRE_FIELD_WRITER_H_
