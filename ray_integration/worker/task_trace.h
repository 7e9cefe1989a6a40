// Writes what a worker has run into its trace.
//
// Thread safety: one thread at a time.

#ifndef HOPLITE_RAY_INTEGRATION_WORKER_TASK_TRACE_H_
#define HOPLITE_RAY_INTEGRATION_WORKER_TASK_TRACE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "ray_integration/wire/trace_message.h"
#include "ray_integration/wire/values.h"
#include "ray_integration/worker/span_ring.h"

namespace hoplite::task {

class TaskTrace {
 public:
  // Ownership: `ring` outlives this.
  explicit TaskTrace(SpanRing& ring) : ring_(ring) {}

  // `task`, whom `caller` wanted, ran from `begun` to `ended`, and gave a
  // result of `bytes`, or the error. True where the agent has to be told that
  // spans wait.
  bool Add(const TaskInfo& task, const ProcessId& caller, absl::Time begun,
           absl::Time ended, const absl::Status& status, std::uint64_t bytes);

 private:
  SpanRing& ring_;
  TaskSpan span_;  // used again and again, so that it has its memory
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_WORKER_TASK_TRACE_H_
