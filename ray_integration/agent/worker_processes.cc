#include "ray_integration/agent/worker_processes.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hoplite::task {
namespace {

// A line that is longer is passed on in pieces.
constexpr std::size_t kLineMax = 16 << 10;
// So often a stream is read before it is another one's turn. A pipe that
// nobody fills any more is empty after that.
constexpr int kReadsMax = 1 << 8;

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string HowItEnded(int status) {
  if (WIFSIGNALED(status)) {
    return absl::StrCat("killed by signal ", WTERMSIG(status), " (",
                        strsignal(WTERMSIG(status)), ")");
  }
  return absl::StrCat("it ended with exit status ", WEXITSTATUS(status));
}

// What the child begins with, beside its three streams.
absl::StatusOr<pid_t> Spawn(const ProgramInfo& program,
                            const std::vector<std::string>& environment,
                            int output, int error, int inherited) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_adddup2(&actions, error, 2);
  posix_spawn_file_actions_addchdir_np(&actions, program.folder.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID |
                                            POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigfillset(&signals);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  // Another descriptor under the same number would be closed on exec.
  if (inherited >= 0) {
    posix_spawn_file_actions_adddup2(&actions, inherited, inherited);
  }
  std::vector<std::string> arguments = program.arguments;
  std::vector<std::string> variables = program.environment;
  variables.insert(variables.end(), environment.begin(), environment.end());
  pid_t pid = -1;
  const int failed =
      posix_spawn(&pid, program.path.c_str(), &actions, &attributes,
                  Pointers(arguments).data(), Pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failed == 0) return pid;
  return absl::ErrnoToStatus(failed, absl::StrCat("cannot start ", program.path,
                                                  " in ", program.folder));
}

}  // namespace

WorkerProcesses::WorkerProcesses(WorkerProcessCalls calls)
    : calls_(std::move(calls)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  thread_.Do([this] { Run(); });
}

WorkerProcesses::~WorkerProcesses() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  KillAll();
  Poke();
  thread_.Stop();
}

void WorkerProcesses::Poke() { eventfd_write(wake_.get(), 1); }

absl::Status WorkerProcesses::Start(std::uint64_t token,
                                    const ProgramInfo& program,
                                    const std::vector<std::string>& environment,
                                    int inherited) {
  auto child = std::make_shared<Child>();
  std::array<FileDescriptor, 2> write;
  for (int i = 0; i < 2; ++i) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      return absl::ErrnoToStatus(errno, "no pipe for a worker's output");
    }
    child->streams[i].read = FileDescriptor(ends[0]);
    write[i] = FileDescriptor(ends[1]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
  }
  const absl::StatusOr<pid_t> pid =
      Spawn(program, environment, write[0].get(), write[1].get(), inherited);
  if (!pid.ok()) return pid.status();
  child->pid = *pid;
  child->life =
      FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, *pid, 0)));
  if (!child->life) {
    const absl::Status why = absl::ErrnoToStatus(errno, "no pidfd of a worker");
    kill(-*pid, SIGKILL);
    waitpid(*pid, nullptr, 0);
    return why;
  }
  MutexLock lock(mutex_);
  children_[token] = std::move(child);
  Poke();
  return absl::OkStatus();
}

void WorkerProcesses::Kill(std::uint64_t token) {
  MutexLock lock(mutex_);
  const auto it = children_.find(token);
  // It is not waited for before it is taken out: the number is still its own.
  if (it != children_.end()) kill(-it->second->pid, SIGKILL);
}

void WorkerProcesses::KillAll() {
  MutexLock lock(mutex_);
  for (const auto& [token, child] : children_) kill(-child->pid, SIGKILL);
}

void WorkerProcesses::ReadLines(std::uint64_t token, Child& child, int stream) {
  Stream& from = child.streams[stream];
  std::array<char, 4096> bytes;
  ssize_t size = 0;
  // Not all of what comes without end: others want to be heard, too.
  for (int reads = 0; reads < kReadsMax; ++reads) {
    size = read(from.read.get(), bytes.data(), bytes.size());
    if (size <= 0) break;
    from.unread.append(bytes.data(), size);
    std::size_t end;
    while ((end = from.unread.find('\n')) != std::string::npos) {
      calls_.line(token, stream == 1, from.unread.substr(0, end));
      from.unread.erase(0, end + 1);
    }
    if (from.unread.size() < kLineMax) continue;
    calls_.line(token, stream == 1, std::exchange(from.unread, {}));
  }
  if (size != 0) return;
  from.read.Close();
  if (from.unread.empty()) return;
  // Its last line may have no end.
  calls_.line(token, stream == 1, std::exchange(from.unread, {}));
}

bool WorkerProcesses::Reap(std::uint64_t token, Child& child) {
  int status = 0;
  {
    MutexLock lock(mutex_);
    // Whatever it has started goes with it; before its number is free.
    kill(-child.pid, SIGKILL);
    if (waitpid(child.pid, &status, WNOHANG) != child.pid) return false;
    children_.erase(token);
  }
  for (int stream = 0; stream < 2; ++stream) {
    if (!child.streams[stream].read) continue;
    ReadLines(token, child, stream);
    std::string& rest = child.streams[stream].unread;
    if (!rest.empty()) calls_.line(token, stream == 1, std::move(rest));
  }
  calls_.ended(token, HowItEnded(status));
  return true;
}

void WorkerProcesses::Run() {
  for (;;) {
    std::map<std::uint64_t, std::shared_ptr<Child>> children;
    {
      MutexLock lock(mutex_);
      if (stopping_ && children_.empty()) return;
      children = children_;
    }
    std::vector<pollfd> waited = {
        {.fd = wake_.get(), .events = POLLIN, .revents = 0}};
    for (const auto& [token, child] : children) {
      for (const int file : {child->life.get(), child->streams[0].read.get(),
                             child->streams[1].read.get()}) {
        waited.push_back({.fd = file, .events = POLLIN, .revents = 0});
      }
    }
    poll(waited.data(), waited.size(), -1);
    eventfd_t ignored;
    if (waited[0].revents != 0) eventfd_read(wake_.get(), &ignored);
    std::size_t next = 1;
    for (const auto& [token, child] : children) {
      const bool ended = waited[next].revents != 0;
      for (int stream = 0; stream < 2; ++stream) {
        if (waited[next + 1 + stream].revents != 0) {
          ReadLines(token, *child, stream);
        }
      }
      if (ended) Reap(token, *child);
      next += 3;
    }
  }
}

}  // namespace hoplite::task
