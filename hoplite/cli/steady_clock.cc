#include "hoplite/cli/steady_clock.h"

#include <sys/prctl.h>

#include <cerrno>
#include <ctime>

namespace hoplite::cli {
namespace {

constexpr std::int64_t kNanosPerSecond = 1000000000;

}  // namespace

std::int64_t SteadyNanos() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNanosPerSecond + now.tv_nsec;
}

void SleepUntilSteadyNanos(std::int64_t nanos) {
  timespec until;
  until.tv_sec = nanos / kNanosPerSecond;
  until.tv_nsec = nanos % kNanosPerSecond;
  // The system may be late by the thread's slack, 50 us unless asked.
  prctl(PR_SET_TIMERSLACK, 1);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) ==
         EINTR) {
  }
  prctl(PR_SET_TIMERSLACK, 0);  // as before
}

}  // namespace hoplite::cli
