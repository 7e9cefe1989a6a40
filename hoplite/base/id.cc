#include "hoplite/base/id.h"

#include <algorithm>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace hoplite {
namespace {

bool IsHexDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ||
         (c >= 'A' && c <= 'F');
}

}  // namespace

std::optional<ObjectId> ObjectId::FromHex(absl::string_view hex) {
  if (hex.size() != 2 * kSize) return std::nullopt;
  if (!std::all_of(hex.begin(), hex.end(), IsHexDigit)) return std::nullopt;
  return FromBinary(absl::HexStringToBytes(hex));
}

std::optional<ObjectId> ObjectId::FromBinary(absl::string_view bytes) {
  if (bytes.size() != kSize) return std::nullopt;
  Bytes copy;
  std::copy(bytes.begin(), bytes.end(), copy.begin());
  return ObjectId(copy);
}

std::string ObjectId::ToHex() const { return absl::BytesToHexString(binary()); }

ShardId ObjectId::shard() const {
  // FNV-1a, mixed once more: ids that share a prefix, as a task system's do,
  // still spread.
  static_assert(kShardCount == 256);
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (std::uint8_t byte : bytes_) hash = (hash ^ byte) * 0x100000001b3u;
  hash = (hash ^ (hash >> 32)) * 0x9e3779b97f4a7c15u;
  return ShardId(static_cast<std::uint32_t>(hash >> 56));
}

std::string ToString(NodeId node) {
  return absl::StrCat("node ", node.value());
}

std::string ToString(const Generation& generation) {
  return absl::StrCat(generation.node.value(), "/", generation.era, ".",
                      generation.counter);
}

}  // namespace hoplite
