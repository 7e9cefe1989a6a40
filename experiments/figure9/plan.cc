#include "experiments/figure9/plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "apps/parameter_server/models.h"
#include "hoplite/base/check.h"

namespace hoplite::experiments {
namespace {

constexpr int kHosts[] = {8, 16};
constexpr char kQuickModel[] = "alexnet";
// As the paper: its first six updates warm up, and a plain system gets fewer.
constexpr int kWarmUp = 6;
constexpr int kHopliteUpdates = 50;
constexpr int kPlainUpdates = 20;
constexpr absl::Duration kStartTime = absl::Seconds(6);
// Weights, sums and gradients of some updates; plainly, all the gradients of
// one update beside them.
constexpr std::uint64_t kStoreObjects = 24;
constexpr std::uint64_t kStoreBytesMin = 64 << 20;

int UpdatesOf(const Cell& cell) {
  return cell.transport == kPlainTransport ? kPlainUpdates : kHopliteUpdates;
}

}  // namespace

std::vector<Cell> Figure9Cells(bool quick) {
  std::vector<Cell> cells;
  for (const int hosts : kHosts) {
    if (quick && hosts != kHosts[0]) continue;
    for (const apps::Model& model : apps::Models()) {
      if (quick && model.name != kQuickModel) continue;
      for (const char* transport : {kHopliteTransport, kPlainTransport}) {
        cells.push_back({.model = std::string(model.name),
                         .hosts = hosts,
                         .transport = transport});
      }
    }
  }
  return cells;
}

Row PlannedRow(const Cell& cell) {
  const auto model = apps::FindModel(cell.model);
  HOPLITE_CHECK(model.ok());
  Row row;
  row.cell = cell;
  row.quorum = std::max(1, (cell.hosts - 1) / 2);
  row.payload_bytes =
      apps::ScaledElements(*model, apps::kPaperScale) * sizeof(float);
  row.compute_ms = model->compute_ms;
  row.link_mbit = static_cast<double>(kFigure9LinkBitsPerSecond) / 1e6;
  row.options =
      absl::StrFormat("updates=%d warmup=%d scale=%g compute_ms=%g link=%gmbit",
                      UpdatesOf(cell), kWarmUp, apps::kPaperScale,
                      row.compute_ms, row.link_mbit);
  row.most_samples_per_s = MostSamples(SizesOf(row));
  return row;
}

Sizes SizesOf(const Row& row) {
  return {.hosts = row.cell.hosts,
          .quorum = row.quorum,
          .transfer =
              static_cast<double>(row.payload_bytes) * 8 / row.link_mbit / 1e6,
          .compute = row.compute_ms / 1e3,
          .plain = row.cell.transport == kPlainTransport};
}

absl::Duration ExpectedTime(const Row& row) {
  const double update =
      apps::kBatchSamples * row.quorum / MostSamples(SizesOf(row));
  return kStartTime + absl::Seconds(update) * (UpdatesOf(row.cell) + kWarmUp);
}

std::uint64_t StoreBytes(const Row& row) {
  return std::max(kStoreBytesMin, kStoreObjects * row.payload_bytes);
}

std::vector<std::string> Figure9Arguments(const Row& row) {
  std::vector<std::string> hosts;
  for (int host = 1; host < row.cell.hosts; ++host) {
    hosts.push_back(absl::StrCat("host", host));
  }
  return {"--mode=async",
          "--workload=paper",
          absl::StrCat("--model=", row.cell.model),
          absl::StrCat("--workers=", hosts.size()),
          absl::StrCat("--quorum=", row.quorum),
          absl::StrCat("--hosts=", absl::StrJoin(hosts, ",")),
          "--server-host=host0",
          absl::StrCat("--scale=", apps::kPaperScale),
          absl::StrCat("--warmup=", kWarmUp),
          absl::StrCat("--iterations=", UpdatesOf(row.cell) + kWarmUp),
          "--json"};
}

}  // namespace hoplite::experiments
