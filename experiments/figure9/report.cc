#include "experiments/figure9/report.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/parameter_server/models.h"

namespace hoplite::experiments {
namespace {

// What the paper's text says of this figure is its largest speed-up alone.
constexpr char kPaperModel[] = "alexnet";
constexpr int kPaperHosts = 16;
constexpr char kPaperSpeedUp[] = "up to 7.8";

constexpr char kHeader[] =
    "model      hosts   Hoplite     plain  speed-up      paper      most  "
    "of most  limit      plain's  idle\n"
    "                 samples/s samples/s                      samples/s  "
    "                    limit\n";

constexpr char kLegend[] =
    "Hoplite, plain: the median of the timed run's parts. paper: its Hoplite "
    "over Ray.\nmost: what sizes and times allow with Hoplite (bound.h). "
    "limit: who limits, by the\nrules there; \"processor\" is this machine's, "
    "and says nothing of the links.\n";

struct Pair {
  const Row* hoplite = nullptr;
  const Row* plain = nullptr;
};

// The models in the order of the paper, then by the number of hosts.
std::vector<Pair> PairsOf(const std::vector<Row>& rows) {
  std::map<std::pair<std::ptrdiff_t, int>, Pair> pairs;
  const auto models = apps::Models();
  for (const Row& row : rows) {
    const auto place =
        std::ranges::find(models, row.cell.model, &apps::Model::name) -
        models.begin();
    Pair& pair = pairs[{place, row.cell.hosts}];
    const bool plain = row.cell.transport == kPlainTransport;
    (plain ? pair.plain : pair.hoplite) = &row;
  }
  std::vector<Pair> ordered;
  for (const auto& entry : pairs) ordered.push_back(entry.second);
  return ordered;
}

std::string Number(const Row* row) {
  if (row == nullptr) return "-";
  return absl::StrFormat("%.0f", row->median_samples_per_s);
}

std::string Line(const Pair& pair) {
  const Row& any = pair.hoplite != nullptr ? *pair.hoplite : *pair.plain;
  const auto model = apps::FindModel(any.cell.model);
  std::string speed_up = "-";
  if (pair.hoplite != nullptr && pair.plain != nullptr &&
      pair.plain->median_samples_per_s > 0) {
    speed_up = absl::StrFormat("%.2f", pair.hoplite->median_samples_per_s /
                                           pair.plain->median_samples_per_s);
  }
  std::string most = "-";
  std::string of_most = "-";
  if (pair.hoplite != nullptr && pair.hoplite->most_samples_per_s > 0) {
    most = absl::StrFormat("%.0f", pair.hoplite->most_samples_per_s);
    of_most = absl::StrFormat("%.2f", pair.hoplite->median_samples_per_s /
                                          pair.hoplite->most_samples_per_s);
  }
  const bool in_paper =
      any.cell.model == kPaperModel && any.cell.hosts == kPaperHosts;
  return absl::StrFormat(
      "%-10s %5d %9s %9s %9s %10s %9s %8s  %-9s  %-9s %.2f\n",
      model.ok() ? model->title : any.cell.model, any.cell.hosts,
      Number(pair.hoplite), Number(pair.plain), speed_up,
      in_paper ? kPaperSpeedUp : "-", most, of_most,
      pair.hoplite != nullptr ? pair.hoplite->limit : "-",
      pair.plain != nullptr ? pair.plain->limit : "-", any.idle);
}

}  // namespace

std::string SpeedUpTable(const std::vector<Row>& rows) {
  std::string table = kHeader;
  for (const Pair& pair : PairsOf(rows)) absl::StrAppend(&table, Line(pair));
  return absl::StrCat(table, "\n", kLegend);
}

}  // namespace hoplite::experiments
