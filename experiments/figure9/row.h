// A cell of Figure 9 and what was measured in it: a line of figure9.csv.
//
// Thread safety: values; as safe as int.

#ifndef HOPLITE_EXPERIMENTS_FIGURE9_ROW_H_
#define HOPLITE_EXPERIMENTS_FIGURE9_ROW_H_

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace hoplite::experiments {

// Whether objects move by Hoplite's schedules, or as in plain object stores.
inline constexpr char kHopliteTransport[] = "hoplite";
inline constexpr char kPlainTransport[] = "plain";

struct Cell {
  std::string model;  // as the application's --model
  int hosts = 0;      // one of them the server's
  std::string transport;

  auto operator<=>(const Cell&) const = default;
};

// "AlexNet, 8 hosts, plain".
std::string TitleOf(const Cell& cell);

struct Row {
  Cell cell;
  // Of parts of the timed run, one after the other.
  double median_samples_per_s = 0;
  double min_samples_per_s = 0;
  double max_samples_per_s = 0;
  // What the transport could reach at most, and what limits it: see bound.h.
  double most_samples_per_s = 0;
  std::string limit;
  double idle = 0;  // 0 to 1, all processors
  int quorum = 0;   // gradients of an update
  int updates = 0;  // timed
  double seconds = 0;
  std::uint64_t payload_bytes = 0;
  double compute_ms = 0;
  double link_mbit = 0;
  // A row stands as long as these three are the same: see results.h.
  std::string options;
  std::string machine;
  std::string build;
};

std::string RowHeader();
// Without the end of the line; a comma in a text becomes a semicolon.
std::string RowLine(const Row& row);

// The rows of a whole file. Columns are found by their names.
// Errors: kInvalidArgument, naming the line.
absl::StatusOr<std::vector<Row>> ParseRows(absl::string_view text);

}  // namespace hoplite::experiments

#endif  // HOPLITE_EXPERIMENTS_FIGURE9_ROW_H_
