// SHA-2 digests, by OpenSSL.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_BASE_DIGEST_H_
#define HOPLITE_BASE_DIGEST_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "absl/strings/string_view.h"
#include "hoplite/base/id.h"

struct evp_md_ctx_st;  // OpenSSL's

namespace hoplite {

// The id of a name: its SHA-224, which is as long as an id.
ObjectId IdFromName(absl::string_view name);
// The id that a person wrote: 56 hexadecimal digits as they stand, any other
// text as a name.
ObjectId IdFromText(absl::string_view text);
// SHA-256 in lower-case hexadecimal digits, as sha256sum prints it.
std::string Sha256Hex(std::span<const std::byte> bytes);

// The same of bytes that come piece by piece.
//
// Thread safety: none; one thread at a time.
class Sha256 {
 public:
  Sha256();
  void Update(std::span<const std::byte> bytes);
  // Once, after the last piece.
  std::string Hex();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace hoplite

#endif  // HOPLITE_BASE_DIGEST_H_
