// Whether a result is known to be an error, without waiting for it.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_APPS_PARAMETER_SERVER_FAILURE_H_
#define HOPLITE_APPS_PARAMETER_SERVER_FAILURE_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "ray_integration/api/task.h"

namespace hoplite::apps {

// OK: it is a value, or not known as yet.
template <typename T>
absl::Status FailureOf(const task::ObjectRef<T>& result) {
  const absl::Status status = task::Get(result, absl::ZeroDuration()).status();
  return absl::IsDeadlineExceeded(status) ? absl::OkStatus() : status;
}

}  // namespace hoplite::apps

#endif  // HOPLITE_APPS_PARAMETER_SERVER_FAILURE_H_
