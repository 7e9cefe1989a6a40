// Reads values that FieldWriter has written, field by field.
//
// It believes no length, and takes at most some tens of times the memory of the
// bytes that it is given. A value that does not exist, or a shard above the
// last, is garbage.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_WIRE_FIELD_READER_H_
#define HOPLITE_WIRE_FIELD_READER_H_

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
#include "hoplite/core/message_fields.h"
#include "hoplite/wire/field_writer.h"

namespace hoplite::wire {

// After the first garbage ok() is false, and what is read counts for nothing.
class FieldReader {
 public:
  explicit FieldReader(absl::string_view in) : in_(in) {}

  bool ok() const { return ok_; }
  // All of it was read, and understood.
  bool done() const { return ok_ && in_.empty(); }

  template <std::unsigned_integral T>
  void operator()(T& value) {
    std::uint64_t number = 0;
    int shift = 0;
    for (const char byte : Take(sizeof(T))) {
      number |= std::uint64_t{static_cast<std::uint8_t>(byte)} << shift;
      shift += 8;
    }
    ok_ &= number <= std::numeric_limits<T>::max();
    value = static_cast<T>(number);
  }
  void operator()(double& value) {
    value = std::bit_cast<double>(Read<std::uint64_t>());
  }
  template <typename T>
  requires std::is_enum_v<T>
  void operator()(T& value) {
    const auto number = Read<std::uint8_t>();
    ok_ &= number < kValueCount<T>;
    if (ok_) value = static_cast<T>(number);
  }
  template <typename Tag, typename Rep>
  void operator()(StrongInt<Tag, Rep>& value) {
    const auto number = Read<Rep>();
    if constexpr (std::is_same_v<StrongInt<Tag, Rep>, ShardId>) {
      ok_ &= number < kShardCount;
    }
    if (ok_) value = StrongInt<Tag, Rep>(number);
  }
  void operator()(ObjectId& id) {
    id = ObjectId::FromBinary(Take(ObjectId::kSize)).value_or(ObjectId());
  }
  void operator()(IdPrefix& prefix) {
    prefix = IdPrefix::FromBinary(Take(IdPrefix::kSize)).value_or(IdPrefix());
  }
  void operator()(absl::Duration& value) {
    const auto seconds = Read<std::uint64_t>();
    const auto ticks = Read<std::uint32_t>();
    value = ticks == std::numeric_limits<std::uint32_t>::max()
                ? absl::InfiniteDuration()
                : absl::Seconds(static_cast<std::int64_t>(seconds)) +
                      std::int64_t{ticks} * Tick();
  }
  void operator()(absl::Time& value) {
    value = absl::UnixEpoch() + Read<absl::Duration>();
  }
  void operator()(std::string& text) {
    text = std::string(Take(Read<std::uint32_t>()));
  }
  void operator()(Payload& payload) {
    payload = Read<bool>() ? MakePayload(Read<std::string>()) : nullptr;
  }
  template <typename T>
  void operator()(std::optional<T>& value) {
    if (Read<bool>()) (*this)(value.emplace());
  }
  template <typename T>
  void operator()(std::vector<T>& values) {
    values.clear();
    for (auto left = Read<std::uint32_t>(); left > 0 && ok_; --left) {
      (*this)(values.emplace_back());
    }
  }
  void operator()(ShardMap& map) {
    const auto assignments = Read<std::vector<ShardAssignment>>();
    if (!ok_) return;
    for (const ShardAssignment& assignment : assignments) map.Apply(assignment);
  }
  template <typename... Ts>
  void operator()(std::variant<Ts...>& variant) {
    const auto index = Read<std::uint8_t>();
    ok_ &= index < sizeof...(Ts);
    if (!ok_) return;
    EmplaceType(variant, index);
    std::visit(*this, variant);
  }
  template <HasFields T>
  void operator()(T& value) {
    ForEachField(value, *this);
  }

 private:
  template <typename T>
  T Read() {
    T value{};
    (*this)(value);
    return value;
  }
  // Empty where there are fewer bytes.
  absl::string_view Take(std::size_t size) {
    ok_ &= size <= in_.size();
    if (!ok_) return {};
    const absl::string_view taken = in_.substr(0, size);
    in_.remove_prefix(size);
    return taken;
  }

  absl::string_view in_;
  bool ok_ = true;
};

}  // namespace hoplite::wire

#endif  // HOPLITE_WIRE_FIELD_READER_H_
