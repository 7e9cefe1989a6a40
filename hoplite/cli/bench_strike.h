// Loses one node of a benchmark's cluster in the middle of a run.
//
// All members are asked for what their nodes report until a place of that kind
// is there; then one of them watches its node, and says when the stream has
// come so far.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CLI_BENCH_STRIKE_H_
#define HOPLITE_CLI_BENCH_STRIKE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "hoplite/cli/bench_cluster.h"
#include "hoplite/cli/bench_fault.h"

namespace hoplite::cli {

struct StrikePlan {
  Fault fault;      // a place
  ObjectId object;  // what is broadcast, or a reduction's target
  int victims = 0;  // only the first so many members may be lost
  std::uint64_t seed = 1;
  absl::Time deadline;
};

struct Strike {
  int victim = 0;
  double percent = 0;    // how far the stream had come, when it was seen
  double detect_ms = 0;  // until all others knew that the node is dead
};

// Returns when all others know. REQUIRES: all members have been told to run.
// Errors: kFailedPrecondition: the run ended, or went past the point, before
// it was seen there; kDeadlineExceeded; what members answer.
absl::StatusOr<Strike> StrikeInRun(BenchCluster& cluster,
                                   const StrikePlan& plan);

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_BENCH_STRIKE_H_
