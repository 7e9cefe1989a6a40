// Memory, as the system counts it.
//
// Thread safety: thread-safe.
// Units: bytes.

#ifndef HOPLITE_CLI_PROCESS_MEMORY_H_
#define HOPLITE_CLI_PROCESS_MEMORY_H_

#include <sys/types.h>

#include <cstdint>

namespace hoplite::cli {

// Resident memory that the process shares with nobody, so without a store; 0
// where there is no such process.
std::uint64_t PrivateBytes(pid_t process);

// What new processes could take now; the largest number where the system does
// not say.
std::uint64_t AvailableBytes();

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_PROCESS_MEMORY_H_
