#include "ray_integration/worker/actor_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
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

using message::ActorPhase;
using message::ObjectPhase;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ActorTableTest : public ::testing::Test, protected TestProcess {
 protected:
  // Alive, with one handle.
  ObjectId Start(int restarts = 0, bool retry_calls = false) {
    creation_ = NewActor(restarts, retry_calls);
    StartActor(creation_, worker_);
    return creation_->info.result;
  }
  // Of another process.
  ObjectId Borrowed() {
    const ObjectId actor = TestObject(owner_, 1);
    objects.Know(InfoOf(owner_, actor), /*actor=*/true);
    objects.AddHandle(actor);
    return actor;
  }
  void Become(const ObjectId& actor, ActorPhase phase,
              std::uint32_t incarnation = 0, bool retry_calls = false) {
    actors.OnState({.actor = actor,
                    .phase = phase,
                    .at = worker_,
                    .incarnation = incarnation,
                    .retry_calls = retry_calls});
  }
  // The results of the calls that have been sent, in order.
  std::vector<ObjectId> Sent() {
    std::vector<ObjectId> results;
    for (const auto& push : TakePushed()) results.push_back(push.task.result);
    return results;
  }
  bool Exists(const ObjectId& id) { return objects.Find(id) != nullptr; }
  bool IsPending(const TaskPtr& call) {
    return EntryOf(call->info.result).phase == ObjectPhase::kPending;
  }

  const Endpoint worker_ = TestProcessAt(7);
  const Endpoint other_worker_ = TestProcessAt(8);
  const Endpoint owner_ = TestProcessAt(5, 2);
  TaskPtr creation_;
};

// --- Calls. ---

TEST_F(ActorTableTest, CallsWaitForTheActorAndGoInOrder) {
  creation_ = NewActor();
  const ObjectId actor = creation_->info.result;
  const TaskPtr first = Call(actor);
  const TaskPtr second = Call(actor);
  EXPECT_THAT(Sent(), IsEmpty());
  Grant(worker_);
  TakePushed();
  Answer(creation_, SmallValue(""));
  const TaskPtr third = Call(actor);
  const auto pushed = TakePushed();
  ASSERT_THAT(pushed, SizeIs(3));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(pushed[i].task.sequence, i + 1);
    EXPECT_EQ(pushed[i].task.actor, actor);
    EXPECT_LE(pushed[i].task.answered, 1u);
  }
  Answer(second, SmallValue("2"));
  Answer(first, SmallValue("1"));
  const TaskPtr fourth = Call(actor);
  // All below the third have been answered.
  EXPECT_EQ(TakePushed()[0].task.answered, 3u);
  EXPECT_EQ(EntryOf(first->info.result).value->bytes, "1");
}

TEST_F(ActorTableTest, ACallWaitsForThoseBeforeItToHaveTheirArguments) {
  const ObjectId actor = Start();
  const ObjectId late = NewObject();
  const TaskPtr first = Call(actor, {late});
  const TaskPtr second = Call(actor);
  EXPECT_THAT(Sent(), IsEmpty());
  objects.SetReady(late, SmallValue(""));
  EXPECT_THAT(Sent(), ElementsAre(first->info.result, second->info.result));
}

TEST_F(ActorTableTest, ACallWhoseArgumentFailsLetsTheNextOneGo) {
  const ObjectId actor = Start();
  const ObjectId late = NewObject();
  const TaskPtr first = Call(actor, {late});
  const TaskPtr second = Call(actor);
  objects.SetFailed(late, absl::AbortedError("why"));
  EXPECT_THAT(ErrorOf(first), StatusIs(absl::StatusCode::kAborted));
  const auto pushed = TakePushed();
  ASSERT_THAT(pushed, SizeIs(1));
  EXPECT_EQ(pushed[0].task.result, second->info.result);
  EXPECT_EQ(pushed[0].task.sequence, 1u);  // no number is left out
}

TEST_F(ActorTableTest, ACancelledCallLetsTheNextOneGo) {
  const ObjectId actor = Start();
  const TaskPtr first = Call(actor, {NewObject()});
  const TaskPtr second = Call(actor);
  tasks.Cancel(first->info.result, /*force=*/true);
  EXPECT_THAT(ErrorOf(first), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(Sent(), ElementsAre(second->info.result));
}

TEST_F(ActorTableTest, ForceDoesNotKillTheActor) {
  const ObjectId actor = Start();
  const TaskPtr call = Call(actor);
  tasks.Cancel(call->info.result, /*force=*/true);
  EXPECT_THAT(surroundings.Take<message::CancelTask>(), SizeIs(1));
  EXPECT_THAT(surroundings.TakeOfAgents<message::EndWorker>(), IsEmpty());
}

TEST_F(ActorTableTest, AnErrorOfACallIsItsAnswer) {
  const ObjectId actor = Start();
  const TaskPtr call = NewTask("Method");
  call->info.actor = actor;
  call->retry_errors = true;  // which calls are not asked for
  actors.Call(call);
  AnswerError(call, absl::AbortedError("why"));
  EXPECT_THAT(ErrorOf(call), StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(tasks.unanswered(), 0u);
}

TEST_F(ActorTableTest, ABrokenLinkSendsWhatIsUnansweredAgain) {
  const ObjectId actor = Start();
  const TaskPtr first = Call(actor);
  const TaskPtr second = Call(actor);
  const TaskPtr third = Call(actor);
  Sent();
  Answer(first, SmallValue(""));
  actors.OnLinkClosed(other_worker_.process);
  EXPECT_THAT(Sent(), IsEmpty());
  actors.OnLinkClosed(worker_.process);
  const auto again = TakePushed();
  ASSERT_THAT(again, SizeIs(2));
  EXPECT_EQ(again[0].task.sequence, 2u);
  EXPECT_EQ(again[0].task.attempt, 0u);
  EXPECT_EQ(again[0].task.answered, 2u);
  EXPECT_EQ(again[1].task.sequence, 3u);
}

// --- Deaths. ---

TEST_F(ActorTableTest, AnActorThatDiesFailsItsCallsAndSaysHow) {
  const ObjectId actor = Start();
  const TaskPtr sent = Call(actor);
  const TaskPtr unsent = Call(actor, {NewObject()});
  EndWorker(worker_);
  for (const TaskPtr& call : {sent, unsent}) {
    EXPECT_THAT(ErrorOf(call),
                StatusIs(absl::StatusCode::kUnavailable,
                         AllOf(HasSubstr("MakeActor"), HasSubstr("worker 7"),
                               HasSubstr("killed by signal 9"))));
  }
  const TaskPtr late = Call(actor);
  EXPECT_THAT(ErrorOf(late), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(tasks.unanswered(), 0u);
  EXPECT_THAT(surroundings.TakeOfAgents<message::LeaseRequest>(), IsEmpty());
}

TEST_F(ActorTableTest, ALateAnswerOfADeadActorIsIgnored) {
  const ObjectId actor = Start(1);
  const TaskPtr call = Call(actor);
  EndWorker(worker_);
  tasks.OnAnswer(worker_, {.result = call->info.result});
  EXPECT_THAT(ErrorOf(call), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(ActorTableTest, ItIsStartedAgainAsOftenAsItMay) {
  const ObjectId actor = Start(1);
  const TaskPtr lost = Call(actor);
  Sent();
  EndWorker(worker_);
  EXPECT_THAT(ErrorOf(lost), StatusIs(absl::StatusCode::kUnavailable));
  const TaskPtr next = Call(actor);
  EXPECT_THAT(Sent(), IsEmpty());
  StartActor(creation_, other_worker_);
  const auto pushed = TakePushed();
  ASSERT_THAT(pushed, SizeIs(1));
  EXPECT_EQ(pushed[0].task.incarnation, 1u);
  EXPECT_EQ(pushed[0].task.sequence, 2u);
  EXPECT_EQ(next->worker.process, other_worker_.process);
  EndWorker(other_worker_);
  EXPECT_THAT(ErrorOf(next), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(tasks.unanswered(), 0u);
}

TEST_F(ActorTableTest, WhereAskedForCallsGoToTheNextIncarnationInOrder) {
  const ObjectId actor = Start(1, /*retry_calls=*/true);
  const TaskPtr first = Call(actor);
  const TaskPtr second = Call(actor);
  const TaskPtr third = Call(actor);
  const TaskPtr cancelled = Call(actor);
  const TaskPtr unsent = Call(actor, {NewObject()});
  Sent();
  Answer(second, SmallValue(""));
  tasks.Cancel(cancelled->info.result, /*force=*/false);
  EndWorker(worker_);
  EXPECT_THAT(ErrorOf(cancelled), ::testing::Not(IsOk()));
  StartActor(creation_, other_worker_);
  const auto pushed = TakePushed();
  ASSERT_THAT(pushed, SizeIs(2));
  EXPECT_EQ(pushed[0].task.result, first->info.result);
  EXPECT_GT(pushed[0].task.sequence, 3u) << "new numbers";
  EXPECT_EQ(pushed[0].task.attempt, 1u);
  EXPECT_EQ(pushed[1].task.result, third->info.result);
  // What the dead one still says does not count.
  tasks.OnAnswer(worker_, {.result = first->info.result});
  EXPECT_TRUE(IsPending(first));
  Answer(first, SmallValue("again"));
  EXPECT_EQ(EntryOf(first->info.result).value->bytes, "again");
}

TEST_F(ActorTableTest, AFactoryThatFailsFailsAllCalls) {
  creation_ = NewActor(5);
  const TaskPtr call = Call(creation_->info.result);
  Grant(worker_);
  AnswerError(creation_, absl::InvalidArgumentError("a bad start"));
  EXPECT_THAT(ErrorOf(call), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("a bad start")));
  EXPECT_THAT(surroundings.TakeOfAgents<message::EndWorker>(), SizeIs(1));
  EXPECT_EQ(tasks.unanswered(), 0u);
}

TEST_F(ActorTableTest, AFactoryThatNeverRunsFailsAllCalls) {
  const ObjectId argument = NewObject();
  creation_ = NewTask("MakeActor", {argument});
  objects.Own(creation_->info.result).actor = true;
  actors.Create(creation_, 0, false);
  const TaskPtr call = Call(creation_->info.result);
  objects.SetFailed(argument, absl::AbortedError("why"));
  EXPECT_THAT(ErrorOf(call), StatusIs(absl::StatusCode::kAborted));
}

TEST_F(ActorTableTest, AWorkerThatDiesInTheFactoryIsReplaced) {
  creation_ = NewActor(0);
  const TaskPtr call = Call(creation_->info.result);
  Grant(worker_);
  TakePushed();
  EndWorker(worker_, creation_->info.result);
  StartActor(creation_, other_worker_);
  EXPECT_THAT(Sent(), ElementsAre(call->info.result));
}

TEST_F(ActorTableTest, ItsFactorysArgumentsAreKeptWhileItMayStartAgain) {
  const ObjectId argument = NewObject();
  objects.SetReady(argument, LargeValue());
  creation_ = NewTask("MakeActor", {argument});
  objects.Own(creation_->info.result).actor = true;
  actors.Create(creation_, 1, false);
  objects.DropHandle(argument);
  StartActor(creation_, worker_);
  EXPECT_TRUE(Exists(argument));
  EndWorker(worker_);
  EXPECT_TRUE(Exists(argument));
  StartActor(creation_, other_worker_);
  EXPECT_TRUE(Exists(argument));
  EndWorker(other_worker_);
  EXPECT_FALSE(Exists(argument));
}

TEST_F(ActorTableTest, Calls100000ThatWaitForADeadActorFailSoon) {
  creation_ = NewActor();
  const ObjectId actor = creation_->info.result;
  std::vector<TaskPtr> calls;
  for (int i = 0; i < 100'000; ++i) calls.push_back(Call(actor));
  Grant(worker_);
  AnswerError(creation_, absl::AbortedError("why"));
  EXPECT_THAT(ErrorOf(calls.back()), StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(tasks.unanswered(), 0u);
}

TEST_F(ActorTableTest, CallsThatEachNeedTheOneBeforeFailWithTheActor) {
  const ObjectId actor = Start();
  TaskPtr last = Call(actor);
  for (int i = 0; i < 20'000; ++i) last = Call(actor, {last->info.result});
  EndWorker(worker_);
  EXPECT_THAT(ErrorOf(last), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(tasks.unanswered(), 0u);
}

// --- Kill. ---

TEST_F(ActorTableTest, KillEndsAnActorForGood) {
  const ObjectId actor = Start(5);
  const TaskPtr call = Call(actor);
  actors.Kill(actor);
  EXPECT_THAT(surroundings.TakeOfAgents<message::EndWorker>(), SizeIs(1));
  EXPECT_THAT(ErrorOf(call), ::testing::Not(IsOk()));
  EndWorker(worker_);
  EXPECT_THAT(surroundings.TakeOfAgents<message::LeaseRequest>(), IsEmpty());
  EXPECT_THAT(ErrorOf(Call(actor)),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("killed")));
  actors.Kill(actor);  // harmless
}

TEST_F(ActorTableTest, KillEndsAnActorThatStarts) {
  creation_ = NewActor(5);
  const ObjectId actor = creation_->info.result;
  const TaskPtr call = Call(actor);
  Grant(worker_);
  actors.Kill(actor);
  EXPECT_THAT(surroundings.TakeOfAgents<message::EndWorker>(),
              ::testing::Not(IsEmpty()));
  EXPECT_THAT(ErrorOf(call), ::testing::Not(IsOk()));
  // Its factory was just about to end.
  Answer(creation_, SmallValue(""));
  Sent();
  const TaskPtr late = Call(actor);
  EXPECT_THAT(Sent(), IsEmpty());
  EXPECT_THAT(ErrorOf(late), ::testing::Not(IsOk()));
  EndWorker(worker_);
  EXPECT_THAT(surroundings.TakeOfAgents<message::LeaseRequest>(), IsEmpty());
  EXPECT_EQ(tasks.unanswered(), 0u);
}

TEST_F(ActorTableTest, KillEndsAnActorThatWaitsForItsWorker) {
  creation_ = NewActor(5);
  const TaskPtr call = Call(creation_->info.result);
  actors.Kill(creation_->info.result);
  EXPECT_THAT(ErrorOf(call), ::testing::Not(IsOk()));
  EXPECT_THAT(surroundings.TakeOfAgents<message::LeaseWithdraw>(), SizeIs(1));
}

TEST_F(ActorTableTest, KillOfWhatIsNoMoreIsHarmless) {
  const ObjectId actor = Start();
  objects.DropHandle(actor);
  actors.Kill(actor);
  actors.Kill(TestObject(surroundings.self(), 12345));
  actors.Kill(TestObject(owner_, 12345));
  EXPECT_THAT(surroundings.Take<message::KillActor>(), IsEmpty());
}

// --- Ends. ---

TEST_F(ActorTableTest, AnActorEndsWhenNothingRefersToIt) {
  const ObjectId actor = Start(3);
  objects.OnBorrow(owner_, actor);
  const TaskPtr call = Call(actor);
  objects.DropHandle(actor);
  EXPECT_THAT(surroundings.TakeOfAgents<message::EndWorker>(), IsEmpty());
  Answer(call, SmallValue(""));
  EXPECT_THAT(surroundings.TakeOfAgents<message::EndWorker>(), IsEmpty());
  objects.OnRelease(owner_.process, actor);
  const auto ended = surroundings.TakeOfAgents<message::EndWorker>();
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].second.worker, worker_.process.worker);
  EXPECT_FALSE(Exists(actor));
  EndWorker(worker_);  // it does not start again
  EXPECT_THAT(surroundings.TakeOfAgents<message::LeaseRequest>(), IsEmpty());
}

TEST_F(ActorTableTest, ItEndsWithItsArgumentsThough) {
  const ObjectId argument = NewObject();
  creation_ = NewTask("MakeActor", {argument});
  objects.SetReady(argument, LargeValue());
  objects.Own(creation_->info.result).actor = true;
  actors.Create(creation_, 1, false);
  objects.DropHandle(argument);
  StartActor(creation_, worker_);
  objects.DropHandle(creation_->info.result);
  EXPECT_EQ(objects.size(), 0u);
}

TEST_F(ActorTableTest, OneThatNobodyWantsAnyMoreEndsOnceItHasStarted) {
  creation_ = NewActor();
  objects.DropHandle(creation_->info.result);
  StartActor(creation_, worker_);
  EXPECT_THAT(surroundings.TakeOfAgents<message::EndWorker>(), SizeIs(1));
  EXPECT_EQ(objects.size(), 0u);
  EXPECT_EQ(tasks.unanswered(), 0u);
}

TEST_F(ActorTableTest, OneWhoseLastCallFailsEndsWithIt) {
  const ObjectId actor = Start(1);
  const TaskPtr sent = Call(actor);
  const TaskPtr unsent = Call(actor, {NewObject()});
  objects.DropHandle(actor);
  EndWorker(worker_);
  EXPECT_FALSE(IsPending(sent));
  StartActor(creation_, other_worker_);
  EXPECT_TRUE(Exists(actor));
  tasks.Cancel(unsent->info.result, false);
  EXPECT_FALSE(Exists(actor));
  EXPECT_THAT(surroundings.TakeOfAgents<message::EndWorker>(), SizeIs(1));
}

TEST_F(ActorTableTest, ADeadOneThatOnlyItsCallsReferredToIsForgotten) {
  const ObjectId actor = Start();
  Call(actor);
  Call(actor, {NewObject()});
  objects.DropHandle(actor);
  EndWorker(worker_);
  EXPECT_FALSE(Exists(actor));
  EXPECT_EQ(tasks.unanswered(), 0u);
}

TEST_F(ActorTableTest, ARestartThatNobodyWantsIsNotLeftRunning) {
  const ObjectId actor = Start(1);
  Call(actor);
  objects.DropHandle(actor);
  EndWorker(worker_);  // its only call fails
  if (creation_->phase == TaskPhase::kQueued) {
    StartActor(creation_, other_worker_);
    EXPECT_THAT(surroundings.TakeOfAgents<message::EndWorker>(), SizeIs(1));
  }
  EXPECT_FALSE(Exists(actor));
  EXPECT_EQ(tasks.unanswered(), 0u);
}

TEST_F(ActorTableTest, OneThatNeverWasFailsItsCalls) {
  const ObjectId actor = NewObject();
  objects.Find(actor)->actor = true;
  actors.AddEnded(actor, absl::InvalidArgumentError("no such factory"));
  EXPECT_THAT(ErrorOf(Call(actor)),
              StatusIs(absl::StatusCode::kInvalidArgument));
  objects.DropHandle(actor);
  EXPECT_FALSE(Exists(actor));
}

// --- Of others. ---

TEST_F(ActorTableTest, AWatcherIsToldAtOnceAndOfEveryChange) {
  const ObjectId actor = Start(1);
  actors.OnWatch(owner_, actor);
  actors.OnWatch(owner_, actor);  // over another connection
  auto told = surroundings.Take<message::ActorIs>();
  ASSERT_THAT(told, SizeIs(2));
  EXPECT_EQ(told[0].second.phase, ActorPhase::kAlive);
  EXPECT_EQ(told[0].second.at.process, worker_.process);
  EndWorker(worker_);
  StartActor(creation_, other_worker_);
  EndWorker(other_worker_);
  told = surroundings.Take<message::ActorIs>();
  ASSERT_THAT(told, SizeIs(3));
  EXPECT_EQ(told[0].second.phase, ActorPhase::kStarting);
  EXPECT_EQ(told[1].second.phase, ActorPhase::kAlive);
  EXPECT_EQ(told[1].second.incarnation, 1u);
  EXPECT_EQ(told[2].second.phase, ActorPhase::kEnded);
  EXPECT_THAT(ToStatus(told[2].second.why), ::testing::Not(IsOk()));
}

TEST_F(ActorTableTest, AWatcherOfNothingHearsThatItHasEnded) {
  actors.OnWatch(owner_, TestObject(surroundings.self(), 77));
  const auto told = surroundings.Take<message::ActorIs>();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].second.phase, ActorPhase::kEnded);
}

TEST_F(ActorTableTest, ABorrowedActorIsWatchedOnceAndCalledWhenItLives) {
  const ObjectId actor = Borrowed();
  const TaskPtr first = Call(actor);
  const TaskPtr second = Call(actor);
  const auto watches = surroundings.Take<message::WatchActor>();
  ASSERT_THAT(watches, SizeIs(1));
  EXPECT_EQ(watches[0].first.process, owner_.process);
  Become(actor, ActorPhase::kStarting);
  EXPECT_THAT(Sent(), IsEmpty());
  Become(actor, ActorPhase::kAlive, 3);
  const auto pushed = TakePushed();
  ASSERT_THAT(pushed, SizeIs(2));
  EXPECT_EQ(pushed[0].task.incarnation, 3u);
  Become(actor, ActorPhase::kAlive, 3);  // said twice
  EXPECT_THAT(Sent(), IsEmpty());
  EXPECT_TRUE(IsPending(first));
}

TEST_F(ActorTableTest, ABorrowedActorsNewIncarnationFailsOrRepeatsCalls) {
  const ObjectId actor = Borrowed();
  const TaskPtr first = Call(actor);
  Become(actor, ActorPhase::kAlive, 0);
  Become(actor, ActorPhase::kAlive, 1);  // the death between was not told
  EXPECT_THAT(ErrorOf(first), StatusIs(absl::StatusCode::kUnavailable));
  Sent();
  const TaskPtr second = Call(actor);
  Become(actor, ActorPhase::kStarting, 2, /*retry_calls=*/true);
  EXPECT_TRUE(IsPending(second));
  Sent();
  Become(actor, ActorPhase::kAlive, 2, /*retry_calls=*/true);
  EXPECT_THAT(Sent(), ElementsAre(second->info.result));
}

TEST_F(ActorTableTest, WhenItsOwnerEndsItsCallsFail) {
  const ObjectId actor = Borrowed();
  const TaskPtr sent = Call(actor);
  Become(actor, ActorPhase::kAlive);
  const TaskPtr unsent = Call(actor, {NewObject()});
  actors.OnOwnerEnded(owner_.process, "killed");
  for (const TaskPtr& call : {sent, unsent}) {
    EXPECT_THAT(ErrorOf(call),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("owner")));
  }
  EXPECT_THAT(ErrorOf(Call(actor)), ::testing::Not(IsOk()));
}

TEST_F(ActorTableTest, WhenItsOwnersNodeEndsItsLastCallFails) {
  const ObjectId actor = Borrowed();
  const TaskPtr sent = Call(actor);
  Become(actor, ActorPhase::kAlive);
  objects.DropHandle(actor);
  actors.OnOwnerEnded({.node = owner_.process.node}, "its node died");
  EXPECT_THAT(ErrorOf(sent), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_FALSE(Exists(actor));
}

TEST_F(ActorTableTest, ACallAfterItsOwnersEndFailsToo) {
  objects.OnProcessEnded(owner_.process, "killed");
  actors.OnOwnerEnded(owner_.process, "killed");
  const ObjectId actor = Borrowed();
  EXPECT_THAT(ErrorOf(Call(actor)), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(surroundings.Take<message::WatchActor>(), IsEmpty());
}

TEST_F(ActorTableTest, ABorrowedActorThatIsLetGoOfIsForgotten) {
  const ObjectId actor = Borrowed();
  const TaskPtr call = Call(actor);
  Become(actor, ActorPhase::kAlive);
  objects.DropHandle(actor);
  EXPECT_TRUE(Exists(actor));
  Answer(call, SmallValue(""));
  EXPECT_FALSE(Exists(actor));
  surroundings.Take<message::WatchActor>();
  // Known again, it is asked for again: nothing of before counts.
  Borrowed();
  Call(actor);
  EXPECT_THAT(surroundings.Take<message::WatchActor>(), SizeIs(1));
}

TEST_F(ActorTableTest, KillOfABorrowedActorIsItsOwners) {
  const ObjectId actor = Borrowed();
  actors.Kill(actor);
  const auto kills = surroundings.Take<message::KillActor>();
  ASSERT_THAT(kills, SizeIs(1));
  EXPECT_EQ(kills[0].first.process, owner_.process);
}

TEST_F(ActorTableTest, ABrokenLinkToTheOwnerWatchesAgain) {
  const ObjectId actor = Borrowed();
  Call(actor);
  surroundings.Take<message::WatchActor>();
  actors.OnLinkClosed(owner_.process);
  EXPECT_THAT(surroundings.Take<message::WatchActor>(), SizeIs(1));
}

}  // namespace
}  // namespace hoplite::task
