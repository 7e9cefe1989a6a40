// Amounts as people write them on a command line: sizes, rates, durations.
//
// K, M, G, T, P, E are powers of 1024 ("32M", also "4GiB"); kbit, mbit, gbit
// powers of 1000; durations as Abseil writes them ("100ms", "60s").
//
// Thread safety: thread-safe.
// Units: bytes; bits per second.

#ifndef HOPLITE_CLI_AMOUNTS_H_
#define HOPLITE_CLI_AMOUNTS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace hoplite::cli {

// Errors, of all three: kInvalidArgument, naming the text and what is wanted.
absl::StatusOr<std::uint64_t> ParseBytes(absl::string_view text);
absl::StatusOr<std::uint64_t> ParseBitRate(absl::string_view text);
absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text);

// "32M" where it is a whole number of the unit, else plain digits.
std::string FormatBytes(std::uint64_t bytes);

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_AMOUNTS_H_
