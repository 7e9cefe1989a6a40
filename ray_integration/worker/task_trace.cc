#include "ray_integration/worker/task_trace.h"

#include <algorithm>

#include "absl/strings/string_view.h"

namespace hoplite::task {
namespace {

// What is longer is cut: a span has to stay small.
constexpr std::size_t kNameBytesMax = 128;
constexpr std::size_t kErrorBytesMax = 200;
constexpr std::size_t kInputsMax = 64;

Outcome OutcomeOf(const absl::Status& status) {
  if (status.ok()) return Outcome::kDone;
  return absl::IsCancelled(status) ? Outcome::kCancelled : Outcome::kFailed;
}

}  // namespace

bool TaskTrace::Add(const TaskInfo& task, const ProcessId& caller,
                    absl::Time begun, absl::Time ended,
                    const absl::Status& status, std::uint64_t bytes) {
  span_.result = task.result;
  span_.attempt = task.attempt;
  span_.actor = task.actor;
  span_.creates = task.creates;
  span_.function.assign(task.function, 0, kNameBytesMax);
  span_.caller = caller;
  span_.depth = task.depth;
  span_.begun = absl::ToUnixNanos(begun);
  span_.ended = absl::ToUnixNanos(ended);
  span_.outcome = OutcomeOf(status);
  const absl::string_view error = status.message().substr(0, kErrorBytesMax);
  span_.error.assign(error.data(), error.size());
  span_.bytes = bytes;
  span_.inputs.clear();
  for (const ArgumentInfo& argument : task.arguments) {
    const bool by_reference = argument.reference.id != ObjectId();
    if (by_reference && span_.inputs.size() < kInputsMax) {
      span_.inputs.push_back(argument.reference.id);
    }
  }
  return ring_.Write(span_);
}

}  // namespace hoplite::task
