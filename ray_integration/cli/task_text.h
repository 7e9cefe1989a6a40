// The texts of the command line that concern tasks.
//
// Thread safety: pure functions.

#ifndef HOPLITE_RAY_INTEGRATION_CLI_TASK_TEXT_H_
#define HOPLITE_RAY_INTEGRATION_CLI_TASK_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "ray_integration/scheduler/resources.h"

namespace hoplite::task {

// "cpu=4,gpu=0.5"; nothing is no resources.
// Errors: kInvalidArgument, and what of it is wrong.
absl::StatusOr<Resources> ParseResources(const std::string& text);

// An agent's report (JSON) for people; "" where it is none.
std::string TaskText(const std::string& report);

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_CLI_TASK_TEXT_H_
