#include "experiments/figure9/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace hoplite::experiments {
namespace {

using ::testing::Contains;

TEST(Plan, EachModelRunsOnBothClustersWithBothTransports) {
  const std::vector<Cell> cells = Figure9Cells(/*quick=*/false);
  EXPECT_EQ(cells.size(), 12u);
  EXPECT_THAT(cells, Contains(Cell{
                         .model = "vgg16", .hosts = 16, .transport = "plain"}));
  EXPECT_TRUE(std::ranges::is_sorted(cells, {}, &Cell::hosts));
}

TEST(Plan, TheQuickOneIsTwoCellsInFarLessThanFiveMinutes) {
  const std::vector<Cell> cells = Figure9Cells(/*quick=*/true);
  ASSERT_EQ(cells.size(), 2u);
  absl::Duration all;
  for (const Cell& cell : cells) {
    EXPECT_EQ(cell.hosts, 8);
    EXPECT_EQ(cell.model, "alexnet");
    all += ExpectedTime(PlannedRow(cell));
  }
  EXPECT_LT(all, absl::Minutes(2));
}

TEST(Plan, SecondsAreThePapers) {
  const Row row =
      PlannedRow({.model = "alexnet", .hosts = 16, .transport = "hoplite"});
  EXPECT_EQ(row.quorum, 7);
  // 244 MB at 9.69 Gbit/s.
  EXPECT_NEAR(SizesOf(row).transfer, 0.2018, 1e-4);
  EXPECT_NEAR(row.most_samples_per_s, 128 * 15 / (2 * 0.2018 + 0.075), 1);
  EXPECT_GT(StoreBytes(row), 20 * row.payload_bytes);
  EXPECT_THAT(Figure9Arguments(row), Contains("--workers=15"));
  EXPECT_THAT(Figure9Arguments(row), Contains("--iterations=56"));
}

TEST(Plan, AnotherTransportIsAnotherBound) {
  const Row row =
      PlannedRow({.model = "alexnet", .hosts = 16, .transport = "plain"});
  EXPECT_NEAR(row.most_samples_per_s, 128 / 0.2018, 1);
}

}  // namespace
}  // namespace hoplite::experiments
