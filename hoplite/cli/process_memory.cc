#include "hoplite/cli/process_memory.h"

#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace hoplite::cli {
namespace {

// The line "NAME:   123 kB" of one of the system's tables.
std::optional<std::uint64_t> ReadField(const std::string& path,
                                       absl::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    absl::string_view rest = line;
    std::uint64_t kibibytes = 0;
    if (absl::ConsumePrefix(&rest, name) && absl::ConsumePrefix(&rest, ":") &&
        absl::ConsumeSuffix(&rest, "kB") &&
        absl::SimpleAtoi(rest, &kibibytes)) {
      return kibibytes << 10;
    }
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t PrivateBytes(pid_t process) {
  return ReadField(absl::StrCat("/proc/", process, "/status"), "RssAnon")
      .value_or(0);
}

std::uint64_t AvailableBytes() {
  return ReadField("/proc/meminfo", "MemAvailable")
      .value_or(std::numeric_limits<std::uint64_t>::max());
}

}  // namespace hoplite::cli
