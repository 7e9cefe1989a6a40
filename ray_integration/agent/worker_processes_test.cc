#include "ray_integration/agent/worker_processes.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hoplite/base/mutex.h"
#include "hoplite/base/testing/status_matchers.h"
#include "hoplite/runtime/clock.h"
#include "ray_integration/wire/values.h"

namespace hoplite::task {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kPatience = absl::Seconds(20);

ProgramInfo Shell(const std::string& script) {
  return {.path = "/bin/sh",
          .arguments = {"sh", "-c", script},
          .folder = "/",
          .environment = {"PATH=/usr/bin:/bin", "COLOUR=blue"}};
}

class WorkerProcessesTest : public ::testing::Test {
 protected:
  struct Heard {
    std::vector<std::string> output;
    std::vector<std::string> errors;
    std::string ended;
  };

  absl::Status Start(std::uint64_t token, const std::string& script) {
    return processes_->Start(token, Shell(script), {"TOKEN=7"}, -1);
  }
  // Waits until it has ended; what it has said.
  Heard End(std::uint64_t token) {
    const absl::Time deadline = SystemClock::Now() + kPatience;
    MutexLock lock(mutex_);
    while (heard_[token].ended.empty()) {
      if (!changed_.WaitUntil(mutex_, deadline)) break;
    }
    EXPECT_NE(heard_[token].ended, "") << "process " << token << " lives";
    return heard_[token];
  }
  // Waits until it has written a line; which.
  std::string FirstLine(std::uint64_t token) {
    const absl::Time deadline = SystemClock::Now() + kPatience;
    MutexLock lock(mutex_);
    while (heard_[token].output.empty()) {
      if (!changed_.WaitUntil(mutex_, deadline)) return "";
    }
    return heard_[token].output.front();
  }
  void OnLine(std::uint64_t token, bool error, std::string line) {
    MutexLock lock(mutex_);
    Heard& heard = heard_[token];
    auto& lines = error ? heard.errors : heard.output;
    if (lines.size() < 100'000) lines.push_back(std::move(line));
    changed_.NotifyAll();
  }
  void OnEnded(std::uint64_t token, std::string why) {
    MutexLock lock(mutex_);
    heard_[token].ended += why;
    changed_.NotifyAll();
  }

  Mutex mutex_;
  CondVar changed_;  // heard_
  std::map<std::uint64_t, Heard> heard_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<WorkerProcesses> processes_ =
      std::make_unique<WorkerProcesses>(WorkerProcessCalls{
          .line =
              [this](std::uint64_t token, bool error, std::string line) {
                OnLine(token, error, std::move(line));
              },
          .ended = [this](
                       std::uint64_t token,
                       std::string why) { OnEnded(token, std::move(why)); }});
};

TEST_F(WorkerProcessesTest, BothOfItsStreamsAreHeardLineByLine) {
  ASSERT_THAT(Start(1, "echo one; echo; echo two; echo bad >&2"), IsOk());
  const Heard heard = End(1);
  EXPECT_THAT(heard.output, ElementsAre("one", "", "two"));
  EXPECT_THAT(heard.errors, ElementsAre("bad"));
  EXPECT_THAT(heard.ended, HasSubstr("exit status 0"));
}

TEST_F(WorkerProcessesTest, ItsExitStatusIsTold) {
  ASSERT_THAT(Start(1, "exit 42"), IsOk());
  EXPECT_THAT(End(1).ended, HasSubstr("exit status 42"));
}

TEST_F(WorkerProcessesTest, ItsSignalIsTold) {
  ASSERT_THAT(Start(1, "kill -SEGV $$"), IsOk());
  EXPECT_THAT(End(1).ended, HasSubstr("signal 11"));
}

TEST_F(WorkerProcessesTest, ALastLineWithoutAnEndIsHeardToo) {
  ASSERT_THAT(Start(1, "printf 'one\ntwo'"), IsOk());
  EXPECT_THAT(End(1).output, ElementsAre("one", "two"));
}

TEST_F(WorkerProcessesTest, ALongLineComesInPiecesAndWhole) {
  ASSERT_THAT(Start(1, "head -c 100000 /dev/zero | tr '\\0' x"), IsOk());
  const Heard heard = End(1);
  std::string all;
  for (const std::string& line : heard.output) {
    EXPECT_LE(line.size(), 20u << 10);
    all += line;
  }
  EXPECT_EQ(all, std::string(100'000, 'x'));
}

TEST_F(WorkerProcessesTest, MuchOutputArrivesBeforeItsEndIsTold) {
  ASSERT_THAT(Start(1,
                    "i=0; while [ $i -lt 20000 ]; do echo $i; "
                    "i=$((i+1)); done"),
              IsOk());
  const Heard heard = End(1);
  ASSERT_THAT(heard.output, SizeIs(20'000));
  EXPECT_EQ(heard.output.back(), "19999");
}

TEST_F(WorkerProcessesTest, ItHasItsEnvironmentFolderAndNoInput) {
  ASSERT_THAT(Start(1, "echo $COLOUR $TOKEN; pwd; cat"), IsOk());
  EXPECT_THAT(End(1).output, ElementsAre("blue 7", "/"));
}

TEST_F(WorkerProcessesTest, ItInheritsTheDescriptorUnderItsNumber) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  // dash takes numbers of one digit only.
  ASSERT_GE(dup2(ends[1], 9), 0);
  fcntl(9, F_SETFD, FD_CLOEXEC);
  ASSERT_THAT(processes_->Start(1, Shell("echo here >&9"), {}, 9), IsOk());
  End(1);
  char text[5] = {};
  EXPECT_EQ(read(ends[0], text, 4), 4);
  EXPECT_STREQ(text, "here");
  for (const int file : {9, ends[0], ends[1]}) close(file);
}

TEST_F(WorkerProcessesTest, ItInheritsNothingElse) {
  ASSERT_THAT(Start(1, "exec sleep 1000"), IsOk());
  ASSERT_THAT(Start(2, "ls /proc/$$/fd | wc -l"), IsOk());
  const Heard heard = End(2);
  int files = 0;
  ASSERT_TRUE(absl::SimpleAtoi(heard.output.at(0), &files));
  EXPECT_LE(files, 5);  // its streams, and what the shell has itself
}

TEST_F(WorkerProcessesTest, AProgramThatIsNotThereIsAnError) {
  ProgramInfo missing = Shell("");
  missing.path = "/no/such/program";
  EXPECT_THAT(
      processes_->Start(1, missing, {}, -1),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such/program")));
  ProgramInfo elsewhere = Shell("");
  elsewhere.folder = "/no/such/folder";
  EXPECT_THAT(
      processes_->Start(2, elsewhere, {}, -1),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such/folder")));
  ProgramInfo no_program = Shell("");
  no_program.path = "/etc/passwd";
  EXPECT_THAT(processes_->Start(3, no_program, {}, -1),
              StatusIs(absl::StatusCode::kPermissionDenied));
  processes_->Kill(1);  // harmless
  MutexLock lock(mutex_);
  EXPECT_THAT(heard_, IsEmpty());
}

TEST_F(WorkerProcessesTest, KillEndsItAndWhateverItHasStarted) {
  ASSERT_THAT(Start(1, "sleep 1000 & echo $!; wait"), IsOk());
  int child = 0;
  ASSERT_TRUE(absl::SimpleAtoi(FirstLine(1), &child));
  processes_->Kill(1);
  EXPECT_THAT(End(1).ended, HasSubstr("signal 9"));
  // A zombie until init takes it; but soon no more than that.
  const auto lives = [&] {
    return kill(child, 0) == 0 &&
           access(absl::StrCat("/proc/", child, "/exe").c_str(), R_OK) == 0;
  };
  const absl::Time end = absl::Now() + absl::Seconds(10);
  while (lives() && absl::Now() < end) sched_yield();
  EXPECT_FALSE(lives());
  processes_->Kill(1);  // harmless
  processes_->Kill(99);
}

TEST_F(WorkerProcessesTest, WhatItHasStartedEndsWithItself) {
  ASSERT_THAT(Start(1, "sleep 1000 & echo last"), IsOk());
  const Heard heard = End(1);  // though that one still has its output open
  EXPECT_THAT(heard.output, ElementsAre("last"));
  EXPECT_THAT(heard.ended, HasSubstr("exit status 0"));
}

TEST_F(WorkerProcessesTest, ItsSignalsAreThoseOfAnyProgram) {
  signal(SIGPIPE, SIG_IGN);
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  ASSERT_THAT(Start(1, "kill -PIPE $$; echo ignored"), IsOk());
  ASSERT_THAT(Start(2, "kill -TERM $$; echo blocked"), IsOk());
  EXPECT_THAT(End(1).ended, HasSubstr("signal 13"));
  EXPECT_THAT(End(2).ended, HasSubstr("signal 15"));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(WorkerProcessesTest, OneThatClosesItsOutputLivesOn) {
  ASSERT_THAT(Start(1, "exec >&- 2>&-; exec sleep 1000"), IsOk());
  ASSERT_THAT(Start(2, "echo other"), IsOk());
  End(2);
  {
    MutexLock lock(mutex_);
    EXPECT_EQ(heard_[1].ended, "");
  }
  processes_->Kill(1);
  EXPECT_THAT(End(1).ended, HasSubstr("signal 9"));
}

TEST_F(WorkerProcessesTest, OneThatWritesWithoutEndLetsOthersBeHeard) {
  ASSERT_THAT(Start(1, "exec yes"), IsOk());
  FirstLine(1);
  ASSERT_THAT(Start(2, "echo quiet"), IsOk());
  EXPECT_THAT(End(2).output, ElementsAre("quiet"));
  processes_->Kill(1);
  EXPECT_THAT(End(1).ended, HasSubstr("signal 9"));
}

TEST_F(WorkerProcessesTest, ManyAtATimeAllEnd) {
  for (std::uint64_t token = 1; token <= 30; ++token) {
    ASSERT_THAT(Start(token, absl::StrCat("echo ", token)), IsOk());
  }
  for (std::uint64_t token = 1; token <= 30; ++token) {
    EXPECT_THAT(End(token).output, ElementsAre(absl::StrCat(token)));
  }
}

TEST_F(WorkerProcessesTest, WithItsObjectAllEnd) {
  ASSERT_THAT(Start(1, "echo $$; exec sleep 1000"), IsOk());
  ASSERT_THAT(Start(2, "trap '' TERM INT HUP; while :; do :; done"), IsOk());
  int child = 0;
  ASSERT_TRUE(absl::SimpleAtoi(FirstLine(1), &child));
  processes_ = nullptr;
  EXPECT_EQ(kill(child, 0), -1);
  EXPECT_EQ(errno, ESRCH);
  EXPECT_THAT(End(1).ended, HasSubstr("signal 9"));
  EXPECT_THAT(End(2).ended, HasSubstr("signal 9"));
}

TEST_F(WorkerProcessesTest, WithoutAnyProcessItEndsAtOnce) {
  processes_ = nullptr;
}

}  // namespace
}  // namespace hoplite::task
