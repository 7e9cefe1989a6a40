#include "hoplite/testbed/launch.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/testbed/descriptor.h"
#include "hoplite/testbed/launch_fork.h"

extern char** environ;

namespace hoplite::testbed {
namespace {

constexpr absl::string_view kSystemFolders = "/usr/sbin:/usr/bin:/sbin:/bin";

// Without a program of this name: the name, for the exec to fail.
std::string FindProgram(absl::string_view name) {
  if (absl::StrContains(name, '/')) return std::string(name);
  const char* path = std::getenv("PATH");
  const std::string folders =
      absl::StrCat(path == nullptr ? "" : path, ":", kSystemFolders);
  for (absl::string_view folder : absl::StrSplit(folders, ':')) {
    if (folder.empty()) continue;
    std::string candidate = absl::StrCat(folder, "/", name);
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return std::string(name);
}

// The calling process's environment with the system's folders at the end of
// PATH, and then `changes`.
std::vector<std::string> MakeEnvironment(
    const std::vector<std::string>& changes) {
  std::vector<std::string> result;
  const auto name_of = [](absl::string_view entry) {
    return entry.substr(0, entry.find('='));
  };
  const auto set = [&](absl::string_view entry) {
    std::erase_if(result, [&](const std::string& old) {
      return name_of(old) == name_of(entry);
    });
    result.emplace_back(entry);
  };
  for (char** entry = environ; *entry != nullptr; ++entry) {
    result.emplace_back(*entry);
  }
  const char* path = std::getenv("PATH");
  set(absl::StrCat("PATH=", path == nullptr ? "" : path,
                   path == nullptr ? "" : ":", kSystemFolders));
  for (const std::string& change : changes) set(change);
  return result;
}

// Joining a mount namespace leaves the current folder, so it is named in full.
std::string AbsoluteFolder(absl::string_view folder) {
  if (absl::StartsWith(folder, "/")) return std::string(folder);
  char* current = get_current_dir_name();
  const std::string result =
      absl::StrCat(current == nullptr ? "" : current, "/", folder);
  std::free(current);
  return result;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& string : strings) result.push_back(string.data());
  result.push_back(nullptr);
  return result;
}

absl::Status FailureStatus(const LaunchRequest& request,
                           const LaunchReport& report) {
  const std::string why = std::strerror(report.number);
  switch (report.step) {
    case LaunchStep::kNewNamespaces:
    case LaunchStep::kMapUser:
      return absl::PermissionDeniedError(absl::StrCat(
          "the system does not let this user make namespaces (", why,
          "); allow it with: sysctl -w user.max_user_namespaces=10000 and, "
          "where it exists, kernel.unprivileged_userns_clone=1; in a "
          "container, lift its seccomp filter"));
    case LaunchStep::kWorkingDirectory:
      return absl::ErrnoToStatus(
          report.number,
          absl::StrCat("cannot start ", request.arguments[0], " in folder ",
                       request.working_directory));
    case LaunchStep::kExecute:
      return absl::ErrnoToStatus(
          report.number, absl::StrCat("cannot run ", request.arguments[0]));
    case LaunchStep::kNetwork:
      return absl::InternalError(absl::StrCat("cannot enter the network ",
                                              request.network, ": ", why));
    default:
      return absl::InternalError(
          absl::StrCat("cannot start ", request.arguments[0],
                       " in the testbed's namespaces (step ",
                       static_cast<int>(report.step), "): ", why));
  }
}

// Reads until no process holds the other end: the exec happened or failed.
absl::StatusOr<pid_t> ReadReports(const LaunchRequest& request, int pipe) {
  std::optional<pid_t> process;
  std::optional<LaunchReport> failure;
  LaunchReport report;
  while (true) {
    const ssize_t size = read(pipe, &report, sizeof(report));
    if (size < 0 && errno == EINTR) continue;
    if (size != sizeof(report)) break;
    if (report.step == LaunchStep::kStarted) {
      process = report.number;
    } else {
      failure = report;
    }
  }
  if (process.has_value() && !failure.has_value()) return *process;
  if (process.has_value()) {
    while (waitpid(*process, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (failure.has_value()) return FailureStatus(request, *failure);
  return absl::InternalError(absl::StrCat("the process that starts ",
                                          request.arguments[0], " was killed"));
}

// A copy above the standard ones, closed on exec.
absl::StatusOr<Descriptor> CopyAboveStandard(int number) {
  Descriptor null;
  if (number < 0) {
    null = Descriptor(open("/dev/null", O_RDWR | O_CLOEXEC));
    number = null.number();
  }
  Descriptor copy(fcntl(number, F_DUPFD_CLOEXEC, 3));
  if (copy.is_open()) return copy;
  return absl::ResourceExhaustedError(
      absl::StrCat("cannot copy a descriptor: ", std::strerror(errno)));
}

}  // namespace

absl::StatusOr<pid_t> Launch(const LaunchRequest& request) {
  if (request.arguments.empty()) {
    return absl::InvalidArgumentError("a command needs at least a program");
  }
  HOPLITE_ASSIGN_OR_RETURN(PipeEnds reports, MakePipe());
  HOPLITE_ASSIGN_OR_RETURN(Descriptor report,
                           CopyAboveStandard(reports.write.number()));
  reports.write.Close();
  HOPLITE_ASSIGN_OR_RETURN(Descriptor input,
                           CopyAboveStandard(request.standard_input));
  HOPLITE_ASSIGN_OR_RETURN(Descriptor output,
                           CopyAboveStandard(request.standard_output));
  HOPLITE_ASSIGN_OR_RETURN(Descriptor error,
                           CopyAboveStandard(request.standard_error));
  std::vector<std::string> arguments = request.arguments;
  arguments[0] = FindProgram(arguments[0]);
  std::vector<std::string> environment = MakeEnvironment(request.environment);
  const std::string directory = AbsoluteFolder(request.working_directory);
  LaunchPlan plan;
  plan.arguments = Pointers(arguments);
  plan.environment = Pointers(environment);
  plan.standard = {input.number(), output.number(), error.number()};
  plan.working_directory = directory.c_str();
  plan.join = request.join;
  if (!request.network.empty()) plan.network = request.network.c_str();
  plan.host_name = request.host_name;
  plan.user_map = absl::StrCat("0 ", geteuid(), " 1");
  plan.group_map = absl::StrCat("0 ", getegid(), " 1");
  plan.report = report.number();

  const pid_t fork_process = ForkAndLaunch(plan);
  if (fork_process < 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot fork: ", std::strerror(errno)));
  }
  report.Close();
  while (waitpid(fork_process, nullptr, 0) < 0 && errno == EINTR) {
  }
  return ReadReports(request, reports.read.number());
}

}  // namespace hoplite::testbed
