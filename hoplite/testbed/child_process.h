// A child of this process: signals for it, and its exit status, once known
// for ever.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_TESTBED_CHILD_PROCESS_H_
#define HOPLITE_TESTBED_CHILD_PROCESS_H_

#include <sys/types.h>

#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hoplite/base/mutex.h"
#include "hoplite/testbed/descriptor.h"

namespace hoplite::testbed {

class ChildProcess {
 public:
  // REQUIRES: `pid` is a child of this process that nobody else waits for.
  explicit ChildProcess(pid_t pid);
  // Kills the process, where it still runs, and waits for its end.
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  // A descriptor that stands for the process.
  int descriptor() const { return descriptor_.number(); }

  // Errors: kFailedPrecondition where the process has ended,
  // kInvalidArgument where there is no such signal.
  absl::Status Signal(int number);

  // Kills the process and all others of its session, and waits for its end.
  void Kill();

  // Waits for the end: the exit status, or 128 and the number of the signal
  // that ended it. May be called again.
  //
  // Errors: kDeadlineExceeded.
  absl::StatusOr<int> Wait(absl::Time deadline);

 private:
  // Collects the exit status where the process has ended.
  bool Reap() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const pid_t pid_;
  const Descriptor descriptor_;
  Mutex mutex_;
  // While it has none, `pid_` cannot stand for another process.
  std::optional<int> status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hoplite::testbed

#endif  // HOPLITE_TESTBED_CHILD_PROCESS_H_
