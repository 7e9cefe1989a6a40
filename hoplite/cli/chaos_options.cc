#include "hoplite/cli/chaos_options.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace hoplite::cli {
namespace {

// Two that go on while half of the nodes are away.
constexpr int kNodesMin = 4;
// The sums of so many sources are exact: see chaos_content.h.
constexpr int kNodesMax = 64;
constexpr absl::Duration kLengthMin = absl::Seconds(10);

}  // namespace

absl::string_view ToString(ChaosFault fault) {
  switch (fault) {
    case ChaosFault::kKill:
      return "kill";
    case ChaosFault::kStop:
      return "stop";
    case ChaosFault::kRestart:
      return "restart";
    case ChaosFault::kCut:
      return "cut";
    case ChaosFault::kHead:
      return "head";
  }
  return "?";
}

bool Kills(ChaosFault fault) {
  return fault != ChaosFault::kStop && fault != ChaosFault::kCut;
}

absl::StatusOr<std::vector<ChaosFault>> ParseChaosFaults(
    absl::string_view names) {
  std::vector<ChaosFault> faults;
  for (const absl::string_view name : absl::StrSplit(names, ',')) {
    const auto* const found = std::ranges::find_if(
        kChaosFaults,
        [&](ChaosFault fault) { return ToString(fault) == name; });
    if (found == std::end(kChaosFaults)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", name,
          "\" is no fault: give some of kill,stop,restart,cut,head"));
    }
    if (std::ranges::count(faults, *found) > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the fault ", name, " is there twice"));
    }
    faults.push_back(*found);
  }
  return faults;
}

absl::Status Validate(const ChaosOptions& options) {
  if (options.nodes < kNodesMin || options.nodes > kNodesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("chaos takes ", kNodesMin, " to ", kNodesMax,
                     " nodes, not ", options.nodes));
  }
  if (options.link_bits_per_second == 0) {
    return absl::InvalidArgumentError("a link needs a rate above 0");
  }
  if (options.length < kLengthMin) {
    return absl::InvalidArgumentError(
        absl::StrCat("chaos takes ", absl::FormatDuration(kLengthMin),
                     " at least, not ", absl::FormatDuration(options.length)));
  }
  return absl::OkStatus();
}

}  // namespace hoplite::cli
