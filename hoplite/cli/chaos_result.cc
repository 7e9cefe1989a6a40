#include "hoplite/cli/chaos_result.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace hoplite::cli {
namespace {

using Json = nlohmann::ordered_json;

Json TimesJson(std::uint64_t count, const std::vector<double>& times_ms) {
  return {{"count", count},
          {"median_ms", Percentile(times_ms, 50)},
          {"p99_ms", Percentile(times_ms, 99)}};
}

Json UsageJson(const ChaosUsage& usage) {
  return {
      {"sockets", usage.sockets},
      {"other_files", usage.other_files},
      {"private_mib", static_cast<double>(usage.private_bytes) / (1 << 20)}};
}

std::string UsageText(const ChaosUsage& usage) {
  return absl::StrFormat("%d sockets, %d other files, %.1f MiB", usage.sockets,
                         usage.other_files,
                         static_cast<double>(usage.private_bytes) / (1 << 20));
}

std::string TimesLine(absl::string_view name, std::uint64_t count,
                      const std::vector<double>& times_ms) {
  return absl::StrFormat("%-10s %7d %11.1f %11.1f\n", name, count,
                         Percentile(times_ms, 50), Percentile(times_ms, 99));
}

}  // namespace

double Percentile(std::vector<double> values, double percent) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const double rank =
      std::ceil(percent / 100 * static_cast<double>(values.size()));
  const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return values[std::min(index, values.size() - 1)];
}

Json ToJson(const ChaosResult& result) {
  const ChaosOptions& options = result.options;
  Json faults = Json::object();
  for (const auto& [fault, found] : result.faults) {
    faults[std::string(ToString(fault))] =
        TimesJson(found.count, found.until_done_ms);
  }
  Json json;
  json["nodes"] = options.nodes;
  json["link_mbit"] = static_cast<double>(options.link_bits_per_second) / 1e6;
  json["minutes"] = absl::ToDoubleMinutes(options.length);
  json["seed"] = options.seed;
  json["daemon"] = options.daemon;
  json["faults"] = faults;
  json["undisturbed"] =
      TimesJson(result.undisturbed_ms.size(), result.undisturbed_ms);
  json["abandoned"] = result.abandoned;
  json["ends"] = result.ends;
  json["lost_lives"] = result.lost_lives;
  json["wrong_ends"] = result.wrong_ends;
  json["complaints"] = result.complaints;
  json["leaks"] = result.leaks;
  json["usage_at_first"] = UsageJson(result.at_first);
  json["usage_at_last"] = UsageJson(result.at_last);
  json["operations"] = result.operations;
  json["hangs"] = result.hangs;
  json["wrong_bytes"] = result.wrong_bytes;
  json["leaked"] = result.leaks.size();
  return json;
}

std::string ChaosText(const ChaosResult& result) {
  std::string text = absl::StrFormat("%-10s %7s %11s %11s\n", "fault", "count",
                                     "median ms", "p99 ms");
  for (const auto& [fault, found] : result.faults) {
    absl::StrAppend(
        &text, TimesLine(ToString(fault), found.count, found.until_done_ms));
  }
  absl::StrAppend(&text, TimesLine("none", result.undisturbed_ms.size(),
                                   result.undisturbed_ms));
  absl::StrAppend(&text, "\ncalls ended:");
  for (const auto& [name, count] : result.ends) {
    absl::StrAppendFormat(&text, " %s %d", name, count);
  }
  absl::StrAppendFormat(&text,
                        "\n%d operations (%d abandoned), %d nodes without a "
                        "fault that lost their life\n"
                        "%d hangs, %d wrong bytes, %d wrong ends, %d leaked\n",
                        result.operations, result.abandoned, result.lost_lives,
                        result.hangs, result.wrong_bytes, result.wrong_ends,
                        result.leaks.size());
  absl::StrAppend(&text, "a node had at most ", UsageText(result.at_first),
                  " at first, ", UsageText(result.at_last), " at last\n");
  for (const auto* list : {&result.complaints, &result.leaks}) {
    for (const std::string& line : *list) absl::StrAppend(&text, line, "\n");
  }
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace hoplite::cli
