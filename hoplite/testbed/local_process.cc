#include "hoplite/testbed/local_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/testbed/child_process.h"
#include "hoplite/testbed/descriptor.h"

namespace hoplite::testbed {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// This process's environment, with the command's in front: the first of a
// name counts.
std::vector<std::string> Environment(const HostCommand& command) {
  std::vector<std::string> all = command.environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    all.emplace_back(*entry);
  }
  return all;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HostProcess>> StartLocalProcess(
    const HostCommand& command) {
  if (command.arguments.empty()) {
    return absl::InvalidArgumentError("no program to start");
  }
  if (!command.working_directory.empty() || command.capture_standard_error) {
    return absl::InvalidArgumentError(
        "a local process shares its starter's folder and standard error");
  }
  HOPLITE_ASSIGN_OR_RETURN(PipeEnds input, MakePipe());
  HOPLITE_ASSIGN_OR_RETURN(PipeEnds output, MakePipe());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.read.number(), 0);
  posix_spawn_file_actions_adddup2(&actions, output.write.number(), 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // Its signals are its own, whatever this process does with them.
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  std::vector<std::string> arguments = command.arguments;
  std::vector<std::string> environment = Environment(command);
  pid_t pid = 0;
  const int error =
      posix_spawnp(&pid, arguments[0].c_str(), &actions, &attributes,
                   Pointers(arguments).data(), Pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error == ENOENT) {
    return absl::NotFoundError(absl::StrCat("no program ", arguments[0]));
  }
  if (error != 0) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "cannot start ", arguments[0], ": ", std::strerror(error)));
  }
  return std::make_unique<HostProcess>(std::make_shared<ChildProcess>(pid),
                                       std::move(input.write),
                                       std::move(output.read), Descriptor());
}

}  // namespace hoplite::testbed
