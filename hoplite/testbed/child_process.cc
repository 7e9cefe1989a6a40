#include "hoplite/testbed/child_process.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"

namespace hoplite::testbed {

ChildProcess::ChildProcess(pid_t pid)
    : pid_(pid),
      descriptor_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {
  HOPLITE_CHECK(descriptor_.is_open());
}

ChildProcess::~ChildProcess() { Kill(); }

bool ChildProcess::Reap() {
  if (status_.has_value()) return true;
  int status = 0;
  const pid_t reaped = waitpid(pid_, &status, WNOHANG);
  if (reaped == 0 || (reaped < 0 && errno == EINTR)) return false;
  // Who ignores SIGCHLD has no statuses; such an end counts as a failure.
  if (reaped < 0) {
    status_ = 255;
  } else {
    status_ =
        WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  return true;
}

absl::Status ChildProcess::Signal(int number) {
  MutexLock lock(mutex_);
  if (Reap()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "process ", pid_, " gets no signal: it ended with status ", *status_));
  }
  if (kill(pid_, number) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("signal ", number));
}

void ChildProcess::Kill() {
  {
    MutexLock lock(mutex_);
    if (status_.has_value()) return;
    // The process leads its session and group; until it is reaped the group
    // is its own.
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);
  }
  Wait(absl::InfiniteFuture()).IgnoreError();
}

absl::StatusOr<int> ChildProcess::Wait(absl::Time deadline) {
  while (true) {
    {
      MutexLock lock(mutex_);
      if (Reap()) return *status_;
    }
    if (!WaitUntilReadable(descriptor_.number(), deadline)) {
      return absl::DeadlineExceededError(
          absl::StrCat("process ", pid_, " still runs"));
    }
  }
}

}  // namespace hoplite::testbed
