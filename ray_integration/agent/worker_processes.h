// The worker processes of a node: starts them, reads what they write, and sees
// how they end.
//
// A worker is the driver's program, with its arguments, folder and
// environment, in a session of its own.
//
// Thread safety: thread-safe. The callbacks are called on a thread of this
// class, one at a time.

#ifndef HOPLITE_RAY_INTEGRATION_AGENT_WORKER_PROCESSES_H_
#define HOPLITE_RAY_INTEGRATION_AGENT_WORKER_PROCESSES_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "hoplite/base/mutex.h"
#include "hoplite/runtime/background_thread.h"
#include "hoplite/runtime/socket_folder.h"
#include "ray_integration/wire/values.h"

namespace hoplite::task {

struct WorkerProcessCalls {
  // A line that the worker has written, without its end.
  std::function<void(std::uint64_t token, bool error, std::string line)> line;
  // It is gone, and all its output has been told.
  std::function<void(std::uint64_t token, std::string why)> ended;
};

class WorkerProcesses {
 public:
  explicit WorkerProcesses(WorkerProcessCalls calls);
  // Kills all, and waits for them.
  ~WorkerProcesses();

  // Starts one. `token` names it here, and is told to it with `environment`,
  // "NAME=value" each, beside the program's. `inherited`: a descriptor that it
  // keeps under its number, or -1.
  // Errors: kNotFound without the program, kResourceExhausted.
  absl::Status Start(std::uint64_t token, const ProgramInfo& program,
                     const std::vector<std::string>& environment,
                     int inherited);
  // SIGKILL; harmless where it has ended.
  void Kill(std::uint64_t token);
  void KillAll();

 private:
  struct Stream {
    FileDescriptor read;
    std::string unread;
  };
  struct Child {
    pid_t pid = -1;
    FileDescriptor life;  // a pidfd
    Stream streams[2];    // standard output, standard error
  };

  void Run();
  void Poke();
  void ReadLines(std::uint64_t token, Child& child, int stream);
  bool Reap(std::uint64_t token, Child& child);

  const WorkerProcessCalls calls_;
  FileDescriptor wake_;
  Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::uint64_t, std::shared_ptr<Child>> children_
      ABSL_GUARDED_BY(mutex_);
  BackgroundThread thread_;  // last: its work uses the rest
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_AGENT_WORKER_PROCESSES_H_
