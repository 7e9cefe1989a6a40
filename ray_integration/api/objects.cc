#include "ray_integration/api/objects.h"

#include "ray_integration/api/runtime.h"

namespace hoplite::task {

bool IsCancelled() {
  return Runtime::IsInstalled() && Runtime::Current().IsCancelled();
}

}  // namespace hoplite::task
