// The speed-up table of Figure 9, from its rows.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_EXPERIMENTS_FIGURE9_REPORT_H_
#define HOPLITE_EXPERIMENTS_FIGURE9_REPORT_H_

#include <string>
#include <vector>

#include "experiments/figure9/row.h"

namespace hoplite::experiments {

// A line for each model and number of hosts of which there is a row; "-" is
// what was not measured, or is not known of the paper.
std::string SpeedUpTable(const std::vector<Row>& rows);

}  // namespace hoplite::experiments

#endif  // HOPLITE_EXPERIMENTS_FIGURE9_REPORT_H_
