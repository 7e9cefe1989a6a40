#include "ray_integration/bench/call_row.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hoplite/base/check.h"

namespace hoplite::task {
namespace {

struct CallFigure {
  absl::string_view key;
  absl::string_view name;
  double CallRow::*value;
  bool is_time;  // less is better
};

constexpr CallFigure kFigures[] = {
    {"tasks_per_s", "empty tasks a second, in batches", &CallRow::tasks_per_s,
     false},
    {"task_us", "round trip of an empty task, us", &CallRow::task_us, true},
    {"actor_call_us", "round trip of an actor call, us",
     &CallRow::actor_call_us, true},
    {"actor_calls_per_s", "actor calls a second, in batches",
     &CallRow::actor_calls_per_s, false},
    {"puts_per_s", "puts of 1 KB a second", &CallRow::puts_per_s, false},
};

// How many times better the first row is than the best of the others.
double Advantage(const CallFigure& figure, const std::vector<CallRow>& rows) {
  double best = rows[1].*figure.value;
  for (std::size_t i = 2; i < rows.size(); ++i) {
    const double other = rows[i].*figure.value;
    best = figure.is_time ? std::min(best, other) : std::max(best, other);
  }
  const double first = rows[0].*figure.value;
  return figure.is_time ? best / first : first / best;
}

}  // namespace

std::string CallRowJson(const CallRow& row) {
  nlohmann::ordered_json json = {{"system", row.system}};
  for (const CallFigure& figure : kFigures) {
    json[std::string(figure.key)] = row.*figure.value;
  }
  return json.dump();
}

absl::StatusOr<CallRow> ParseCallRow(absl::string_view json) {
  const auto parsed =
      nlohmann::json::parse(json.begin(), json.end(), nullptr, false);
  CallRow row;
  if (!parsed.is_object() || !parsed.contains("system") ||
      !parsed["system"].is_string()) {
    return absl::InvalidArgumentError(
        absl::StrCat("these are no figures of a system: ", json));
  }
  row.system = parsed["system"];
  for (const CallFigure& figure : kFigures) {
    const auto found = parsed.find(std::string(figure.key));
    if (found == parsed.end() || !found->is_number() ||
        found->get<double>() <= 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          row.system, " lacks ", figure.key, ", or it is not above 0"));
    }
    row.*figure.value = found->get<double>();
  }
  return row;
}

std::string CallTable(const std::vector<CallRow>& rows) {
  HOPLITE_CHECK(!rows.empty());
  std::string table = absl::StrFormat("%-34s", "");
  for (const CallRow& row : rows) {
    absl::StrAppendFormat(&table, " %12s", row.system);
  }
  if (rows.size() > 1) {
    absl::StrAppendFormat(&table, "  %s", "beside the best other");
  }
  for (const CallFigure& figure : kFigures) {
    absl::StrAppendFormat(&table, "\n%-34s", figure.name);
    for (const CallRow& row : rows) {
      const double value = row.*figure.value;
      absl::StrAppendFormat(&table, " %12.*f", figure.is_time ? 1 : 0, value);
    }
    if (rows.size() > 1) {
      absl::StrAppendFormat(&table, "  %.1f times %s", Advantage(figure, rows),
                            figure.is_time ? "as fast" : "as many");
    }
  }
  return table;
}

}  // namespace hoplite::task
