#include "ray_integration/worker/task_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "hoplite/base/testing/status_matchers.h"
#include "ray_integration/wire/message.h"
#include "ray_integration/wire/values.h"
#include "ray_integration/worker/object_table.h"
#include "ray_integration/worker/task.h"
#include "ray_integration/worker/testing/fake_surroundings.h"
#include "ray_integration/worker/testing/test_process.h"

namespace hoplite::task {
namespace {

using message::ObjectPhase;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Submits a task, and has a worker run it at once, and end.
TaskPtr RunIn(TestProcess& process, const std::string& function,
              const std::vector<ObjectId>& arguments, ValuePtr value) {
  const Endpoint worker = TestProcessAt(9);
  TaskPtr task = process.Submit(function, arguments);
  process.Grant(worker);
  process.TakePushed();
  process.Answer(task, std::move(value));
  process.EndWorker(worker);
  return task;
}

class TaskTableTest : public ::testing::Test, protected TestProcess {
 protected:
  std::vector<std::pair<NodeInfo, message::LeaseRequest>> Requests() {
    return surroundings.TakeOfAgents<message::LeaseRequest>();
  }
  TaskPtr Run(const std::string& function,
              const std::vector<ObjectId>& arguments, ValuePtr value) {
    return RunIn(*this, function, arguments, std::move(value));
  }
  bool Exists(const ObjectId& id) { return objects.Find(id) != nullptr; }

  const Endpoint worker_ = TestProcessAt(7);
  const Endpoint other_worker_ = TestProcessAt(8);
};

TEST_F(TaskTableTest, ATaskIsSentWithItsArgumentsAndItsResultComesBack) {
  const ObjectId argument = NewObject();
  objects.SetReady(argument, SmallValue("in"));
  const TaskPtr task = Submit("Plus", {argument});
  Grant(worker_);
  const auto pushed = TakePushed();
  ASSERT_THAT(pushed, SizeIs(1));
  EXPECT_EQ(pushed[0].task.function, "Plus");
  EXPECT_TRUE(pushed[0].task.arguments[0].has_value);
  EXPECT_EQ(pushed[0].task.arguments[0].value.bytes, "in");
  EXPECT_EQ(tasks.unanswered(), 1u);
  Answer(task, SmallValue("out"));
  EXPECT_EQ(EntryOf(task->info.result).value->bytes, "out");
  EXPECT_EQ(tasks.unanswered(), 0u);
}

TEST_F(TaskTableTest, ItWaitsForAllOfItsArguments) {
  const ObjectId first = NewObject();
  const ObjectId second = NewObject();
  const TaskPtr task = Submit("Plus", {first, second, first});
  EXPECT_EQ(task->phase, TaskPhase::kWaiting);
  objects.SetReady(first, SmallValue("1"));
  EXPECT_THAT(Requests(), IsEmpty());
  objects.SetReady(second, SmallValue("2"));
  EXPECT_EQ(task->phase, TaskPhase::kQueued);
  EXPECT_THAT(Requests(), SizeIs(1));
}

TEST_F(TaskTableTest, ItHoldsItsArgumentsAndItsResultUntilItIsDone) {
  const ObjectId argument = NewObject();
  objects.SetReady(argument, LargeValue());
  const TaskPtr task = Submit("Plus", {argument, argument});
  objects.DropHandle(argument);
  objects.DropHandle(task->info.result);
  EXPECT_TRUE(Exists(argument));
  EXPECT_TRUE(Exists(task->info.result));
  Grant(worker_);
  Answer(task, SmallValue(""));
  EXPECT_FALSE(Exists(argument));
  EXPECT_FALSE(Exists(task->info.result));
  EXPECT_EQ(tasks.unanswered(), 0u);
}

TEST_F(TaskTableTest, WhatIsInAnArgumentIsHeldToo) {
  const ObjectId inner = NewObject();
  const TaskPtr task = NewTask("Plus");
  task->info.arguments.push_back({.has_value = true});
  task->info.arguments[0].value.references.push_back(objects.InfoOf(inner));
  tasks.Submit(task);
  objects.DropHandle(inner);
  EXPECT_TRUE(Exists(inner));
  Grant(worker_);
  Answer(task, SmallValue(""));
  EXPECT_FALSE(Exists(inner));
}

TEST_F(TaskTableTest, TheAgentHearsOfLargeArguments) {
  const ObjectId large = NewObject();
  const ObjectId small = NewObject();
  const ObjectId reduced = NewObject();
  objects.SetReady(large, LargeValue(3, 12345));
  objects.SetReady(small, SmallValue("x"));
  objects.Find(reduced)->in_reduction = true;
  Submit("Plus", {small, large, reduced});
  const auto requests = Requests();
  ASSERT_THAT(requests, SizeIs(1));  // without waiting for the reduction
  ASSERT_THAT(requests[0].second.arguments, SizeIs(2));
  EXPECT_EQ(requests[0].second.arguments[0].id, large);
  EXPECT_EQ(requests[0].second.arguments[0].size, 12345u);
  EXPECT_EQ(requests[0].second.arguments[0].location, TestNodeInfo(3).node);
  EXPECT_EQ(requests[0].second.arguments[1].id, reduced);
}

TEST_F(TaskTableTest, AFailedArgumentFailsTheTaskWithItsError) {
  const ObjectId argument = NewObject();
  const TaskPtr task = Submit("Plus", {argument});
  const TaskPtr behind = Submit("Times", {task->info.result});
  objects.SetFailed(argument, absl::OutOfRangeError("division by zero"));
  EXPECT_THAT(ErrorOf(behind),
              StatusIs(absl::StatusCode::kOutOfRange,
                       AllOf(HasSubstr("Times"), HasSubstr("Plus"),
                             HasSubstr("division by zero"))));
  EXPECT_THAT(Requests(), IsEmpty());
  EXPECT_EQ(tasks.unanswered(), 0u);
  const TaskPtr late = Submit("Late", {argument});
  EXPECT_THAT(ErrorOf(late), StatusIs(absl::StatusCode::kOutOfRange));
}

TEST_F(TaskTableTest, AChainOf100000TasksFailsWithTheFirst) {
  const ObjectId first = NewObject();
  ObjectId last = first;
  for (int i = 0; i < 100'000; ++i) {
    const ObjectId next = Submit("Next", {last})->info.result;
    objects.DropHandle(last);
    last = next;
  }
  EXPECT_EQ(tasks.unanswered(), 100'000u);
  objects.SetFailed(first, absl::AbortedError("why"));
  EXPECT_EQ(tasks.unanswered(), 0u);
  EXPECT_EQ(EntryOf(last).phase, ObjectPhase::kFailed);
  EXPECT_EQ(objects.size(), 1u);
}

TEST_F(TaskTableTest, AnErrorIsAnAnswerUnlessRetriesAreAskedFor) {
  const TaskPtr task = Submit("Plus");
  Grant(worker_);
  AnswerError(task, absl::AbortedError("why"));
  EXPECT_THAT(ErrorOf(task), StatusIs(absl::StatusCode::kAborted));

  const TaskPtr stubborn = NewTask("Plus");
  stubborn->retry_errors = true;
  stubborn->retries_left = 1;
  tasks.Submit(stubborn);
  AnswerError(stubborn, absl::AbortedError("first"));
  EXPECT_EQ(EntryOf(stubborn->info.result).phase, ObjectPhase::kPending);
  EXPECT_EQ(stubborn->phase, TaskPhase::kSent);
  EXPECT_EQ(stubborn->info.attempt, 1u);
  AnswerError(stubborn, absl::AbortedError("second"));
  EXPECT_THAT(ErrorOf(stubborn),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("second")));
}

// --- Attempts. ---

TEST_F(TaskTableTest, OnlyTheTaskThatBeganUsesAnAttempt) {
  const TaskPtr first = Submit("Plus");
  Grant(worker_);
  Answer(first, SmallValue(""));  // quick: the next are sent ahead
  const TaskPtr begun = Submit("Plus");
  const TaskPtr behind = Submit("Plus");
  behind->retries_left = 0;
  ASSERT_EQ(behind->phase, TaskPhase::kSent);
  EndWorker(worker_, begun->info.result);
  EXPECT_EQ(begun->retries_left, 2);
  EXPECT_EQ(begun->info.attempt, 1u);
  EXPECT_EQ(behind->info.attempt, 0u);
  EXPECT_EQ(begun->phase, TaskPhase::kQueued);
  EXPECT_EQ(behind->phase, TaskPhase::kQueued);
}

TEST_F(TaskTableTest, WhenItsAttemptsAreUsedUpItSaysHowTheyEnded) {
  const TaskPtr task = Submit("Plus");
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(EntryOf(task->info.result).phase, ObjectPhase::kPending) << i;
    Grant(worker_);
    EndWorker(worker_, task->info.result);
  }
  EXPECT_THAT(ErrorOf(task),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("Plus"), HasSubstr("worker 7"),
                             HasSubstr("killed by signal 9"))));
}

TEST_F(TaskTableTest, ANodesEndIsAnAttemptForEachOfItsWorkers) {
  std::vector<TaskPtr> submitted = {Submit("Plus"), Submit("Plus")};
  Grant(worker_);
  Grant(other_worker_);
  ASSERT_EQ(submitted[1]->phase, TaskPhase::kSent);
  tasks.OnWorkerEnded({.node = TestNodeInfo().node}, "its node died",
                      ObjectId());
  EXPECT_EQ(submitted[0]->retries_left, 2);
  EXPECT_EQ(submitted[1]->retries_left, 2);
}

TEST_F(TaskTableTest, AnAnswerOfAnAttemptThatWasGivenUpIsIgnored) {
  const TaskPtr task = Submit("Plus");
  Grant(worker_);
  EndWorker(worker_, task->info.result);
  message::TaskAnswer late{.result = task->info.result, .attempt = 0};
  tasks.OnAnswer(worker_, late);
  Grant(other_worker_);
  tasks.OnAnswer(worker_, late);
  tasks.OnAnswer(other_worker_, late);  // of the wrong attempt
  late.attempt = 1;
  tasks.OnAnswer(worker_, late);  // of the wrong worker
  EXPECT_EQ(EntryOf(task->info.result).phase, ObjectPhase::kPending);
  Answer(task, SmallValue("right"));
  EXPECT_EQ(EntryOf(task->info.result).value->bytes, "right");
  tasks.OnAnswer(other_worker_, late);  // once more
  EXPECT_EQ(EntryOf(task->info.result).value->bytes, "right");
  EXPECT_EQ(tasks.unanswered(), 0u);
}

TEST_F(TaskTableTest, ReferencesInAResultAreBorrowedBeforeTheReceipt) {
  const TaskPtr task = Submit("Make");
  Grant(worker_);
  const Endpoint third = TestProcessAt(3, 2);
  const ObjectId inner = TestObject(third, 5);
  message::TaskAnswer answer{.result = task->info.result, .receipt = true};
  answer.value.references.push_back(InfoOf(third, inner));
  tasks.OnAnswer(worker_, answer);
  EXPECT_THAT(surroundings.Take<message::Borrow>(), SizeIs(1));
  EXPECT_THAT(surroundings.Take<message::TaskReceipt>(), IsEmpty());
  objects.OnBorrowed(inner);
  const auto receipts = surroundings.Take<message::TaskReceipt>();
  ASSERT_THAT(receipts, SizeIs(1));
  EXPECT_EQ(receipts[0].first.process, worker_.process);
  objects.DropHandle(task->info.result);
  EXPECT_THAT(surroundings.Take<message::Release>(), SizeIs(1));
  EXPECT_EQ(objects.size(), 0u);
}

TEST_F(TaskTableTest, AResultThatNobodyWantsHasItsReceiptNevertheless) {
  const TaskPtr task = Submit("Make");
  Grant(worker_);
  objects.DropHandle(task->info.result);
  const Endpoint third = TestProcessAt(3, 2);
  message::TaskAnswer answer{.result = task->info.result, .receipt = true};
  answer.value.references.push_back(InfoOf(third, TestObject(third, 5)));
  tasks.OnAnswer(worker_, answer);
  EXPECT_THAT(surroundings.Take<message::TaskReceipt>(), SizeIs(1));
  EXPECT_THAT(surroundings.Take<message::Release>(), SizeIs(1));
}

// --- Cancel. ---

TEST_F(TaskTableTest, AWaitingOrQueuedTaskThatIsCancelledEndsAtOnce) {
  const ObjectId argument = NewObject();
  const TaskPtr waiting = Submit("Plus", {argument});
  const TaskPtr queued = Submit("Plus");
  for (const TaskPtr& task : {waiting, queued}) {
    tasks.Cancel(task->info.result, /*force=*/false);
    EXPECT_THAT(ErrorOf(task), StatusIs(absl::StatusCode::kCancelled));
  }
  EXPECT_THAT(surroundings.TakeOfAgents<message::LeaseWithdraw>(), SizeIs(1));
  objects.SetReady(argument, SmallValue(""));
  EXPECT_EQ(waiting->phase, TaskPhase::kDone);
  EXPECT_EQ(tasks.unanswered(), 0u);
}

TEST_F(TaskTableTest, ARunningTaskHearsThatItIsCancelled) {
  const TaskPtr task = Submit("Plus");
  Grant(worker_);
  tasks.Cancel(task->info.result, /*force=*/false);
  EXPECT_THAT(surroundings.Take<message::CancelTask>(), SizeIs(1));
  EXPECT_THAT(surroundings.TakeOfAgents<message::EndWorker>(), IsEmpty());
  EXPECT_EQ(EntryOf(task->info.result).phase, ObjectPhase::kPending);
  Answer(task, SmallValue("it did not care"));
  EXPECT_EQ(EntryOf(task->info.result).phase, ObjectPhase::kReady);
  tasks.Cancel(task->info.result, /*force=*/true);  // too late
  EXPECT_EQ(EntryOf(task->info.result).phase, ObjectPhase::kReady);
  surroundings.TakeOfAgents<message::LeaseRequest>();
  TakePushed();
  EXPECT_EQ(surroundings.AllTaken(), "");
}

TEST_F(TaskTableTest, WithForceItsWorkerEndsAndItIsNotRunAgain) {
  const TaskPtr task = Submit("Plus");
  Grant(worker_);
  tasks.Cancel(task->info.result, /*force=*/true);
  EXPECT_THAT(surroundings.TakeOfAgents<message::EndWorker>(), SizeIs(1));
  EndWorker(worker_, task->info.result);
  EXPECT_THAT(ErrorOf(task), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(Requests(), IsEmpty());
}

TEST_F(TaskTableTest, ACancelledTaskThatIsHandedBackDoesNotRun) {
  const TaskPtr task = Submit("Plus");
  Grant(worker_);
  tasks.Cancel(task->info.result, /*force=*/false);
  tasks.leases().OnReturned(worker_.process, {task->info.result});
  EXPECT_THAT(ErrorOf(task), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(TakePushed(), SizeIs(1));
}

TEST_F(TaskTableTest, ACancelledTaskIsNotTriedAgain) {
  const TaskPtr task = NewTask("Plus");
  task->retry_errors = true;
  tasks.Submit(task);
  Grant(worker_);
  tasks.Cancel(task->info.result, /*force=*/false);
  AnswerError(task, absl::CancelledError("it saw that"));
  EXPECT_THAT(ErrorOf(task), StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(TaskTableTest, WhatIsNoTaskCannotBeCancelled) {
  const ObjectId put = NewObject();
  tasks.Cancel(put, true);
  tasks.Cancel(TestObject(worker_, 1), true);
  EXPECT_EQ(surroundings.AllTaken(), "");
}

// --- Results that are lost. ---

TEST_F(TaskTableTest, ALostResultIsMadeAgain) {
  const TaskPtr task = Run("Make", {}, LargeValue(2));
  const ObjectId id = task->info.result;
  tasks.Remake(id);
  EXPECT_EQ(EntryOf(id).phase, ObjectPhase::kPending);
  tasks.Remake(id);  // a second report of the same loss
  Grant(worker_);
  const auto pushed = TakePushed();
  ASSERT_THAT(pushed, SizeIs(1));
  EXPECT_EQ(pushed[0].task.attempt, 1u);
  Answer(task, LargeValue(3));
  EXPECT_EQ(EntryOf(id).value->location, TestNodeInfo(3).node);
  EXPECT_EQ(tasks.unanswered(), 0u);
}

TEST_F(TaskTableTest, ItsLostArgumentsAreMadeFirstUnderNewIds) {
  const TaskPtr first = Run("First", {}, LargeValue(2));
  const ObjectId old = first->info.result;
  const TaskPtr second = Run("Second", {old}, LargeValue(2));
  objects.DropHandle(old);
  ASSERT_FALSE(Exists(old));
  tasks.Remake(second->info.result);
  EXPECT_EQ(second->phase, TaskPhase::kWaiting);
  Grant(worker_);
  auto pushed = TakePushed();
  ASSERT_THAT(pushed, SizeIs(1));
  EXPECT_EQ(pushed[0].task.function, "First");
  const ObjectId again = pushed[0].task.result;
  EXPECT_NE(again, old);
  Answer(EntryOf(again).task, LargeValue(3));
  EndWorker(worker_);
  Grant(worker_);
  pushed = TakePushed();
  ASSERT_THAT(pushed, SizeIs(1));
  EXPECT_EQ(pushed[0].task.function, "Second");
  EXPECT_EQ(pushed[0].task.arguments[0].reference.id, again);
  Answer(second, LargeValue(3));
  // The argument has served.
  EXPECT_FALSE(Exists(again));
  EXPECT_EQ(objects.size(), 1u);
  // And all of it once more.
  tasks.Remake(second->info.result);
  EXPECT_EQ(EntryOf(second->info.result).phase, ObjectPhase::kPending);
}

TEST_F(TaskTableTest, AnArgumentThatIsStillThereIsNotMadeAgain) {
  const TaskPtr first = Run("First", {}, LargeValue(2));
  const TaskPtr second = Run("Second", {first->info.result}, LargeValue(2));
  tasks.Remake(second->info.result);
  EXPECT_EQ(second->phase, TaskPhase::kQueued);
  EXPECT_EQ(objects.size(), 2u);
}

// Each step has the one before as an argument twice.
TEST_F(TaskTableTest, WhatIsMadeOfOneTwiceDoesNotMakeItTwice) {
  ObjectId last = Run("Make", {}, LargeValue(2))->info.result;
  for (int i = 0; i < 40; ++i) {
    const ObjectId next =
        Run("Double", {last, last}, LargeValue(2))->info.result;
    objects.DropHandle(last);
    last = next;
  }
  EXPECT_EQ(objects.size(), 1u);
  tasks.Remake(last);
  EXPECT_EQ(tasks.unanswered(), 41u);
  EXPECT_EQ(objects.size(), 41u);
}

TEST_F(TaskTableTest, AChainOf50000IsMadeAgain) {
  ObjectId last = Run("Make", {}, LargeValue(2))->info.result;
  for (int i = 0; i < 50'000; ++i) {
    const ObjectId next = Run("Next", {last}, LargeValue(2))->info.result;
    objects.DropHandle(last);
    last = next;
  }
  tasks.Remake(last);
  EXPECT_EQ(tasks.unanswered(), 50'001u);
  objects.DropHandle(last);
}

TEST_F(TaskTableTest, WhatWasPutCannotBeMadeAgainAndSaysSo) {
  const ObjectId put = NewObject();
  objects.SetReady(put, LargeValue(2));
  const TaskPtr task = Run("Make", {put}, LargeValue(2));
  objects.DropHandle(put);
  tasks.Remake(task->info.result);
  EXPECT_THAT(ErrorOf(task), StatusIs(absl::StatusCode::kDataLoss,
                                      HasSubstr("cannot be made again")));
  EXPECT_EQ(objects.size(), 1u);
  EXPECT_EQ(tasks.unanswered(), 0u);
}

TEST_F(TaskTableTest, WhatIsInAnArgumentAndFreedCannotBeMadeAgain) {
  const ObjectId inner = NewObject();
  const TaskPtr task = NewTask("Make");
  task->info.arguments.push_back({.has_value = true});
  task->info.arguments[0].value.references.push_back(objects.InfoOf(inner));
  tasks.Submit(task);
  Grant(worker_);
  Answer(task, LargeValue(2));
  objects.DropHandle(inner);
  ASSERT_FALSE(Exists(inner));
  tasks.Remake(task->info.result);
  EXPECT_THAT(ErrorOf(task), StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(TaskTableTest, CopiesOfArgumentsThatCannotBeMadeAreNotKept) {
  const ObjectId put = NewObject();
  objects.SetReady(put, LargeValue(2));
  const TaskPtr first = Run("First", {put}, LargeValue(2));
  const TaskPtr second = Run("Second", {first->info.result}, LargeValue(2));
  objects.DropHandle(put);
  objects.DropHandle(first->info.result);
  tasks.Remake(second->info.result);
  EXPECT_THAT(ErrorOf(second), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_EQ(objects.size(), 1u);
}

TEST_F(TaskTableTest, OnlyAResultThatIsReadyInTheStoreCanBeLost) {
  const TaskPtr small = Run("Make", {}, SmallValue("here"));
  const TaskPtr pending = Submit("Make");
  tasks.Remake(pending->info.result);
  tasks.Remake(small->info.result);
  tasks.Remake(TestObject(worker_, 1));
  EXPECT_EQ(EntryOf(small->info.result).phase, ObjectPhase::kReady);
  EXPECT_EQ(pending->info.attempt, 0u);
}

TEST_F(TaskTableTest, WithALargeValueATaskIsNotKept) {
  const TaskPtr task = NewTask("Make");
  task->info.arguments.push_back({.has_value = true});
  task->info.arguments[0].value.bytes = std::string(65 << 10, 'x');
  tasks.Submit(task);
  Grant(worker_);
  Answer(task, LargeValue(2));
  tasks.Remake(task->info.result);
  EXPECT_THAT(ErrorOf(task), StatusIs(absl::StatusCode::kDataLoss));
}

// A program that goes on and on from result to result.
TEST(TaskTableLineageTest, AllThatIsKeptToMakeResultsAgainHasABound) {
  constexpr std::uint64_t kBound = 100'000;
  TestProcess process(kBound);
  std::vector<std::weak_ptr<Task>> made;
  ObjectId last = process.NewObject();
  process.objects.SetReady(last, SmallValue(""));
  std::ptrdiff_t kept_max = 0;
  for (int i = 0; i < 1000; ++i) {
    {
      const TaskPtr task = RunIn(process, "Next", {last}, LargeValue(2));
      process.objects.DropHandle(last);
      last = task->info.result;
      made.push_back(task);
    }
    kept_max = std::max(
        kept_max, std::count_if(made.begin(), made.end(), [](const auto& one) {
          return !one.expired();
        }));
  }
  EXPECT_GT(kept_max, 10);
  EXPECT_LE(kept_max, static_cast<std::ptrdiff_t>(kBound / sizeof(Task)));
  // What is within the bound can still be made again.
  process.objects.DropHandle(last);
  const TaskPtr task = RunIn(process, "Make", {}, LargeValue(2));
  process.tasks.Remake(task->info.result);
  EXPECT_EQ(process.EntryOf(task->info.result).phase, ObjectPhase::kPending);
}

}  // namespace
}  // namespace hoplite::task
