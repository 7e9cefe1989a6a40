// What runs in the fork of a launch: enters namespaces, and executes.
//
// The fork has one thread and a copy of all locks of its many-threaded
// parent, held for ever by threads that it does not have. So it only makes
// system calls, raw ones: the C library's fork runs handlers, a sanitizer's
// brings a thread of its own to life, with which no namespace can be made,
// and its wrappers of the other calls may wait for such a lock.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_TESTBED_LAUNCH_FORK_H_
#define HOPLITE_TESTBED_LAUNCH_FORK_H_

#include <sys/types.h>

#include <array>
#include <string>
#include <vector>

namespace hoplite::testbed {

// What the fork and the program tell the calling process before the exec.
enum class LaunchStep {
  kStarted,
  kNewNamespaces,
  kMapUser,
  kJoin,
  kNetwork,
  kHostName,
  kClone,
  kWorkingDirectory,
  kExecute,
};
struct LaunchReport {
  LaunchStep step;
  // The process's id for kStarted, otherwise errno.
  int number;
};

// Everything that the fork needs, made before it: after it nothing may
// allocate. For the fields that are not explained see LaunchRequest.
struct LaunchPlan {
  // Both end with a null pointer.
  std::vector<char*> arguments;
  std::vector<char*> environment;
  // Above 2, so that no copy overwrites one that is still needed.
  std::array<int, 3> standard = {};
  const char* working_directory = nullptr;
  int join = -1;
  // Null for none.
  const char* network = nullptr;
  std::string host_name;
  std::string user_map;
  std::string group_map;
  // Where LaunchReports are written; closed on exec.
  int report = -1;
};

// Forks; the fork enters the namespaces, clones the program as a child of the
// calling process, and ends. Returns the fork's id, or -1 and errno.
//
// REQUIRES: the plan is complete.
pid_t ForkAndLaunch(const LaunchPlan& plan);

}  // namespace hoplite::testbed

#endif  // HOPLITE_TESTBED_LAUNCH_FORK_H_
