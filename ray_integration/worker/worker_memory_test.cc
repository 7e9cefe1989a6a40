#include "ray_integration/worker/worker_memory.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "hoplite/base/digest.h"
#include "ray_integration/wire/pack.h"
#include "ray_integration/worker/task_trace.h"

namespace hoplite::task {
namespace {

// A worker's side and its agent's, of one memory.
class WorkerMemoryTest : public ::testing::Test {
 protected:
  WorkerMemoryTest()
      : file_(WorkerMemory::MakeFile().value()), worker_(file_), agent_(file_) {
    close(file_);
  }

  static TaskSpan SpanOf(const std::string& function, std::size_t inputs) {
    TaskSpan span{.result = IdFromName(function), .function = function};
    for (std::size_t i = 0; i < inputs; ++i) {
      span.inputs.push_back(IdFromName(absl::StrCat(i)));
    }
    return span;
  }
  // The names of what is there.
  std::vector<std::string> Taken() {
    std::vector<std::string> names;
    left_out_ = agent_.spans().Take([&](std::string packed) {
      TaskSpan span;
      Unpacker unpacker(packed);
      unpacker.Take(span);
      names.push_back(span.function);
      last_ = span;
    });
    return names;
  }

  const int file_;
  WorkerMemory worker_;
  WorkerMemory agent_;
  TaskSpan last_;
  std::uint64_t left_out_ = 0;
};

TEST_F(WorkerMemoryTest, SaysWhatRunsAndSinceWhen) {
  EXPECT_EQ(agent_.begun().Read().result, ObjectId());
  worker_.begun().Set(IdFromName("sum"), "Plus", absl::FromUnixSeconds(7));
  const Begun begun = agent_.begun().Read();
  EXPECT_EQ(begun.result, IdFromName("sum"));
  EXPECT_EQ(begun.function, "Plus");
  EXPECT_EQ(begun.since, absl::FromUnixSeconds(7));
  EXPECT_EQ(begun.actor, "");

  worker_.begun().Clear();
  EXPECT_EQ(agent_.begun().Read().result, ObjectId());
}

TEST_F(WorkerMemoryTest, KeepsTheNameOfAnActorAndCutsALongOne) {
  worker_.begun().SetActor(std::string(1000, 'a'));
  worker_.begun().Set(IdFromName("n"), "Add", absl::UnixEpoch());
  worker_.begun().Clear();
  const Begun begun = agent_.begun().Read();
  EXPECT_EQ(begun.actor, std::string(BegunMemory::Name().size(), 'a'));
}

TEST_F(WorkerMemoryTest, OfADeadWorkerSaysWhatItRan) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    worker_.spans().Write(SpanOf("before", 1));
    worker_.begun().Set(IdFromName("last"), "Dies", absl::UnixEpoch());
    kill(getpid(), SIGKILL);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(agent_.begun().Read().function, "Dies");
  EXPECT_EQ(Taken(), std::vector<std::string>{"before"});
}

TEST_F(WorkerMemoryTest, HandsOverEachSpanOnceAndInOrder) {
  // Several times around.
  int next = 0;
  for (int round = 0; round < 50; ++round) {
    std::vector<std::string> written;
    for (int i = 0; i < 300; ++i) {
      written.push_back(absl::StrCat("task ", next++));
      worker_.spans().Write(SpanOf(written.back(), 4));
    }
    ASSERT_EQ(Taken(), written);
    EXPECT_EQ(left_out_, 0u);
  }
  EXPECT_TRUE(Taken().empty());
}

TEST_F(WorkerMemoryTest, AsksOnceToBeEmptiedWhenItIsHalfFull) {
  int asked = 0;
  int written = 0;
  while (Taken(), asked == 0) {
    for (int i = 0; i < 20000; ++i, ++written) {
      if (worker_.spans().Write(SpanOf("task", 1))) ++asked;
    }
  }
  EXPECT_EQ(asked, 1);
  EXPECT_GT(left_out_, 0u);
  // There is room again.
  worker_.spans().Write(SpanOf("later", 0));
  EXPECT_EQ(Taken(), std::vector<std::string>{"later"});
  EXPECT_EQ(left_out_, 0u);
}

TEST_F(WorkerMemoryTest, TracesATaskWithItsInputsAndItsError) {
  TaskTrace trace(worker_.spans());
  TaskInfo task{.result = IdFromName("r"),
                .attempt = 2,
                .function = std::string(1000, 'f')};
  task.arguments.resize(2);
  task.arguments[1].reference.id = IdFromName("in");
  trace.Add(task, {.worker = WorkerNumber(3)}, absl::FromUnixNanos(5),
            absl::FromUnixNanos(9), absl::InternalError(std::string(1000, 'e')),
            0);
  ASSERT_EQ(Taken().size(), 1u);
  EXPECT_EQ(last_.result, IdFromName("r"));
  EXPECT_EQ(last_.attempt, 2u);
  EXPECT_EQ(last_.inputs, std::vector<ObjectId>{IdFromName("in")});
  EXPECT_EQ(last_.begun, 5);
  EXPECT_EQ(last_.ended, 9);
  EXPECT_EQ(last_.outcome, Outcome::kFailed);
  EXPECT_LT(last_.error.size(), 1000u);
  EXPECT_LT(last_.function.size(), 1000u);
}

}  // namespace
}  // namespace hoplite::task
