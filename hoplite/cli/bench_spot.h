// Finds the place of a fault in a run, by what the nodes report: roles in
// trees, and how much of each object or output is there.
//
// The stream into a relay is the relay's own copy. The stream out of a node is
// judged by the copy, or the output, of the one that reads it, as only that
// one knows what has arrived. So some node watches, and some node is lost.
//
// Thread safety: thread-safe.
// Units: bytes.

#ifndef HOPLITE_CLI_BENCH_SPOT_H_
#define HOPLITE_CLI_BENCH_SPOT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "hoplite/base/id.h"
#include "hoplite/base/random.h"
#include "hoplite/cli/bench_fault.h"
#include "hoplite/core/event.h"
#include "hoplite/core/node_status.h"

namespace hoplite::cli {

struct FaultSpot {
  int victim = 0;     // by its place among the reports
  int watcher = 0;    // likewise
  PullKey stream;     // at the watcher
  bool read = false;  // the watcher must be read from at that moment
};

// One of the places that the nodes report, drawn by `random`. It has not come
// further than the fault says, and its victim is one of the first `victims`
// nodes. `object` is what is broadcast, a reduction's target, or both.
// nullopt: there is none as yet.
std::optional<FaultSpot> FindSpot(const Fault& fault, const ObjectId& object,
                                  const std::vector<NodeStatus>& reports,
                                  int victims, Random& random);

struct StreamProgress {
  std::uint64_t bytes = 0;
  std::uint64_t size = 0;
  std::uint32_t readers = 0;  // peers; not known of outputs

  double percent() const {
    return size == 0
               ? 100.0
               : 100.0 * static_cast<double>(bytes) / static_cast<double>(size);
  }
};

// nullopt: the node has no such stream.
std::optional<StreamProgress> ProgressOf(const NodeStatus& report,
                                         const PullKey& stream);

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_BENCH_SPOT_H_
