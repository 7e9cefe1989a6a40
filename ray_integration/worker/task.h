// A task, or an actor's call, as its owner keeps it: until it has a result, and
// after that as the recipe by which the result can be made again.
//
// Thread safety: none; the runtime's lock.

#ifndef HOPLITE_RAY_INTEGRATION_WORKER_TASK_H_
#define HOPLITE_RAY_INTEGRATION_WORKER_TASK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "ray_integration/wire/values.h"

namespace hoplite::task {

enum class TaskPhase : std::uint8_t {
  kWaiting,  // for its arguments
  kQueued,   // for a worker
  kSent,     // to a worker, which has not answered
  kDone,
};

struct Task {
  ~Task();

  TaskInfo info;  // arguments by reference have their reference only
  ResourceList resources;
  std::string host;
  bool spread = false;
  bool retry_errors = false;
  int retries_left = 0;

  TaskPhase phase = TaskPhase::kWaiting;
  std::uint32_t unsettled = 0;  // arguments that are pending
  bool cancelled = false;
  Endpoint worker;  // sent to it
  absl::Time sent_at;
  absl::Time queued_at;
  std::uint64_t lease = 0;  // or 0: of an actor's call
  // Objects that are held until it is done.
  std::vector<ObjectId> held;
  // How arguments can be made again, beside info.arguments; null where they
  // cannot.
  std::vector<std::shared_ptr<Task>> recipes;
  // What it counts as a recipe, in the sum of all of them.
  std::uint64_t recipe_bytes = 0;
  std::shared_ptr<std::uint64_t> lineage_bytes;

  bool is_call() const { return info.sequence != 0; }
};

using TaskPtr = std::shared_ptr<Task>;

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_WORKER_TASK_H_
