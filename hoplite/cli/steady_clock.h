// The machine's steady clock, which is the same for all processes of one
// machine: what a benchmark's members start by.
//
// Thread safety: thread-safe.
// Units: nanoseconds since the machine's start.

#ifndef HOPLITE_CLI_STEADY_CLOCK_H_
#define HOPLITE_CLI_STEADY_CLOCK_H_

#include <cstdint>

namespace hoplite::cli {

std::int64_t SteadyNanos();
// Returns at once where the time has passed.
void SleepUntilSteadyNanos(std::int64_t nanos);

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_STEADY_CLOCK_H_
