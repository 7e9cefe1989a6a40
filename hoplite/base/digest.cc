#include "hoplite/base/digest.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <string>

#include "absl/strings/escaping.h"
#include "hoplite/base/check.h"

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
  Sha256 sha256;
  sha256.Update(bytes);
  return sha256.Hex();
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  HOPLITE_CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}

void Sha256::Update(std::span<const std::byte> bytes) {
  HOPLITE_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) ==
                1);
}

std::string Sha256::Hex() {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  HOPLITE_CHECK(EVP_DigestFinal_ex(context_.get(), digest, nullptr) == 1);
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest), sizeof(digest)));
}

void Sha256::Free::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

}  // namespace hoplite
