// How a task's error reads to whoever gets its result.
//
//   task 'Divide' failed: division by zero
//   task 'Report' did not run, since its argument 1 is an error: task 'Sum'
//   did not run, since its argument 2 is an error: task 'Divide' failed: ...
//
// The code and the payloads of the first error stay. Every runtime uses this,
// so that a chain looks the same wherever its links were made.
//
// Thread safety: functions of their arguments.

#ifndef HOPLITE_RAY_INTEGRATION_API_TASK_ERROR_H_
#define HOPLITE_RAY_INTEGRATION_API_TASK_ERROR_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace hoplite::task {

// A longer message loses its middle: chains have no bound.
inline constexpr std::size_t kErrorMessageBytesMax = 4096;

// What the function returned or threw. REQUIRES: !why.ok(), as below.
absl::Status FailedTask(absl::string_view name, const absl::Status& why);
// `argument`, counted from 0, was a reference to a result that is `why`.
absl::Status NotRunTask(absl::string_view name, std::size_t argument,
                        const absl::Status& why);

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_API_TASK_ERROR_H_
