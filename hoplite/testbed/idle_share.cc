#include "hoplite/testbed/idle_share.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "hoplite/base/status_macros.h"

namespace hoplite::testbed {
namespace {

// The columns after "cpu": user, nice, system, idle, iowait, irq, softirq and
// steal. The two after these, of guests, are contained in the first two.
constexpr std::size_t kColumns = 8;
constexpr std::size_t kIdle = 3;
constexpr std::size_t kWaitForDisk = 4;

absl::StatusOr<ProcessorTicks> ReadProcessorTicks() {
  std::ifstream file("/proc/stat");
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return absl::UnavailableError("cannot read /proc/stat");
  return ParseProcessorTicks(text.str());
}

}  // namespace

absl::StatusOr<ProcessorTicks> ParseProcessorTicks(absl::string_view text) {
  const absl::Status malformed = absl::InvalidArgumentError(
      "/proc/stat has no line with the ticks of all processors");
  const std::vector<absl::string_view> words =
      absl::StrSplit(text.substr(0, text.find('\n')), ' ', absl::SkipEmpty());
  if (words.size() <= kColumns || words[0] != "cpu") return malformed;
  ProcessorTicks ticks;
  for (std::size_t column = 0; column < kColumns; ++column) {
    std::uint64_t value = 0;
    if (!absl::SimpleAtoi(words[column + 1], &value)) return malformed;
    ticks.total += value;
    if (column == kIdle || column == kWaitForDisk) ticks.idle += value;
  }
  return ticks;
}

absl::StatusOr<IdleShareSampler> IdleShareSampler::Create() {
  HOPLITE_ASSIGN_OR_RETURN(const ProcessorTicks now, ReadProcessorTicks());
  return IdleShareSampler(now);
}

absl::StatusOr<double> IdleShareSampler::Take() {
  HOPLITE_ASSIGN_OR_RETURN(const ProcessorTicks now, ReadProcessorTicks());
  const auto total = static_cast<double>(now.total - begin_.total);
  // The kernel may correct its idle ticks downwards.
  const double idle =
      static_cast<double>(now.idle) - static_cast<double>(begin_.idle);
  begin_ = now;
  return total <= 0 ? 1.0 : std::clamp(idle / total, 0.0, 1.0);
}

}  // namespace hoplite::testbed
