// The task that runs on this thread.
//
// Thread safety: each thread has its own.

#ifndef HOPLITE_RAY_INTEGRATION_WORKER_RUNNING_TASK_H_
#define HOPLITE_RAY_INTEGRATION_WORKER_RUNNING_TASK_H_

#include <cstdint>

#include "ray_integration/worker/executor.h"

namespace hoplite::task {

namespace internal {
inline thread_local Incoming* running_task = nullptr;
}  // namespace internal

// Null where none runs on this thread.
inline Incoming* RunningTask() { return internal::running_task; }
// 0 where none does.
inline std::uint32_t RunningDepth() {
  return RunningTask() == nullptr ? 0 : RunningTask()->info.depth;
}

// It runs while this lives.
class RunningTaskScope {
 public:
  explicit RunningTaskScope(Incoming& task) { internal::running_task = &task; }
  ~RunningTaskScope() { internal::running_task = nullptr; }
  RunningTaskScope(const RunningTaskScope&) = delete;
  RunningTaskScope& operator=(const RunningTaskScope&) = delete;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_WORKER_RUNNING_TASK_H_
