#include "hoplite/testbed/launch.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
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

extern char** environ;

namespace hoplite::testbed {
namespace {

constexpr absl::string_view kSystemFolders = "/usr/sbin:/usr/bin:/sbin:/bin";

// What the fork and the program tell the calling process before the exec.
enum class Step {
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
struct Report {
  Step step;
  // The process's id for kStarted, otherwise errno.
  int number;
};

// Everything that the fork needs, made before it: after it nothing may
// allocate.
struct Plan {
  std::vector<char*> arguments;
  std::vector<char*> environment;
  std::array<int, 3> standard = {};
  const char* working_directory = nullptr;
  int join = -1;
  const char* network = nullptr;
  const char* host_name = nullptr;
  std::string user_map;
  std::string group_map;
  int report = -1;
};

[[noreturn]] void Fail(const Plan& plan, Step step) {
  const Report report = {step, errno};
  // If even this fails, the calling process sees the end of the pipe.
  [[maybe_unused]] const ssize_t written =
      write(plan.report, &report, sizeof(report));
  _exit(127);
}

bool WriteSmallFile(const char* path, absl::string_view text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t written = write(file, text.data(), text.size());
  close(file);
  return written == static_cast<ssize_t>(text.size());
}

void MakeNamespaces(const Plan& plan) {
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
              CLONE_NEWUTS) != 0) {
    Fail(plan, Step::kNewNamespaces);
  }
  if (!WriteSmallFile("/proc/self/setgroups", "deny") ||
      !WriteSmallFile("/proc/self/uid_map", plan.user_map) ||
      !WriteSmallFile("/proc/self/gid_map", plan.group_map)) {
    Fail(plan, Step::kMapUser);
  }
}

void JoinNamespaces(const Plan& plan) {
  if (setns(plan.join,
            CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET) != 0) {
    Fail(plan, Step::kJoin);
  }
  if (plan.network != nullptr) {
    const int network = open(plan.network, O_RDONLY | O_CLOEXEC);
    if (network < 0 || setns(network, CLONE_NEWNET) != 0) {
      Fail(plan, Step::kNetwork);
    }
  }
  if (plan.host_name != nullptr &&
      (unshare(CLONE_NEWUTS) != 0 ||
       sethostname(plan.host_name, strlen(plan.host_name)) != 0)) {
    Fail(plan, Step::kHostName);
  }
}

void ResetSignals() {
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void Execute(const Plan& plan) {
  ResetSignals();
  setsid();
  if (chdir(plan.working_directory) != 0) Fail(plan, Step::kWorkingDirectory);
  // The three sit above 2, so no copy overwrites one that is still needed.
  for (int number = 0; number < 3; ++number)
    dup2(plan.standard[number], number);
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  execve(plan.arguments[0], plan.arguments.data(), plan.environment.data());
  Fail(plan, Step::kExecute);
}

[[noreturn]] void RunFork(const Plan& plan) {
  if (plan.join < 0) {
    MakeNamespaces(plan);
  } else {
    JoinNamespaces(plan);
  }
  const long process =
      syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, 0);
  if (process < 0) Fail(plan, Step::kClone);
  if (process == 0) Execute(plan);
  const Report report = {Step::kStarted, static_cast<int>(process)};
  _exit(write(plan.report, &report, sizeof(report)) == sizeof(report) ? 0 : 1);
}

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

absl::Status FailureStatus(const LaunchRequest& request, const Report& report) {
  const std::string why = std::strerror(report.number);
  switch (report.step) {
    case Step::kNewNamespaces:
    case Step::kMapUser:
      return absl::PermissionDeniedError(absl::StrCat(
          "the system does not let this user make namespaces (", why,
          "); allow it with: sysctl -w user.max_user_namespaces=10000 and, "
          "where it exists, kernel.unprivileged_userns_clone=1; in a "
          "container, lift its seccomp filter"));
    case Step::kWorkingDirectory:
      return absl::ErrnoToStatus(
          report.number,
          absl::StrCat("cannot start ", request.arguments[0], " in folder ",
                       request.working_directory));
    case Step::kExecute:
      return absl::ErrnoToStatus(
          report.number, absl::StrCat("cannot run ", request.arguments[0]));
    case Step::kNetwork:
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
  std::optional<Report> failure;
  Report report;
  while (true) {
    const ssize_t size = read(pipe, &report, sizeof(report));
    if (size < 0 && errno == EINTR) continue;
    if (size != sizeof(report)) break;
    if (report.step == Step::kStarted) {
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
  Plan plan;
  plan.arguments = Pointers(arguments);
  plan.environment = Pointers(environment);
  plan.standard = {input.number(), output.number(), error.number()};
  plan.working_directory = directory.c_str();
  plan.join = request.join;
  if (!request.network.empty()) plan.network = request.network.c_str();
  if (!request.host_name.empty()) plan.host_name = request.host_name.c_str();
  plan.user_map = absl::StrCat("0 ", geteuid(), " 1");
  plan.group_map = absl::StrCat("0 ", getegid(), " 1");
  plan.report = report.number();

  // No handler of the calling process may run in the fork.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t fork_process = fork();
  if (fork_process == 0) RunFork(plan);
  const int fork_error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (fork_process < 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot fork: ", std::strerror(fork_error)));
  }
  report.Close();
  while (waitpid(fork_process, nullptr, 0) < 0 && errno == EINTR) {
  }
  return ReadReports(request, reports.read.number());
}

}  // namespace hoplite::testbed
