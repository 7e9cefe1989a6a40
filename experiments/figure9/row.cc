#include "experiments/figure9/row.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "apps/parameter_server/models.h"
#include "hoplite/base/overloaded.h"

namespace hoplite::experiments {
namespace {

// Calls `visit(name, field)` for each column, in the file's order.
template <typename RowType, typename Visitor>
void VisitColumns(RowType& row, const Visitor& visit) {
  visit("model", row.cell.model);
  visit("hosts", row.cell.hosts);
  visit("transport", row.cell.transport);
  visit("samples_per_s", row.median_samples_per_s);
  visit("min_samples_per_s", row.min_samples_per_s);
  visit("max_samples_per_s", row.max_samples_per_s);
  visit("most_samples_per_s", row.most_samples_per_s);
  visit("limit", row.limit);
  visit("idle", row.idle);
  visit("quorum", row.quorum);
  visit("updates", row.updates);
  visit("seconds", row.seconds);
  visit("payload_bytes", row.payload_bytes);
  visit("compute_ms", row.compute_ms);
  visit("link_mbit", row.link_mbit);
  visit("options", row.options);
  visit("machine", row.machine);
  visit("build", row.build);
}

std::string OneField(std::string text) {
  std::ranges::replace(text, ',', ';');
  std::ranges::replace(text, '\n', ' ');
  return text;
}

using Fields = std::map<std::string, std::string, std::less<>>;

// False where a column is missing or holds something else.
bool SetRow(const Fields& fields, Row& row) {
  bool good = true;
  VisitColumns(row, [&](const char* name, auto& field) {
    const auto found = fields.find(name);
    if (found == fields.end()) {
      good = false;
      return;
    }
    good = Overloaded{
               [](const std::string& text, std::string& to) {
                 to = text;
                 return true;
               },
               [](const std::string& text, double& to) {
                 return absl::SimpleAtod(text, &to);
               },
               [](const std::string& text, auto& to) {
                 return absl::SimpleAtoi(text, &to);
               },
           }(found->second, field) &&
           good;
  });
  return good;
}

}  // namespace

std::string TitleOf(const Cell& cell) {
  const auto model = apps::FindModel(cell.model);
  return absl::StrFormat("%s, %d hosts, %s",
                         model.ok() ? model->title : cell.model, cell.hosts,
                         cell.transport);
}

std::string RowHeader() {
  std::vector<std::string> names;
  Row row;
  VisitColumns(row,
               [&](const char* name, const auto&) { names.push_back(name); });
  return absl::StrJoin(names, ",");
}

std::string RowLine(const Row& row) {
  std::vector<std::string> fields;
  VisitColumns(row, [&](const char*, const auto& field) {
    fields.push_back(Overloaded{
        [](const std::string& text) { return OneField(text); },
        [](double number) { return absl::StrFormat("%.6g", number); },
        [](auto number) { return absl::StrCat(number); },
    }(field));
  });
  return absl::StrJoin(fields, ",");
}

absl::StatusOr<std::vector<Row>> ParseRows(absl::string_view text) {
  std::vector<Row> rows;
  std::vector<std::string> names;
  std::size_t number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    const std::vector<std::string> values = absl::StrSplit(line, ',');
    if (names.empty()) {
      names = values;
      continue;
    }
    Fields fields;
    for (std::size_t i = 0; i < std::min(names.size(), values.size()); ++i) {
      fields[names[i]] = values[i];
    }
    Row row;
    if (values.size() != names.size() || !SetRow(fields, row)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "line ", number, " is no row of Figure 9: its columns are ",
          RowHeader()));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace hoplite::experiments
