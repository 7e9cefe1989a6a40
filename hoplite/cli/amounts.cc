#include "hoplite/cli/amounts.h"

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
  if (digits.empty() || !absl::ascii_isdigit(digits[0]) ||
      !absl::SimpleAtoi(digits, &amount) ||
      amount > std::numeric_limits<std::int64_t>::max() / factor) {
    return false;
  }
  amount *= factor;
  return true;
}

}  // namespace

absl::StatusOr<std::uint64_t> ParseBytes(absl::string_view text) {
  std::uint64_t bytes = 0;
  constexpr std::uint64_t kKi = 1024;
  if (ParseWithUnit(text,
                    {{"gib", kKi * kKi * kKi},
                     {"mib", kKi * kKi},
                     {"kib", kKi},
                     {"g", kKi * kKi * kKi},
                     {"m", kKi * kKi},
                     {"k", kKi}},
                    bytes)) {
    return bytes;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is no size: write 4096, 32K, 1M or 4GiB"));
}

absl::StatusOr<std::uint64_t> ParseBitRate(absl::string_view text) {
  std::uint64_t rate = 0;
  if (ParseWithUnit(text,
                    {{"kbit", 1000}, {"mbit", 1000000}, {"gbit", 1000000000}},
                    rate) &&
      rate > 0) {
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
