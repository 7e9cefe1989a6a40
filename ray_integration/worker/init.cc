#include "ray_integration/api/init.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "ray_integration/api/runtime.h"
#include "ray_integration/worker/process_runtime.h"
#include "ray_integration/worker/program.h"

namespace hoplite::task {
namespace {

// Kept until the process ends: references that are static may outlive main.
ProcessRuntime* the_runtime = nullptr;

template <typename T>
T NumberFrom(const char* variable, T otherwise) {
  const char* const text = std::getenv(variable);
  T number = otherwise;
  if (text == nullptr || !absl::SimpleAtoi(text, &number)) return otherwise;
  return number;
}

}  // namespace

absl::Status Init(int, char**, const InitOptions& options) {
  if (the_runtime != nullptr) {
    return absl::FailedPreconditionError("Init was called already");
  }
  const ProcessOptions process{
      .node = options.node,
      .token = NumberFrom<std::uint64_t>(kTokenVariable, 0),
      .memory = NumberFrom(kBegunVariable, -1)};
  absl::StatusOr<std::unique_ptr<ProcessRuntime>> runtime =
      ProcessRuntime::Start(process);
  if (!runtime.ok()) {
    // A worker has nobody to tell.
    if (process.is_worker()) _exit(1);
    return runtime.status();
  }
  the_runtime = runtime->release();
  Runtime::Install(the_runtime);
  if (process.is_worker()) {
    the_runtime->RunTasks();
    std::fflush(nullptr);
    _exit(0);
  }
  std::atexit(Shutdown);
  return absl::OkStatus();
}

void Shutdown() {
  if (the_runtime != nullptr) the_runtime->Stop();
}

}  // namespace hoplite::task
