// A program that runs on a host of a testbed, and the pipes to it.
//
// Not responsible for: the host; see testbed.h, whose Testbed::Start makes it.
// Thread safety: one thread may read, one write and any number signal and
// wait at the same time.

#ifndef HOPLITE_TESTBED_HOST_PROCESS_H_
#define HOPLITE_TESTBED_HOST_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/testbed/child_process.h"
#include "hoplite/testbed/descriptor.h"

namespace hoplite::testbed {

struct HostCommand {
  // The program, a path or a name looked up in PATH, and its arguments.
  std::vector<std::string> arguments;
  // "NAME=value", each in addition to or instead of the calling process's.
  std::vector<std::string> environment = {};
  // Empty: the calling process's.
  std::string working_directory = {};
  // False: standard error is the calling process's. True: it is kept and
  // StandardError() returns it.
  bool capture_standard_error = false;
};

class HostProcess {
 public:
  // For Testbed. `standard_error` may be none.
  HostProcess(std::shared_ptr<ChildProcess> process, Descriptor input,
              Descriptor output, Descriptor standard_error);
  // Kills the process and those of its session, where they still run.
  ~HostProcess();
  HostProcess(const HostProcess&) = delete;
  HostProcess& operator=(const HostProcess&) = delete;

  // The next line of its standard output, without the line's end. A last
  // line needs no end.
  //
  // Errors: kOutOfRange after the last line, kDeadlineExceeded (the begin of
  // a line is kept for the next call).
  absl::StatusOr<std::string> ReadLine(absl::Time deadline);

  // All of its standard output that was not read, until it closes it.
  //
  // Errors: kDeadlineExceeded (what came is kept for the next call).
  absl::StatusOr<std::string> ReadAll(absl::Time deadline);

  // Writes the line and its end to its standard input. Blocks while the pipe
  // is full.
  //
  // Errors: kUnavailable where the process has closed its input or ended,
  // kFailedPrecondition after CloseInput.
  absl::Status WriteLine(absl::string_view line);

  // The process reads the end of its input. Harmless when repeated.
  void CloseInput();

  // Errors: kFailedPrecondition where the process has ended,
  // kInvalidArgument where there is no such signal.
  absl::Status Signal(int number);

  // Waits for the end of the process: its exit status, or 128 and the number
  // of the signal that ended it. May be called again. A process that waits
  // for the end of its input ends only after CloseInput.
  //
  // Errors: kDeadlineExceeded.
  absl::StatusOr<int> Wait(absl::Time deadline);

  // What it has written to standard error so far; empty unless captured.
  std::string StandardError() const;

  // As the calling process sees it; on its host it has another.
  pid_t pid() const { return process_->pid(); }

 private:
  // Appends what comes next to `unread_`; false at the end of the output.
  absl::StatusOr<bool> ReadMore(absl::Time deadline);

  const std::shared_ptr<ChildProcess> process_;
  const Descriptor standard_error_;
  // The writer's.
  Descriptor input_;
  // The reader's.
  const Descriptor output_;
  std::string unread_;
};

}  // namespace hoplite::testbed

#endif  // HOPLITE_TESTBED_HOST_PROCESS_H_
