#include "hoplite/cli/bench_fault.h"

#include <cstddef>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace hoplite::cli {
namespace {

constexpr absl::string_view kPlaces[] = {"none",  "relay",  "leaf",
                                         "inner", "holder", "root"};
constexpr absl::string_view kKinds[] = {"kill", "stop", "cut"};

template <typename Enum, std::size_t kCount>
std::optional<Enum> Find(const absl::string_view (&names)[kCount],
                         absl::string_view name) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string ToString(const Fault& fault) {
  const absl::string_view place = kPlaces[static_cast<int>(fault.place)];
  if (fault.place == FaultPlace::kNone) return std::string(place);
  const std::string text = absl::StrCat(place, "@", fault.percent, "%");
  if (fault.kind == FaultKind::kKill) return text;
  return absl::StrCat(text, ":", kKinds[static_cast<int>(fault.kind)]);
}

std::optional<Fault> ParseFault(absl::string_view text) {
  if (text == kPlaces[0]) return Fault();
  const std::pair<absl::string_view, absl::string_view> place_and_rest =
      absl::StrSplit(text, absl::MaxSplits('@', 1));
  const std::pair<absl::string_view, absl::string_view> percent_and_kind =
      absl::StrSplit(place_and_rest.second, absl::MaxSplits(':', 1));
  absl::string_view percent = percent_and_kind.first;
  Fault fault;
  const auto place = Find<FaultPlace>(kPlaces, place_and_rest.first);
  if (!place.has_value() || *place == FaultPlace::kNone) return std::nullopt;
  fault.place = *place;
  if (!absl::ConsumeSuffix(&percent, "%") ||
      !absl::SimpleAtoi(percent, &fault.percent) || fault.percent < 1 ||
      fault.percent > 99) {
    return std::nullopt;
  }
  if (percent_and_kind.second.empty()) {
    if (text.back() == ':') return std::nullopt;
    return fault;
  }
  const auto kind = Find<FaultKind>(kKinds, percent_and_kind.second);
  if (!kind.has_value()) return std::nullopt;
  fault.kind = *kind;
  return fault;
}

}  // namespace hoplite::cli
