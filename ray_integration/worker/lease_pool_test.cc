#include "ray_integration/worker/lease_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "ray_integration/base/process_id.h"
#include "ray_integration/wire/message.h"
#include "ray_integration/wire/values.h"
#include "ray_integration/worker/task.h"
#include "ray_integration/worker/testing/fake_surroundings.h"

namespace hoplite::task {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAreArray;

class LeasePoolTest : public ::testing::Test {
 protected:
  TaskPtr NewTask(std::uint32_t depth = 1) {
    auto task = std::make_shared<Task>();
    task->info.result = TestObject(around_.self(), ++tasks_);
    task->info.depth = depth;
    task->resources = {{"cpu", 1000}};
    return task;
  }
  TaskPtr Add() {
    TaskPtr task = NewTask();
    pool_.Enqueue(task);
    return task;
  }
  std::vector<TaskPtr> AddSome(int count) {
    std::vector<TaskPtr> tasks;
    for (int i = 0; i < count; ++i) tasks.push_back(Add());
    return tasks;
  }
  // The numbers of the requests since the last time.
  std::vector<std::uint64_t> TakeRequests() {
    std::vector<std::uint64_t> numbers;
    for (auto& [node, request] :
         around_.TakeOfAgents<message::LeaseRequest>()) {
      numbers.push_back(request.number);
    }
    return numbers;
  }
  void Grant(std::uint64_t number, const Endpoint& worker) {
    pool_.OnGranted(TestNodeInfo(), {.number = number, .worker = worker});
  }
  std::vector<TaskPtr> TakePushed() { return std::exchange(pushed_, {}); }
  void Answer(const TaskPtr& task, std::uint32_t micros) {
    task->phase = TaskPhase::kDone;
    pool_.Answered(*task, micros);
  }
  void Refuse(std::uint64_t number, const absl::Status& why) {
    pool_.OnRefused({.number = number, .error = ToInfo(why)});
  }
  void Pass(absl::Duration time) {
    around_.Pass(time, [this] { pool_.OnTimer(around_.Now()); });
  }
  std::size_t Returns() {
    return around_.TakeOfAgents<message::LeaseReturn>().size();
  }

  const Endpoint worker_ = TestProcessAt(7);
  const Endpoint other_worker_ = TestProcessAt(8);
  FakeSurroundings around_;
  std::uint64_t tasks_ = 0;
  std::vector<TaskPtr> pushed_;
  std::vector<std::pair<TaskPtr, absl::Status>> failed_;
  LeasePool pool_{
      around_,
      {.push = [this](const TaskPtr& task) { pushed_.push_back(task); },
       .fail =
           [this](const TaskPtr& task, const absl::Status& why) {
             failed_.emplace_back(task, why);
           },
       .arguments =
           [](const Task& task) {
             std::vector<message::LeaseArgument> arguments;
             for (const auto& one : task.info.arguments) {
               arguments.push_back({.id = one.reference.id});
             }
             return arguments;
           }}};
};

TEST_F(LeasePoolTest, ATaskAsksItsNodeAndGoesToTheWorkerThatItGets) {
  TaskPtr task = NewTask(5);
  task->host = "host3";
  task->spread = true;
  pool_.Enqueue(task);
  EXPECT_EQ(task->phase, TaskPhase::kQueued);
  const auto requests = around_.TakeOfAgents<message::LeaseRequest>();
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].first.node, TestNodeInfo().node);
  EXPECT_EQ(requests[0].second.depth, 5u);
  EXPECT_EQ(requests[0].second.resources, task->resources);
  EXPECT_EQ(requests[0].second.host, "host3");
  EXPECT_TRUE(requests[0].second.spread);
  EXPECT_FALSE(requests[0].second.actor);
  Grant(requests[0].second.number, worker_);
  EXPECT_THAT(TakePushed(), ElementsAre(task));
  EXPECT_EQ(task->phase, TaskPhase::kSent);
  EXPECT_EQ(task->worker.process, worker_.process);
}

TEST_F(LeasePoolTest, TasksThatDifferDoNotShareWorkers) {
  std::vector<TaskPtr> tasks;
  for (int i = 0; i < 8; ++i) tasks.push_back(NewTask());
  const ObjectId object = TestObject(worker_, 1);
  tasks[1]->info.depth = 2;
  tasks[2]->resources = {{"cpu", 2000}};
  tasks[3]->resources = {{"gpu", 1000}};
  tasks[4]->host = "host2";
  tasks[5]->spread = true;
  tasks[6]->info.arguments.push_back({.reference = {.id = object}});
  tasks[7]->info.creates = true;
  for (const TaskPtr& task : tasks) pool_.Enqueue(task);
  const auto numbers = TakeRequests();
  ASSERT_THAT(numbers, SizeIs(8));
  // A worker for the first serves none of the others.
  Grant(numbers[0], worker_);
  EXPECT_THAT(TakePushed(), ElementsAre(tasks[0]));
  Answer(tasks[0], 1);
  EXPECT_THAT(TakePushed(), IsEmpty());
  // But one that is like it.
  const TaskPtr like_it = Add();
  EXPECT_THAT(TakePushed(), ElementsAre(like_it));
}

TEST_F(LeasePoolTest, ValuesDoNotTellTasksApart) {
  TaskPtr first = NewTask();
  first->info.arguments.push_back({.has_value = true});
  first->info.arguments[0].value.bytes = "a";
  pool_.Enqueue(first);
  Grant(TakeRequests()[0], worker_);
  Answer(first, 1);
  const TaskPtr second = Add();
  EXPECT_THAT(TakePushed(), ElementsAre(first, second));
}

TEST_F(LeasePoolTest, TwoActorsNeverShareAWorker) {
  TaskPtr first = NewTask();
  TaskPtr second = NewTask();
  first->info.creates = second->info.creates = true;
  pool_.Enqueue(first);
  pool_.Enqueue(second);
  const auto numbers = TakeRequests();
  ASSERT_THAT(numbers, SizeIs(2));
  Grant(numbers[0], worker_);
  Answer(first, 1);
  EXPECT_THAT(TakePushed(), ElementsAre(first));
  Pass(absl::Seconds(10));
  EXPECT_EQ(Returns(), 0u);  // it has its worker as long as it lives
}

TEST_F(LeasePoolTest, RequestsHaveABound) {
  AddSome(200);
  EXPECT_THAT(TakeRequests(), SizeIs(64));
}

TEST_F(LeasePoolTest, WhenNothingWaitsRequestsAreWithdrawn) {
  const auto tasks = AddSome(3);
  const auto numbers = TakeRequests();
  ASSERT_THAT(numbers, SizeIs(3));
  Grant(numbers[0], worker_);
  Answer(tasks[0], 1);  // a quick one: the others follow at once
  EXPECT_THAT(TakePushed(), ElementsAreArray(tasks));
  const auto withdrawn = around_.TakeOfAgents<message::LeaseWithdraw>();
  ASSERT_THAT(withdrawn, SizeIs(2));
  EXPECT_EQ(withdrawn[0].second.number, numbers[1]);
  // One that was granted meanwhile is given back.
  Grant(numbers[1], other_worker_);
  const auto returned = around_.TakeOfAgents<message::LeaseReturn>();
  ASSERT_THAT(returned, SizeIs(1));
  EXPECT_EQ(returned[0].second.worker, other_worker_.process.worker);
  EXPECT_EQ(around_.AllTaken(), "");
}

TEST_F(LeasePoolTest, ARemovedTaskIsNotSent) {
  const auto tasks = AddSome(2);
  pool_.Remove(tasks[0]);
  Grant(TakeRequests()[0], worker_);
  EXPECT_THAT(TakePushed(), ElementsAre(tasks[1]));
  pool_.Remove(tasks[0]);  // harmless
}

TEST_F(LeasePoolTest, TheFirstOneGoesAloneAndQuickOnesAreSentAhead) {
  const auto tasks = AddSome(300);
  Grant(TakeRequests()[0], worker_);
  EXPECT_THAT(TakePushed(), SizeIs(1));
  Answer(tasks[0], 99);  // ten in a millisecond
  EXPECT_THAT(TakePushed(), SizeIs(10));
  Answer(tasks[1], 0);
  EXPECT_THAT(TakePushed(), SizeIs(4));  // (3 * 99 + 0) / 4: now thirteen
}

TEST_F(LeasePoolTest, TasksThatTakeNoTimeHaveABoundToo) {
  const auto tasks = AddSome(1000);
  Grant(TakeRequests()[0], worker_);
  Answer(tasks[0], 0);
  EXPECT_THAT(TakePushed(), SizeIs(1 + 256));
}

TEST_F(LeasePoolTest, LongTasksGoOneByOneHoweverLongTheyAre) {
  const auto tasks = AddSome(4);
  Grant(TakeRequests()[0], worker_);
  Answer(tasks[0], std::numeric_limits<std::uint32_t>::max());
  EXPECT_THAT(TakePushed(), SizeIs(2));
  Answer(tasks[1], std::numeric_limits<std::uint32_t>::max() / 2);
  EXPECT_THAT(TakePushed(), SizeIs(1));
  Answer(tasks[2], 2000);
  EXPECT_THAT(TakePushed(), SizeIs(1));
}

TEST_F(LeasePoolTest, TheEmptiestWorkerGetsTheNext) {
  auto tasks = AddSome(2);
  const auto numbers = TakeRequests();
  Grant(numbers[0], worker_);
  Grant(numbers[1], other_worker_);
  Answer(tasks[0], 10);
  Answer(tasks[1], 10);
  TakePushed();
  tasks = AddSome(4);
  int on_first = 0;
  for (const TaskPtr& task : TakePushed()) {
    on_first += task->worker.process == worker_.process;
  }
  EXPECT_EQ(on_first, 2);
}

// --- Handing back. ---

TEST_F(LeasePoolTest, ALongOneHandsBackWhatIsBehindIt) {
  const auto tasks = AddSome(5);
  Grant(TakeRequests()[0], worker_);
  Answer(tasks[0], 100);
  TakeRequests();
  TakePushed();
  Pass(absl::Milliseconds(2));
  EXPECT_THAT(around_.Take<message::ReturnTasks>(), IsEmpty());
  Pass(absl::Milliseconds(2));
  const auto asked = around_.Take<message::ReturnTasks>();
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_EQ(asked[0].first.process, worker_.process);
  Pass(absl::Milliseconds(20));
  EXPECT_THAT(around_.Take<message::ReturnTasks>(), IsEmpty());
  pool_.OnReturned(
      worker_.process,
      {tasks[2]->info.result, tasks[3]->info.result, tasks[4]->info.result});
  EXPECT_EQ(tasks[2]->phase, TaskPhase::kQueued);
  // In their order, to another worker.
  const auto numbers = TakeRequests();
  ASSERT_THAT(numbers, SizeIs(3));
  Grant(numbers[0], other_worker_);
  EXPECT_THAT(TakePushed(), ElementsAre(tasks[2]));
  EXPECT_EQ(tasks[2]->worker.process, other_worker_.process);
  // And the long one ends at last.
  Answer(tasks[1], 100'000);
  EXPECT_THAT(TakePushed(), ElementsAre(tasks[3]));
}

// The worker had begun the last one when it was asked, and so has nothing to
// hand back, and says nothing.
TEST_F(LeasePoolTest, AWorkerThatHadNothingToHandBackGoesOn) {
  const auto tasks = AddSome(3);
  Grant(TakeRequests()[0], worker_);
  Answer(tasks[0], 100);
  TakePushed();
  Pass(absl::Milliseconds(5));
  EXPECT_THAT(around_.Take<message::ReturnTasks>(), SizeIs(1));
  Answer(tasks[1], 5000);
  Answer(tasks[2], 10);
  const TaskPtr next = Add();
  EXPECT_THAT(TakePushed(), ElementsAre(next));
}

TEST_F(LeasePoolTest, WhatIsReturnedUnknownIsIgnored) {
  const auto tasks = AddSome(1);
  Grant(TakeRequests()[0], worker_);
  pool_.OnReturned(worker_.process, {TestObject(worker_, 99)});
  pool_.OnReturned(other_worker_.process, {tasks[0]->info.result});
  EXPECT_EQ(tasks[0]->phase, TaskPhase::kSent);
}

TEST_F(LeasePoolTest, ACancelledOneThatIsHandedBackIsNotSentAgain) {
  const auto tasks = AddSome(3);
  Grant(TakeRequests()[0], worker_);
  Answer(tasks[0], 10);
  TakePushed();
  tasks[2]->cancelled = true;
  pool_.OnReturned(worker_.process, {tasks[2]->info.result});
  ASSERT_THAT(failed_, SizeIs(1));
  EXPECT_EQ(failed_[0].first, tasks[2]);
  EXPECT_TRUE(absl::IsCancelled(failed_[0].second));
  EXPECT_THAT(TakePushed(), IsEmpty());
  EXPECT_THAT(TakeRequests(), IsEmpty());
}

// --- Idle and reclaimed leases. ---

TEST_F(LeasePoolTest, AnIdleLeaseIsKept100MillisecondsAndReturned) {
  const TaskPtr task = Add();
  Grant(TakeRequests()[0], worker_);
  Pass(absl::Milliseconds(500));  // it runs
  EXPECT_EQ(Returns(), 0u);
  Answer(task, 500'000);
  Pass(absl::Milliseconds(99));
  EXPECT_EQ(Returns(), 0u);
  const TaskPtr next = Add();
  EXPECT_THAT(TakePushed(), ElementsAre(task, next));
  Answer(next, 10);
  Pass(absl::Milliseconds(99));
  EXPECT_EQ(Returns(), 0u);
  Pass(absl::Milliseconds(2));
  EXPECT_EQ(Returns(), 1u);
  Add();
  EXPECT_THAT(TakePushed(), IsEmpty());
  EXPECT_THAT(TakeRequests(), SizeIs(1));
}

TEST_F(LeasePoolTest, AReclaimedIdleLeaseGoesAtOnce) {
  const TaskPtr task = Add();
  Grant(TakeRequests()[0], worker_);
  Answer(task, 10);
  pool_.OnReclaim(TestNodeInfo(), worker_.process.worker);
  EXPECT_EQ(Returns(), 1u);
  pool_.OnReclaim(TestNodeInfo(), worker_.process.worker);  // no more there
  EXPECT_EQ(Returns(), 0u);
}

TEST_F(LeasePoolTest, AReclaimedBusyLeaseGoesAfterItsTask) {
  const auto tasks = AddSome(4);
  Grant(TakeRequests()[0], worker_);
  Answer(tasks[0], 100);
  TakePushed();
  pool_.OnReclaim(TestNodeInfo(), worker_.process.worker);
  EXPECT_THAT(around_.Take<message::ReturnTasks>(), SizeIs(1));
  Add();
  EXPECT_THAT(TakePushed(), IsEmpty());
  pool_.OnReturned(worker_.process,
                   {tasks[2]->info.result, tasks[3]->info.result});
  EXPECT_THAT(TakePushed(), IsEmpty());
  EXPECT_EQ(Returns(), 0u);
  Answer(tasks[1], 100);
  EXPECT_EQ(Returns(), 1u);
  EXPECT_THAT(TakePushed(), IsEmpty());
}

TEST_F(LeasePoolTest, AReclaimedLeaseWithOneTaskIsNotAskedForIt) {
  const TaskPtr task = Add();
  Grant(TakeRequests()[0], worker_);
  pool_.OnReclaim(TestNodeInfo(), worker_.process.worker);
  EXPECT_THAT(around_.Take<message::ReturnTasks>(), IsEmpty());
  Answer(task, 10);
  EXPECT_EQ(Returns(), 1u);
}

TEST_F(LeasePoolTest, AnActorsLeaseIsNotReclaimed) {
  TaskPtr creation = NewTask();
  creation->info.creates = true;
  pool_.Enqueue(creation);
  Grant(TakeRequests()[0], worker_);
  Answer(creation, 10);
  pool_.OnReclaim(TestNodeInfo(), worker_.process.worker);
  EXPECT_EQ(Returns(), 0u);
  pool_.EndLease(creation->lease);
  EXPECT_THAT(around_.TakeOfAgents<message::EndWorker>(), SizeIs(1));
}

// --- Elsewhere, and refused. ---

TEST_F(LeasePoolTest, AForwardedRequestAsksThereWithOneHopMore) {
  Add();
  const std::uint64_t number = TakeRequests()[0];
  pool_.OnForwarded({.number = number, .to = TestNodeInfo(2)});
  const auto requests = around_.TakeOfAgents<message::LeaseRequest>();
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].first.node, TestNodeInfo(2).node);
  EXPECT_EQ(requests[0].second.number, number);
  EXPECT_EQ(requests[0].second.hops, 1u);
  pool_.OnForwarded({.number = 9999, .to = TestNodeInfo(2)});
  EXPECT_EQ(around_.AllTaken(), "");
  // Its worker goes back to where it came from.
  const Endpoint there = TestProcessAt(3, 2);
  pool_.OnGranted(TestNodeInfo(2), {.number = number, .worker = there});
  Answer(TakePushed()[0], 1);
  Pass(absl::Seconds(1));
  const auto returned = around_.TakeOfAgents<message::LeaseReturn>();
  ASSERT_THAT(returned, SizeIs(1));
  EXPECT_EQ(returned[0].first.node, TestNodeInfo(2).node);
}

TEST_F(LeasePoolTest, ARequestWithALostAgentIsAskedAgainAtHome) {
  AddSome(2);
  const auto numbers = TakeRequests();
  pool_.OnForwarded({.number = numbers[0], .to = TestNodeInfo(2)});
  around_.TakeOfAgents<message::LeaseRequest>();
  pool_.OnAgentLost(TestNodeInfo(2).node);
  const auto requests = around_.TakeOfAgents<message::LeaseRequest>();
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].second.number, numbers[0]);
  EXPECT_EQ(requests[0].second.hops, 0u);
  EXPECT_EQ(requests[0].first.node, TestNodeInfo().node);
}

TEST_F(LeasePoolTest, AFullQueueIsAskedAgainLater) {
  const TaskPtr task = Add();
  Refuse(TakeRequests()[0], absl::UnavailableError("full"));
  EXPECT_THAT(TakeRequests(), IsEmpty());
  const TaskPtr second = Add();
  EXPECT_THAT(TakeRequests(), IsEmpty());
  Pass(absl::Milliseconds(99));
  EXPECT_THAT(TakeRequests(), IsEmpty());
  Pass(absl::Milliseconds(2));
  EXPECT_THAT(TakeRequests(), SizeIs(2));
  EXPECT_THAT(failed_, IsEmpty());
}

// A process wakes once, at the earliest time that it was asked for.
TEST_F(LeasePoolTest, AFullQueueIsAskedAgainAlthoughAnotherTimerCameFirst) {
  const TaskPtr other = NewTask(2);
  pool_.Enqueue(other);
  Grant(TakeRequests()[0], worker_);
  Answer(other, 10);  // returned after 100 ms
  Pass(absl::Milliseconds(50));
  Add();
  Refuse(TakeRequests()[0], absl::UnavailableError("full"));
  Pass(absl::Milliseconds(101));
  EXPECT_THAT(TakeRequests(), SizeIs(1));
}

TEST_F(LeasePoolTest, ARefusalFailsThoseThatHaveWaitedAsLong) {
  const auto tasks = AddSome(2);
  const auto numbers = TakeRequests();
  Pass(absl::Seconds(9));
  const TaskPtr late = Add();
  TakeRequests();
  Pass(absl::Seconds(1));
  const absl::Status why = absl::FailedPreconditionError("no node has a gpu");
  Refuse(numbers[0], why);
  ASSERT_THAT(failed_, SizeIs(2));
  EXPECT_EQ(failed_[0].first, tasks[0]);
  EXPECT_EQ(failed_[0].second, why);
  Refuse(numbers[1], why);
  EXPECT_THAT(failed_, SizeIs(2));
  // The other may be luckier.
  EXPECT_EQ(late->phase, TaskPhase::kQueued);
  EXPECT_THAT(around_.TakeOfAgents<message::LeaseWithdraw>(), IsEmpty());
}

TEST_F(LeasePoolTest, MoreThanAllRequestsFailAfterASecondRefusal) {
  AddSome(200);
  const absl::Status why = absl::FailedPreconditionError("no node has a gpu");
  for (int i = 0; i < 2; ++i) {
    Pass(absl::Seconds(10));
    for (const std::uint64_t number : TakeRequests()) Refuse(number, why);
  }
  EXPECT_THAT(failed_, SizeIs(200));
  around_.TakeOfAgents<message::LeaseWithdraw>();
  EXPECT_EQ(around_.AllTaken(), "");
}

TEST_F(LeasePoolTest, ARefusalHarmsNobodyWhomAWorkerServes) {
  AddSome(3);
  const auto numbers = TakeRequests();
  Grant(numbers[0], worker_);
  Refuse(numbers[1], absl::FailedPreconditionError("no node has a gpu"));
  EXPECT_THAT(failed_, IsEmpty());
  Pass(absl::Milliseconds(101));
  EXPECT_THAT(TakeRequests(), SizeIs(1));
}

// --- Ends. ---

TEST_F(LeasePoolTest, AWorkersTasksComeBackWithTheFirstOneFirst) {
  const auto tasks = AddSome(4);
  const auto numbers = TakeRequests();
  Grant(numbers[0], worker_);
  Answer(tasks[0], 300);
  EXPECT_THAT(pool_.TakeTasksOf(other_worker_.process), IsEmpty());
  EXPECT_THAT(pool_.TakeTasksOf(worker_.process),
              ElementsAre(tasks[1], tasks[2], tasks[3]));
  EXPECT_EQ(tasks[1]->phase, TaskPhase::kWaiting);
  EXPECT_THAT(pool_.TakeTasksOf(worker_.process), IsEmpty());
  Pass(absl::Seconds(1));
  EXPECT_EQ(Returns(), 0u);  // it is not there
}

TEST_F(LeasePoolTest, ANodeTakesAllOfItsWorkersAlong) {
  std::vector<TaskPtr> tasks;
  for (std::uint32_t depth = 1; depth <= 3; ++depth) {
    tasks.push_back(NewTask(depth));
    pool_.Enqueue(tasks.back());
  }
  const auto numbers = TakeRequests();
  Grant(numbers[0], worker_);
  Grant(numbers[1], other_worker_);
  pool_.OnGranted(TestNodeInfo(2),
                  {.number = numbers[2], .worker = TestProcessAt(1, 2)});
  EXPECT_THAT(pool_.TakeTasksOf({.node = TestNodeInfo().node}),
              UnorderedElementsAreArray({tasks[0], tasks[1]}));
  EXPECT_EQ(tasks[2]->phase, TaskPhase::kSent);
}

TEST_F(LeasePoolTest, OthersOfItsGroupAskForAnotherWorker) {
  AddSome(2);
  const auto numbers = TakeRequests();
  Grant(numbers[0], worker_);
  Refuse(numbers[1], absl::UnavailableError("full"));
  Pass(absl::Milliseconds(150));
  TakeRequests();
  pool_.TakeTasksOf(worker_.process);
  const TaskPtr third = Add();
  Grant(TakeRequests().back(), other_worker_);
  EXPECT_THAT(TakePushed(), SizeIs(2));
}

TEST_F(LeasePoolTest, AWorkerIsEndedAtItsAgent) {
  const TaskPtr task = Add();
  Grant(TakeRequests()[0], worker_);
  pool_.EndWorkerOf(*task);
  pool_.EndWorker(worker_.process);
  pool_.EndWorker(other_worker_.process);
  const auto ended = around_.TakeOfAgents<message::EndWorker>();
  ASSERT_THAT(ended, SizeIs(2));
  EXPECT_EQ(ended[0].second.worker, worker_.process.worker);
}

}  // namespace
}  // namespace hoplite::task
