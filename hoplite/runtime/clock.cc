#include "hoplite/runtime/clock.h"

#include <chrono>

#include "absl/time/clock.h"

namespace hoplite {
namespace {

// The two clocks, read at one moment.
struct Start {
  absl::Time wall = absl::Now();
  std::chrono::steady_clock::time_point steady =
      std::chrono::steady_clock::now();
};

}  // namespace

absl::Time SystemClock::Now() {
  static const Start start;
  return start.wall +
         absl::FromChrono(std::chrono::steady_clock::now() - start.steady);
}

absl::Time SystemClock::ToWallTime(absl::Time time) {
  if (time == absl::InfiniteFuture()) return time;
  return absl::Now() + (time - Now());
}

}  // namespace hoplite
