// Starts a program inside namespaces: new ones, or those of a testbed.
//
// The calling process may have many threads and so can neither unshare nor
// join a user namespace itself. A fork can: it has one thread. So each launch
// is a fork that enters the namespaces and from there clones the process that
// becomes the program, with CLONE_PARENT: the program is a child of the
// calling process, though it lives in another PID namespace.
//
//     calling process --fork--> (enters namespaces; ends) --clone--+
//            ^-- parent of -------------------------- program <----+
//
// Thread safety: thread-safe.

#ifndef HOPLITE_TESTBED_LAUNCH_H_
#define HOPLITE_TESTBED_LAUNCH_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace hoplite::testbed {

struct LaunchRequest {
  // The first is the program: a path, or a name looked up in PATH and then in
  // the folders of system programs.
  std::vector<std::string> arguments = {};
  // "NAME=value", each in addition to or instead of the calling process's.
  std::vector<std::string> environment = {};
  // Empty: the calling process's.
  std::string working_directory = {};
  // Not closed; -1 is /dev/null.
  int standard_input = -1;
  int standard_output = -1;
  int standard_error = -1;

  // A descriptor of the process whose user, mount and PID namespaces are
  // joined; -1: the program is the first of new ones, and of a new network.
  int join = -1;
  // A file that stands for the network to join, seen from the joined
  // namespaces; empty: the network of `join`.
  std::string network = {};
  // The program sees this name as its host's; empty: that of `join`.
  std::string host_name = {};
};

// Starts the program in a session of its own, with no other descriptors than
// the three and with default signals, and returns its id as the calling
// process sees it.
//
// Errors: kNotFound without the program or its working directory,
// kPermissionDenied where the system forbids namespaces, kInvalidArgument
// without arguments, kResourceExhausted, kInternal for all else.
// Ownership: the caller must wait for the process.
absl::StatusOr<pid_t> Launch(const LaunchRequest& request);

}  // namespace hoplite::testbed

#endif  // HOPLITE_TESTBED_LAUNCH_H_
