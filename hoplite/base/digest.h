// SHA-2 digests, by OpenSSL.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_BASE_DIGEST_H_
#define HOPLITE_BASE_DIGEST_H_

#include <cstddef>
#include <span>
#include <string>

#include "absl/strings/string_view.h"
#include "hoplite/base/id.h"

namespace hoplite {

// The id of a name: its SHA-224, which is as long as an id.
ObjectId IdFromName(absl::string_view name);
// The id that a person wrote: 56 hexadecimal digits as they stand, any other
// text as a name.
ObjectId IdFromText(absl::string_view text);
// SHA-256 in lower-case hexadecimal digits, as sha256sum prints it.
std::string Sha256Hex(std::span<const std::byte> bytes);

}  // namespace hoplite

#endif  // HOPLITE_BASE_DIGEST_H_
