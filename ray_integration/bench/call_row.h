// The figures of one system, as a line of JSON and as a column of a table.
//
// Thread safety: values; as safe as int.
// Units: microseconds where a name ends in _us.

#ifndef HOPLITE_RAY_INTEGRATION_BENCH_CALL_ROW_H_
#define HOPLITE_RAY_INTEGRATION_BENCH_CALL_ROW_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace hoplite::task {

struct CallRow {
  std::string system;            // "hoplite", "ray-python", "ray-cpp"
  double tasks_per_s = 0;        // empty ones, in batches
  double task_us = 0;            // round trip of an empty one
  double actor_call_us = 0;      // round trip
  double actor_calls_per_s = 0;  // in batches
  double puts_per_s = 0;         // of 1 KB
};

// One JSON object, each figure under its name; and its inverse.
// Errors: kInvalidArgument: another text, or a figure that is not above zero.
std::string CallRowJson(const CallRow& row);
absl::StatusOr<CallRow> ParseCallRow(absl::string_view json);

// A line for each figure, a column for each system; where there are several,
// by how much the first is better than the best of the others.
// REQUIRES: `rows` is not empty.
std::string CallTable(const std::vector<CallRow>& rows);

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_BENCH_CALL_ROW_H_
