// Which cells of Figure 9 are run, and how.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_EXPERIMENTS_FIGURE9_PLAN_H_
#define HOPLITE_EXPERIMENTS_FIGURE9_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "experiments/figure9/bound.h"
#include "experiments/figure9/row.h"

namespace hoplite::experiments {

// 9.69 Gbit/s, divided by the scale of the payloads.
inline constexpr std::uint64_t kFigure9LinkBitsPerSecond = 250'000'000;

// Cells of the same number of hosts stand together. `quick`: the smallest
// cluster and AlexNet alone.
std::vector<Cell> Figure9Cells(bool quick);

// The cell's row before it is measured: all but what was measured, machine
// and build. REQUIRES: a cell of Figure9Cells.
Row PlannedRow(const Cell& cell);
Sizes SizesOf(const Row& row);
// Warm-up and all, with starting the nodes.
absl::Duration ExpectedTime(const Row& row);
std::uint64_t StoreBytes(const Row& row);
// The application's arguments, without the program.
std::vector<std::string> Figure9Arguments(const Row& row);

}  // namespace hoplite::experiments

#endif  // HOPLITE_EXPERIMENTS_FIGURE9_PLAN_H_
