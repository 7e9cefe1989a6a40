// A program on this machine itself, on no emulated host, with the same pipes.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_TESTBED_LOCAL_PROCESS_H_
#define HOPLITE_TESTBED_LOCAL_PROCESS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "hoplite/testbed/host_process.h"

namespace hoplite::testbed {

// Starts a program in a session of its own. Unlike a host's programs it does
// not end with this process: it should end with its input.
//
// Errors: kNotFound without the program, kInvalidArgument without arguments or
// with a working directory, kResourceExhausted.
absl::StatusOr<std::unique_ptr<HostProcess>> StartLocalProcess(
    const HostCommand& command);

}  // namespace hoplite::testbed

#endif  // HOPLITE_TESTBED_LOCAL_PROCESS_H_
