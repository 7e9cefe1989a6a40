// IdPrefix is what the ids of many objects begin with: their first 16 bytes.
//
// Whoever makes ids may let them begin with a name of its own, and so name all
// that it has made at once.
//
// Thread safety: values; as safe as int.

#ifndef HOPLITE_BASE_ID_PREFIX_H_
#define HOPLITE_BASE_ID_PREFIX_H_

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "hoplite/base/id.h"

namespace hoplite {

class IdPrefix {
 public:
  static constexpr std::size_t kSize = 16;
  using Bytes = std::array<std::uint8_t, kSize>;

  constexpr IdPrefix() = default;
  constexpr explicit IdPrefix(const Bytes& bytes) : bytes_(bytes) {}
  static IdPrefix Of(const ObjectId& id) {
    Bytes bytes;
    std::copy_n(id.bytes().begin(), kSize, bytes.begin());
    return IdPrefix(bytes);
  }
  // From exactly 16 bytes; nullopt for any other length.
  static std::optional<IdPrefix> FromBinary(absl::string_view binary) {
    if (binary.size() != kSize) return std::nullopt;
    Bytes bytes;
    std::copy(binary.begin(), binary.end(), bytes.begin());
    return IdPrefix(bytes);
  }

  const Bytes& bytes() const { return bytes_; }
  absl::string_view binary() const {
    return {reinterpret_cast<const char*>(bytes_.data()), kSize};
  }
  std::string ToHex() const { return absl::BytesToHexString(binary()); }
  // The least id that begins so; the others follow it, before all greater ones.
  ObjectId First() const {
    ObjectId::Bytes bytes{};
    std::copy(bytes_.begin(), bytes_.end(), bytes.begin());
    return ObjectId(bytes);
  }

  friend constexpr auto operator<=>(const IdPrefix&, const IdPrefix&) = default;

 private:
  Bytes bytes_{};
};

}  // namespace hoplite

#endif  // HOPLITE_BASE_ID_PREFIX_H_
