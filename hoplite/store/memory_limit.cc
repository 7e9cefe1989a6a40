#include "hoplite/store/memory_limit.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace hoplite {
namespace {

// Where one version of control groups keeps what.
struct GroupFiles {
  absl::string_view mount;
  absl::string_view limit;
  absl::string_view usage;
  absl::string_view cached_prefix;  // of the lines of memory.stat
};

constexpr GroupFiles kVersion1 = {
    .mount = "/sys/fs/cgroup/memory",
    .limit = "memory.limit_in_bytes",
    .usage = "memory.usage_in_bytes",
    .cached_prefix = "total_",
};
constexpr GroupFiles kVersion2 = {
    .mount = "/sys/fs/cgroup",
    .limit = "memory.max",
    .usage = "memory.current",
    .cached_prefix = "",
};

// Empty where there is none.
std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::optional<std::uint64_t> ParseNumber(absl::string_view text) {
  std::uint64_t number = 0;
  if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &number)) {
    return std::nullopt;
  }
  return number;
}

// The number in the line "<name> <number> ...".
std::optional<std::uint64_t> FindNumber(absl::string_view text,
                                        absl::string_view name) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, name)) continue;
    if (line.empty() || !absl::ascii_isspace(line.front())) continue;
    line = absl::StripLeadingAsciiWhitespace(line);
    return ParseNumber(line.substr(0, line.find(' ')));
  }
  return std::nullopt;
}

void Limit(std::uint64_t bytes, const std::string& reason,
           AvailableMemory& available) {
  if (bytes >= available.bytes) return;
  available.bytes = bytes;
  available.limited_by = reason;
}

void LimitByGroup(const std::string& folder, const GroupFiles& files,
                  AvailableMemory& available) {
  const auto limit =
      ParseNumber(ReadFile(absl::StrCat(folder, "/", files.limit)));
  const auto usage =
      ParseNumber(ReadFile(absl::StrCat(folder, "/", files.usage)));
  if (!limit.has_value() || !usage.has_value()) return;
  const std::string stat = ReadFile(absl::StrCat(folder, "/memory.stat"));
  std::uint64_t cached = 0;
  for (const char* name : {"inactive_file", "active_file"}) {
    cached +=
        FindNumber(stat, absl::StrCat(files.cached_prefix, name)).value_or(0);
  }
  const std::uint64_t used = *usage - std::min(*usage, cached);
  Limit(*limit - std::min(*limit, used),
        absl::StrCat("the control group limit ", folder, "/", files.limit),
        available);
}

// The group at `path` and all above it.
void LimitByGroups(absl::string_view root, absl::string_view path,
                   const GroupFiles& files, AvailableMemory& available) {
  path = absl::StripSuffix(path, "/");
  for (;;) {
    LimitByGroup(absl::StrCat(root, files.mount, path), files, available);
    if (path.empty()) return;
    path = path.substr(0, path.rfind('/'));
  }
}

}  // namespace

AvailableMemory FindAvailableMemory(absl::string_view root) {
  AvailableMemory available;
  const std::string machine = ReadFile(absl::StrCat(root, "/proc/meminfo"));
  if (const auto kib = FindNumber(machine, "MemAvailable:")) {
    Limit(*kib * 1024, "this machine's memory", available);
  }
  // Lines "<number>:<controllers>:<path>"; version 2 names no controllers.
  const std::string groups = ReadFile(absl::StrCat(root, "/proc/self/cgroup"));
  for (absl::string_view line : absl::StrSplit(groups, '\n')) {
    const std::pair<absl::string_view, absl::string_view> numbered =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    const std::pair<absl::string_view, absl::string_view> named =
        absl::StrSplit(numbered.second, absl::MaxSplits(':', 1));
    if (!absl::StartsWith(named.second, "/")) continue;
    if (named.first == "memory") {
      LimitByGroups(root, named.second, kVersion1, available);
    } else if (named.first.empty()) {
      LimitByGroups(root, named.second, kVersion2, available);
    }
  }
  return available;
}

}  // namespace hoplite
