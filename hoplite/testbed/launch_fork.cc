#include "hoplite/testbed/launch_fork.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>

namespace hoplite::testbed {
namespace {

// As the kernel counts them.
constexpr int kSignals = 64;
constexpr std::size_t kSignalSetBytes = kSignals / 8;

[[noreturn]] void End(int status) {
  while (true) syscall(SYS_exit_group, status);
}

[[noreturn]] void Fail(const LaunchPlan& plan, LaunchStep step) {
  const LaunchReport report = {step, errno};
  // If even this fails, the calling process sees the end of the pipe.
  syscall(SYS_write, plan.report, &report, sizeof(report));
  End(127);
}

bool WriteSmallFile(const char* path, const char* text, std::size_t size) {
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const long written = syscall(SYS_write, file, text, size);
  syscall(SYS_close, file);
  return written == static_cast<long>(size);
}

void MakeNamespaces(const LaunchPlan& plan) {
  if (syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
                               CLONE_NEWNET | CLONE_NEWUTS) != 0) {
    Fail(plan, LaunchStep::kNewNamespaces);
  }
  if (!WriteSmallFile("/proc/self/setgroups", "deny", 4) ||
      !WriteSmallFile("/proc/self/uid_map", plan.user_map.data(),
                      plan.user_map.size()) ||
      !WriteSmallFile("/proc/self/gid_map", plan.group_map.data(),
                      plan.group_map.size())) {
    Fail(plan, LaunchStep::kMapUser);
  }
}

void JoinNamespaces(const LaunchPlan& plan) {
  if (syscall(SYS_setns, plan.join,
              CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET) != 0) {
    Fail(plan, LaunchStep::kJoin);
  }
  if (plan.network != nullptr) {
    const long network =
        syscall(SYS_openat, AT_FDCWD, plan.network, O_RDONLY | O_CLOEXEC);
    if (network < 0 || syscall(SYS_setns, network, CLONE_NEWNET) != 0) {
      Fail(plan, LaunchStep::kNetwork);
    }
  }
  if (!plan.host_name.empty() &&
      (syscall(SYS_unshare, CLONE_NEWUTS) != 0 ||
       syscall(SYS_sethostname, plan.host_name.data(), plan.host_name.size()) !=
           0)) {
    Fail(plan, LaunchStep::kHostName);
  }
}

// A signal that is ignored stays so after an exec, unlike one that is handled.
void ResetSignals() {
  // Zeros are the default action in every layout of the kernel's structure.
  const std::uint64_t action[8] = {};
  for (int number = 1; number <= kSignals; ++number) {
    syscall(SYS_rt_sigaction, number, action, nullptr, kSignalSetBytes);
  }
  const std::uint64_t none = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, kSignalSetBytes);
}

[[noreturn]] void Execute(const LaunchPlan& plan) {
  ResetSignals();
  syscall(SYS_setsid);
  if (syscall(SYS_chdir, plan.working_directory) != 0) {
    Fail(plan, LaunchStep::kWorkingDirectory);
  }
  for (int number = 0; number < 3; ++number) {
    syscall(SYS_dup3, plan.standard[static_cast<std::size_t>(number)], number,
            0);
  }
  syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC);
  syscall(SYS_execve, plan.arguments[0], plan.arguments.data(),
          plan.environment.data());
  Fail(plan, LaunchStep::kExecute);
}

[[noreturn]] void RunFork(const LaunchPlan& plan) {
  if (plan.join < 0) {
    MakeNamespaces(plan);
  } else {
    JoinNamespaces(plan);
  }
  const long process =
      syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, 0);
  if (process < 0) Fail(plan, LaunchStep::kClone);
  if (process == 0) Execute(plan);
  const LaunchReport report = {LaunchStep::kStarted, static_cast<int>(process)};
  syscall(SYS_write, plan.report, &report, sizeof(report));
  End(0);
}

}  // namespace

pid_t ForkAndLaunch(const LaunchPlan& plan) {
  // No handler of the calling process may run in the fork.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const long process =
      syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, 0);
  if (process == 0) RunFork(plan);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return static_cast<pid_t>(process);
}

}  // namespace hoplite::testbed
