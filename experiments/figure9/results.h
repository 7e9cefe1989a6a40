// The rows that stand: a CSV file that grows cell by cell, so that a run which
// was interrupted goes on where it stopped.
//
// A row stands as long as options, machine and build are those of this run;
// another one is measured anew, and its row replaced.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_EXPERIMENTS_FIGURE9_RESULTS_H_
#define HOPLITE_EXPERIMENTS_FIGURE9_RESULTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/figure9/row.h"

namespace hoplite::experiments {

class Results {
 public:
  // Errors: kFailedPrecondition: the file cannot be read or written;
  // kInvalidArgument: it is no such file.
  static absl::StatusOr<Results> Open(const std::string& path);

  // Whether the cell's row stands, for a row that has these three texts.
  bool Stands(const Row& wanted) const;
  // The file has it when this returns. Errors: kFailedPrecondition.
  absl::Status Add(const Row& row);

  // At most one for each cell.
  const std::vector<Row>& rows() const { return rows_; }

 private:
  Results(std::string path, std::vector<Row> rows);

  std::string path_;
  std::vector<Row> rows_;
};

}  // namespace hoplite::experiments

#endif  // HOPLITE_EXPERIMENTS_FIGURE9_RESULTS_H_
