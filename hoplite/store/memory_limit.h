// How much memory this process may still take, before the kernel starts to
// end processes.
//
// The smallest of what the machine has available and of what each control
// group above this process leaves (versions 1 and 2), where files that the
// kernel merely caches count as free.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_STORE_MEMORY_LIMIT_H_
#define HOPLITE_STORE_MEMORY_LIMIT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace hoplite {

struct AvailableMemory {
  std::uint64_t bytes = UINT64_MAX;           // UINT64_MAX: nothing limits it
  std::string limited_by = "no known limit";  // for messages to people
};

// Reads /proc and /sys below `root`. What cannot be read limits nothing.
AvailableMemory FindAvailableMemory(absl::string_view root = "");

}  // namespace hoplite

#endif  // HOPLITE_STORE_MEMORY_LIMIT_H_
