// All of a testbed vanishes with it, and with the process that made it.

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "hoplite/testbed/descriptor.h"
#include "hoplite/testbed/test_support.h"
#include "hoplite/testbed/testbed.h"

extern char** environ;

namespace hoplite::testbed {
namespace {

// Descriptors for the living children of a process.
std::vector<Descriptor> ChildrenOf(pid_t parent) {
  std::vector<Descriptor> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    pid_t process = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &process)) continue;
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text);
    // After the name in parentheses: the state, then the parent.
    const std::vector<std::string> words =
        absl::StrSplit(text.substr(text.rfind(')') + 1), ' ');
    if (words.size() < 3 || words[2] != absl::StrCat(parent)) continue;
    children.emplace_back(
        static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  }
  return children;
}

TEST(TestbedLifetimeTest, ProcessesEndWithTheTestbed) {
  auto testbed = MakeTestbed({.hosts = 1});
  ASSERT_NE(testbed, nullptr);
  const auto process = StartShell(*testbed, 0, "echo here; exec cat");
  ASSERT_NE(process, nullptr);
  EXPECT_EQ(process->ReadLine(Soon()).value(), "here");
  testbed.reset();
  EXPECT_EQ(process->Wait(Soon()).value(), 128 + SIGKILL);
  EXPECT_EQ(process->ReadLine(Soon()).status().code(),
            absl::StatusCode::kOutOfRange);
}

// The end of the output tells that nobody holds it open any more.
TEST(TestbedLifetimeTest, DaemonsEndWithTheTestbed) {
  auto testbed = MakeTestbed({.hosts = 1});
  ASSERT_NE(testbed, nullptr);
  const auto process =
      StartShell(*testbed, 0, "setsid sleep 1000 & echo $!; exit 3");
  ASSERT_NE(process, nullptr);
  EXPECT_TRUE(process->ReadLine(Soon()).ok());
  EXPECT_EQ(process->Wait(Soon()).value(), 3);
  EXPECT_EQ(process->ReadAll(absl::Now()).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  testbed.reset();
  EXPECT_EQ(process->ReadAll(Soon()).value(), "");
}

TEST(TestbedLifetimeTest, AProcessGoesWithItsObjectAndTakesItsSessionAlong) {
  const auto testbed = MakeTestbed({.hosts = 1});
  ASSERT_NE(testbed, nullptr);
  auto process = StartShell(
      *testbed, 0, "mkfifo /run/end; (sleep 1000) >/run/end & echo go; wait");
  ASSERT_NE(process, nullptr);
  EXPECT_EQ(process->ReadLine(Soon()).value(), "go");
  // Ends when the sleeper, which holds the other end, has gone.
  const auto reader =
      StartShell(*testbed, 0, "exec </run/end; echo open; exec cat");
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(reader->ReadLine(Soon()).value(), "open");
  process.reset();
  EXPECT_EQ(reader->Wait(Soon()).value(), 0);
}

TEST(TestbedLifetimeTest, NothingIsLeftWhenTheCreatorIsKilled) {
  PipeEnds output = MakePipe().value();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output.write.number(), 1);
  std::string program = RelayProgram();
  // At this rate its row takes for ever.
  std::string words[] = {program, "--nodes=3", "--link=10mbit", "--bytes=1G"};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(),
                       words[3].data(), nullptr};
  pid_t creator = 0;
  ASSERT_EQ(posix_spawn(&creator, program.c_str(), &actions, nullptr, arguments,
                        environ),
            0);
  posix_spawn_file_actions_destroy(&actions);
  output.write.Close();
  // It prints when all is up; then its children are the first process of the
  // namespaces and the three members.
  EXPECT_TRUE(WaitUntilReadable(output.read.number(), Soon()));
  const std::vector<Descriptor> children = ChildrenOf(creator);
  EXPECT_EQ(children.size(), 4);
  kill(creator, SIGKILL);
  EXPECT_EQ(waitpid(creator, nullptr, 0), creator);
  for (const Descriptor& child : children) {
    EXPECT_TRUE(WaitUntilReadable(child.number(), Soon()));
  }
}

// Root may be the only user that this process can be: in a sandbox that maps
// no other there is nothing to give up, and this is an ordinary user already.
TEST(TestbedLifetimeTest, AnOrdinaryUserMayMakeOne) {
  const std::string program = RelayProgram();
  // Not everybody may enter the folder that the program is in.
  const Descriptor file(open(program.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(file.is_open());
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) {
      _exit(77);
    }
    if (chdir("/") != 0) _exit(78);
    execl(absl::StrCat("/proc/self/fd/", file.number()).c_str(), "relay",
          "--nodes=2", "--bytes=64K", nullptr);
    _exit(79);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no other user here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace hoplite::testbed
