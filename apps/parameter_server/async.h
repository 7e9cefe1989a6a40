// Asynchronous stochastic gradient descent with a parameter server.
//
// Each update takes the sum of the first gradients that are ready. Only the
// workers whose gradients are in it get the new weights; the others go on
// computing at those that they have.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_APPS_PARAMETER_SERVER_ASYNC_H_
#define HOPLITE_APPS_PARAMETER_SERVER_ASYNC_H_

#include "absl/status/statusor.h"
#include "apps/parameter_server/journal.h"
#include "apps/parameter_server/options.h"
#include "apps/parameter_server/workload.h"
#include "ray_integration/api/task.h"

namespace hoplite::apps {

// Learns until the journal is done; the newest weights. A worker that dies,
// with its node or without, is made again, and the others go on meanwhile.
// Errors: that of the last update, where many in a row could not be made.
absl::StatusOr<task::ObjectRef<Floats>> LearnAsynchronously(
    const Options& options, Journal& journal);

}  // namespace hoplite::apps

#endif  // HOPLITE_APPS_PARAMETER_SERVER_ASYNC_H_
