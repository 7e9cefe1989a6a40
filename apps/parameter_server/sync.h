// Synchronous stochastic gradient descent by allreduce: no server, but a
// replica of the weights at every worker.
//
// Each update takes the sum of all gradients, which every worker gets and
// applies to its own weights. So all of them have the same, always.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_APPS_PARAMETER_SERVER_SYNC_H_
#define HOPLITE_APPS_PARAMETER_SERVER_SYNC_H_

#include "absl/status/statusor.h"
#include "apps/parameter_server/journal.h"
#include "apps/parameter_server/options.h"
#include "apps/parameter_server/workload.h"
#include "ray_integration/api/task.h"

namespace hoplite::apps {

// Learns until the journal is done; the newest weights. A worker that dies is
// made again and takes the weights of another; the others wait for it.
// Errors: kUnavailable: no replica is left; that of the last update, where
// many in a row could not be made.
absl::StatusOr<task::ObjectRef<Floats>> LearnSynchronously(
    const Options& options, Journal& journal);

}  // namespace hoplite::apps

#endif  // HOPLITE_APPS_PARAMETER_SERVER_SYNC_H_
