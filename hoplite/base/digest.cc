#include "hoplite/base/digest.h"

#include <openssl/sha.h>

#include <string>

#include "absl/strings/escaping.h"

namespace hoplite {

ObjectId IdFromName(absl::string_view name) {
  ObjectId::Bytes digest;
  static_assert(ObjectId::kSize == SHA224_DIGEST_LENGTH);
  SHA224(reinterpret_cast<const unsigned char*>(name.data()), name.size(),
         digest.data());
  return ObjectId(digest);
}

ObjectId IdFromText(absl::string_view text) {
  if (auto id = ObjectId::FromHex(text)) return *id;
  return IdFromName(text);
}

std::string Sha256Hex(std::span<const std::byte> bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         digest);
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest), sizeof(digest)));
}

}  // namespace hoplite
