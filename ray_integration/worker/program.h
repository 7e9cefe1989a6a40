// Which program this process is: what an agent starts its workers with.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_RAY_INTEGRATION_WORKER_PROGRAM_H_
#define HOPLITE_RAY_INTEGRATION_WORKER_PROGRAM_H_

#include "absl/status/statusor.h"
#include "ray_integration/wire/values.h"

namespace hoplite::task {

// A worker tells its agent what it is started with.
inline constexpr char kTokenVariable[] = "HOPLITE_TASK_TOKEN";
inline constexpr char kBegunVariable[] = "HOPLITE_TASK_BEGUN";

// Path, arguments, folder, environment, and which build it is.
// Errors: kInternal where the system does not tell.
absl::StatusOr<ProgramInfo> ThisProgram();

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_WORKER_PROGRAM_H_
