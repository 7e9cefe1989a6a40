#include "ray_integration/api/runtime.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace hoplite::task {
namespace {

std::atomic<Runtime*> installed = nullptr;

}  // namespace

Runtime& Runtime::Current() {
  Runtime* runtime = installed.load(std::memory_order_acquire);
  if (runtime == nullptr) [[unlikely]] {
    std::fputs(
        "hoplite::task is not running: call task::Init(argc, argv) as the "
        "first statement of main, see that it returned OK, and use no task "
        "after task::Shutdown()\n",
        stderr);
    std::abort();
  }
  return *runtime;
}

void Runtime::Install(Runtime* runtime) {
  installed.store(runtime, std::memory_order_release);
}

bool Runtime::IsInstalled() {
  return installed.load(std::memory_order_acquire) != nullptr;
}

}  // namespace hoplite::task
