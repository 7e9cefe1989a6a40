// Measures one cell: nodes on emulated hosts, the parameter server on the
// first, a worker on each other.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_EXPERIMENTS_FIGURE9_MEASURE_H_
#define HOPLITE_EXPERIMENTS_FIGURE9_MEASURE_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "experiments/figure9/row.h"
#include "experiments/programs.h"
#include "hoplite/testbed/testbed.h"

namespace hoplite::experiments {

class Figure9 {
 public:
  explicit Figure9(Programs programs) : programs_(std::move(programs)) {}

  // The planned row, filled in. `tick` is called every second. The
  // application has checked that each gradient went in once.
  // Errors: those of the hosts, the nodes and the application.
  absl::StatusOr<Row> Measure(const Row& planned,
                              const std::function<void()>& tick);

  // What TCP on the hosts uses; empty before the first cell.
  std::string congestion_control() const;

 private:
  absl::Status MakeHosts(int count);

  const Programs programs_;
  std::unique_ptr<testbed::Testbed> hosts_;  // of the last cell
};

}  // namespace hoplite::experiments

#endif  // HOPLITE_EXPERIMENTS_FIGURE9_MEASURE_H_
