#include "hoplite/testbed/host_process.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/base/status_macros.h"

namespace hoplite::testbed {
namespace {

// write() that fails with EPIPE and raises no signal, whatever the calling
// process does with SIGPIPE.
ssize_t WriteWithoutSignal(int descriptor, absl::string_view text) {
  sigset_t pipe_only;
  sigset_t before;
  sigset_t pending;
  sigemptyset(&pipe_only);
  sigaddset(&pipe_only, SIGPIPE);
  sigpending(&pending);
  const bool was_pending = sigismember(&pending, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
  const ssize_t written = write(descriptor, text.data(), text.size());
  const int error = errno;
  if (written < 0 && error == EPIPE && !was_pending) {
    const timespec no_wait = {};
    sigtimedwait(&pipe_only, nullptr, &no_wait);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

}  // namespace

HostProcess::HostProcess(std::shared_ptr<ChildProcess> process,
                         Descriptor input, Descriptor output,
                         Descriptor standard_error)
    : process_(std::move(process)),
      standard_error_(std::move(standard_error)),
      input_(std::move(input)),
      output_(std::move(output)) {}

HostProcess::~HostProcess() { process_->Kill(); }

absl::StatusOr<bool> HostProcess::ReadMore(absl::Time deadline) {
  char part[16384];
  while (true) {
    if (!WaitUntilReadable(output_.number(), deadline)) {
      return absl::DeadlineExceededError(
          absl::StrCat("process ", pid(), " wrote no further line in time"));
    }
    const ssize_t size = read(output_.number(), part, sizeof(part));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    unread_.append(part, static_cast<std::size_t>(size));
    return true;
  }
}

absl::StatusOr<std::string> HostProcess::ReadLine(absl::Time deadline) {
  std::size_t searched = 0;
  while (true) {
    const std::size_t end = unread_.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    searched = unread_.size();
    HOPLITE_ASSIGN_OR_RETURN(const bool more, ReadMore(deadline));
    if (more) continue;
    if (unread_.empty()) {
      return absl::OutOfRangeError(
          absl::StrCat("process ", pid(), " has written its last line"));
    }
    return std::exchange(unread_, {});
  }
}

absl::StatusOr<std::string> HostProcess::ReadAll(absl::Time deadline) {
  while (true) {
    HOPLITE_ASSIGN_OR_RETURN(const bool more, ReadMore(deadline));
    if (!more) return std::exchange(unread_, {});
  }
}

absl::Status HostProcess::WriteLine(absl::string_view line) {
  if (!input_.is_open()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the input of process ", pid(), " was closed by CloseInput"));
  }
  const std::string text = absl::StrCat(line, "\n");
  absl::string_view left = text;
  while (!left.empty()) {
    const ssize_t written = WriteWithoutSignal(input_.number(), left);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      return absl::UnavailableError(
          absl::StrCat("process ", pid(), " reads no input any more"));
    }
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

void HostProcess::CloseInput() { input_.Close(); }

absl::Status HostProcess::Signal(int number) {
  return process_->Signal(number);
}

absl::StatusOr<int> HostProcess::Wait(absl::Time deadline) {
  return process_->Wait(deadline);
}

std::string HostProcess::StandardError() const {
  return standard_error_.is_open() ? MemoryFileText(standard_error_.number())
                                   : "";
}

}  // namespace hoplite::testbed
