#include "experiments/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <span>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "hoplite/base/digest.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/files.h"
#include "hoplite/cli/mapped_memory.h"

namespace hoplite::experiments {
namespace {

constexpr std::size_t kBuildDigits = 12;

std::string TextOf(const char* path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

std::string ProcessorName(absl::string_view text) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, "model name")) continue;
    const std::size_t colon = line.find(':');
    if (colon == absl::string_view::npos) continue;
    std::string name(absl::StripAsciiWhitespace(line.substr(colon + 1)));
    std::ranges::replace(name, ',', ' ');
    return name;
  }
  return "unknown processor";
}

std::string ThisMachine() {
  utsname system = {};
  uname(&system);
  const double gib = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                     static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 30);
  return absl::StrFormat("%s; %d processors; %.0f GiB; %s %s",
                         ProcessorName(TextOf("/proc/cpuinfo")),
                         sysconf(_SC_NPROCESSORS_ONLN), gib, system.sysname,
                         system.release);
}

absl::StatusOr<std::string> BuildOf(const std::vector<std::string>& programs) {
  std::string digests;
  for (const std::string& program : programs) {
    HOPLITE_ASSIGN_OR_RETURN(const cli::Descriptor file,
                             cli::OpenForReading(program));
    HOPLITE_ASSIGN_OR_RETURN(const cli::MappedMemory content,
                             cli::MappedMemory::OfFile(file.number()));
    absl::StrAppend(&digests, Sha256Hex(content.bytes()));
  }
  return Sha256Hex(std::as_bytes(std::span(digests))).substr(0, kBuildDigits);
}

}  // namespace hoplite::experiments
