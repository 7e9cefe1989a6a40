// A process of chaos whose lines come to one place with those of all others.
//
// Thread safety: ChaosInbox is thread-safe; ChaosProcess: one thread at a time.

#ifndef HOPLITE_CLI_CHAOS_PROCESS_H_
#define HOPLITE_CLI_CHAOS_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/base/mutex.h"
#include "hoplite/testbed/host_process.h"

namespace hoplite::cli {

struct ChaosLine {
  std::uint64_t process = 0;
  std::optional<std::string> text;  // none: the process has ended
};

class ChaosInbox {
 public:
  void Add(ChaosLine line);
  // The next line, where one comes before the deadline.
  std::optional<ChaosLine> Next(absl::Time deadline);

 private:
  Mutex mutex_;
  CondVar added_;
  std::deque<ChaosLine> lines_ ABSL_GUARDED_BY(mutex_);
};

class ChaosProcess {
 public:
  // Its lines come under `number`. Ownership: `inbox` must outlive this.
  ChaosProcess(std::uint64_t number,
               std::unique_ptr<testbed::HostProcess> process,
               ChaosInbox* inbox);
  // Kills it, also where it is stopped, and waits for its end.
  ~ChaosProcess();

  std::uint64_t number() const { return number_; }
  pid_t pid() const { return process_->pid(); }
  // Errors: as those of HostProcess.
  absl::Status WriteLine(absl::string_view line) {
    return process_->WriteLine(line);
  }
  absl::Status Signal(int number) { return process_->Signal(number); }
  // The end of what it has logged; empty where that is seen already.
  std::string LastWords() const;

 private:
  const std::uint64_t number_;
  const std::unique_ptr<testbed::HostProcess> process_;
  std::thread reader_;
};

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_CHAOS_PROCESS_H_
