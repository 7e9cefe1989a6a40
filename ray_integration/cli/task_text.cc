#include "ray_integration/cli/task_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace hoplite::task {
namespace {

std::string AmountsText(const nlohmann::json& free,
                        const nlohmann::json& total) {
  std::vector<std::string> parts;
  for (const auto& [name, amount] : total.items()) {
    parts.push_back(absl::StrCat(name, " ", free.value(name, 0.0), " of ",
                                 amount.get<double>(), " free"));
  }
  return absl::StrJoin(parts, ", ");
}

// "runs Plus for 1.5 s, result 0a1b…", as the last of what is said of it.
std::string RunningText(const nlohmann::json& process) {
  return absl::StrFormat("runs %s for %.1f s, result %s",
                         process.value("function", ""),
                         std::max(0.0, process.value("running_seconds", 0.0)),
                         process.value("running", ""));
}

std::string ProcessText(const nlohmann::json& process) {
  const int number = process.value("number", 0);
  if (process.value("driver", false)) {
    return absl::StrCat("driver ", number, ": ", process.value("program", ""));
  }
  std::vector<std::string> parts;
  const std::string actor = process.value("actor", "");
  const std::string owner = process.value("leased_by", "");
  if (!actor.empty()) parts.push_back(absl::StrCat("actor of ", actor));
  if (!owner.empty()) parts.push_back(absl::StrCat("leased by ", owner));
  if (!process.value("running", "").empty()) {
    parts.push_back(RunningText(process));
  } else {
    parts.push_back(owner.empty() ? "idle" : "runs nothing");
  }
  return absl::StrCat("worker ", number, ": ", absl::StrJoin(parts, ", "));
}

}  // namespace

absl::StatusOr<Resources> ParseResources(const std::string& text) {
  constexpr double kMilli = 1000;
  constexpr double kAmountMax = 1e9;
  Resources resources;
  for (const absl::string_view part :
       absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::vector<std::string> sides = absl::StrSplit(part, '=');
    double amount = 0;
    if (sides.size() != 2 || sides[0].empty() ||
        !absl::SimpleAtod(sides[1], &amount) || !(amount >= 0) ||
        amount > kAmountMax) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", part, "\" is no resource: write NAME=AMOUNT, as gpu=1"));
    }
    resources.Set(sides[0],
                  static_cast<std::int64_t>(std::llround(amount * kMilli)));
  }
  return resources;
}

std::string TaskText(const std::string& report) {
  const nlohmann::json tasks =
      nlohmann::json::parse(report, nullptr, /*allow_exceptions=*/false);
  if (!tasks.is_object()) return "";
  std::string text = absl::StrCat("tasks on ", tasks.value("host", ""), ": ",
                                  AmountsText(tasks["free"], tasks["total"]),
                                  "; ", tasks.value("queued", 0), " wait, ",
                                  tasks.value("leased", 0), " workers leased (",
                                  tasks.value("blocked", 0), " blocked, ",
                                  tasks.value("actors", 0), " actors), ",
                                  tasks.value("idle", 0), " idle\n");
  for (const nlohmann::json& process : tasks["processes"]) {
    absl::StrAppend(&text, "  ", ProcessText(process), "\n");
  }
  return text;
}

}  // namespace hoplite::task
