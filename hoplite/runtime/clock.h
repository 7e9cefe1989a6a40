// SystemClock is the only reader of the time in the repository.
//
// It begins with the wall's time when the process first asks and then runs
// evenly: it never goes back, and does not jump where somebody sets the
// machine's clock.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_RUNTIME_CLOCK_H_
#define HOPLITE_RUNTIME_CLOCK_H_

#include "absl/time/time.h"

namespace hoplite {

class SystemClock {
 public:
  static absl::Time Now();
  // The wall's time when Now() will be `time`, as far as one knows: what to
  // give to CondVar::WaitUntil. Ask again after each wait.
  static absl::Time ToWallTime(absl::Time time);
};

}  // namespace hoplite

#endif  // HOPLITE_RUNTIME_CLOCK_H_
