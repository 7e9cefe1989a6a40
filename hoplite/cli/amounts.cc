#include "hoplite/cli/amounts.h"

#include <algorithm>
#include <initializer_list>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace hoplite::cli {
namespace {

struct Unit {
  absl::string_view suffix;
  std::uint64_t factor;
};

constexpr std::uint64_t kTooLarge = std::numeric_limits<std::uint64_t>::max();

// Sets kTooLarge for a number that nothing can hold.
bool ParseWithUnit(absl::string_view text, std::initializer_list<Unit> units,
                   std::uint64_t& amount) {
  std::string lower = absl::AsciiStrToLower(text);
  absl::string_view digits = lower;
  std::uint64_t factor = 1;
  for (const Unit& unit : units) {
    if (absl::ConsumeSuffix(&digits, unit.suffix)) {
      factor = unit.factor;
      break;
    }
  }
  if (digits.empty() || !std::ranges::all_of(digits, absl::ascii_isdigit)) {
    return false;
  }
  const bool fits = absl::SimpleAtoi(digits, &amount) &&
                    amount <= std::numeric_limits<std::int64_t>::max() / factor;
  amount = fits ? amount * factor : kTooLarge;
  return true;
}

}  // namespace

absl::StatusOr<std::uint64_t> ParseBytes(absl::string_view text) {
  std::uint64_t bytes = 0;
  constexpr std::uint64_t kOne = 1;
  const bool parsed = ParseWithUnit(text,
                                    {{"eib", kOne << 60},
                                     {"pib", kOne << 50},
                                     {"tib", kOne << 40},
                                     {"gib", kOne << 30},
                                     {"mib", kOne << 20},
                                     {"kib", kOne << 10},
                                     {"e", kOne << 60},
                                     {"p", kOne << 50},
                                     {"t", kOne << 40},
                                     {"g", kOne << 30},
                                     {"m", kOne << 20},
                                     {"k", kOne << 10}},
                                    bytes);
  if (parsed && bytes != kTooLarge) return bytes;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is ", parsed ? "too large" : "no size",
                   ": write 4096, 32K, 1M, 4GiB or 1T"));
}

absl::StatusOr<std::uint64_t> ParseBitRate(absl::string_view text) {
  std::uint64_t rate = 0;
  if (ParseWithUnit(text,
                    {{"kbit", 1000}, {"mbit", 1000000}, {"gbit", 1000000000}},
                    rate) &&
      rate > 0 && rate != kTooLarge) {
    return rate;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is no rate: write 250mbit or 1gbit"));
}

absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text) {
  absl::Duration duration;
  if (absl::ParseDuration(text, &duration) &&
      duration >= absl::ZeroDuration()) {
    return duration;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is no duration: write 100ms, 60s or 5m"));
}

std::string FormatBytes(std::uint64_t bytes) {
  constexpr absl::string_view kSuffixes[] = {"", "K", "M", "G", "T"};
  std::size_t unit = 0;
  while (bytes >= 1024 && bytes % 1024 == 0 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  return absl::StrCat(bytes, kSuffixes[unit]);
}

}  // namespace hoplite::cli
