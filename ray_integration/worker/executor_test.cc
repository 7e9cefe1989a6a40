#include "ray_integration/worker/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/id.h"
#include "hoplite/base/testing/status_matchers.h"
#include "ray_integration/api/registry.h"
#include "ray_integration/api/value.h"
#include "ray_integration/wire/message.h"
#include "ray_integration/wire/values.h"
#include "ray_integration/worker/fetcher.h"
#include "ray_integration/worker/object_table.h"
#include "ray_integration/worker/testing/fake_store.h"
#include "ray_integration/worker/testing/fake_surroundings.h"
#include "ray_integration/worker/testing/test_process.h"

namespace hoplite::task {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

int runs = 0;

// Returns its arguments, one after the other.
absl::StatusOr<Encoded> Join(Instance&, std::vector<Stored>& arguments) {
  ++runs;
  auto joined = std::make_shared<std::string>();
  for (const Stored& one : arguments) {
    joined->append(reinterpret_cast<const char*>(one.bytes.data()),
                   one.bytes.size());
  }
  Encoded result;
  if (!joined->empty()) {
    result.pieces.push_back(std::as_bytes(std::span(*joined)));
  }
  result.owner = joined;
  for (const Stored& one : arguments) {
    for (const Reference& inner : one.references) {
      result.references.push_back(inner);
    }
  }
  return result;
}

absl::StatusOr<Encoded> Complain(Instance&, std::vector<Stored>&) {
  return absl::OutOfRangeError("too far");
}

absl::StatusOr<Encoded> MakeActor(Instance& instance, std::vector<Stored>&) {
  instance.object = std::make_shared<int>(0);
  return Encoded();
}

void RegisterAll() {
  Registry& registry = Registry::Global();
  registry.Add("Join", FunctionKey::Of(&Join), {.invoke = &Join});
  registry.Add("Complain", FunctionKey::Of(&Complain), {.invoke = &Complain});
  registry.Add("MakeActor", FunctionKey::Of(&MakeActor),
               {.kind = FunctionKind::kFactory, .invoke = &MakeActor});
}

class ExecutorTest : public ::testing::Test,
                     protected TestProcess,
                     private HandleMaker {
 protected:
  ExecutorTest() { RegisterAll(); }

  TaskInfo Task(std::uint64_t counter, const std::string& function = "Join") {
    return {.result = TestObject(caller_, counter), .function = function};
  }
  TaskInfo Call(const Endpoint& caller, std::uint64_t sequence,
                std::uint64_t answered = 1) {
    return {.result = TestObject(caller, 1000 + sequence),
            .function = "Join",
            .sequence = sequence,
            .answered = answered};
  }
  static void AddValue(TaskInfo& info, const std::string& bytes) {
    info.arguments.push_back({.has_value = true, .value = *SmallValue(bytes)});
  }
  ReferenceInfo AddReference(TaskInfo& info, const Endpoint& owner,
                             std::uint64_t counter) {
    const ReferenceInfo reference = InfoOf(owner, TestObject(owner, counter));
    info.arguments.push_back({.reference = reference});
    return reference;
  }
  // What its owner says of it.
  void SetReady(const ReferenceInfo& reference, const std::string& bytes) {
    objects.OnState({.id = reference.id,
                     .phase = message::ObjectPhase::kReady,
                     .value = *SmallValue(bytes)});
  }

  void BecomeActor() {
    TaskInfo creation = Task(999, "MakeActor");
    creation.creates = true;
    executor_.OnPush(caller_, creation);
    RunNext();
    TakeAnswers();
  }
  // As a process does it. False where none may run.
  bool RunNext() {
    const IncomingPtr next = executor_.TakeNext();
    if (next == nullptr) return false;
    absl::StatusOr<Encoded> result = executor_.Run(*next);
    End(next, std::move(result));
    return true;
  }
  void End(const IncomingPtr& task, absl::StatusOr<Encoded> result) {
    task->arguments.clear();
    Sweep();
    message::TaskAnswer answer{.result = task->info.result,
                               .attempt = task->info.attempt};
    Encoded kept;
    if (result.ok()) {
      result->AppendTo(answer.value.bytes);
      for (const Reference& inner : result->references) {
        answer.value.references.push_back(objects.InfoOf(inner->id));
      }
      kept = *std::move(result);
    } else {
      answer.error = ToInfo(result.status());
    }
    executor_.Answer(task, std::move(answer), std::move(kept));
    Sweep();
  }
  std::vector<std::pair<Endpoint, message::TaskAnswer>> TakeAnswers() {
    return surroundings.Take<message::TaskAnswer>();
  }
  // Runs all that may run: the results, in order.
  std::vector<ObjectId> RunAll() {
    while (RunNext()) {
    }
    std::vector<ObjectId> results;
    for (const auto& [to, answer] : TakeAnswers()) {
      results.push_back(answer.result);
    }
    return results;
  }
  // Handles that are gone are let go of, as the runtime does it from time to
  // time.
  void Sweep() {
    for (const ObjectId& id : std::exchange(dropped_, {})) {
      objects.DropHandle(id);
    }
  }

  class Handle final : public ReferenceState {
   public:
    Handle(ExecutorTest& test, const ObjectId& id)
        : ReferenceState(id), test_(test) {}
    ~Handle() override { test_.dropped_.push_back(id); }

   private:
    ExecutorTest& test_;
  };
  Reference HandleOf(const ObjectId& id) override {
    objects.AddHandle(id);
    return std::make_shared<Handle>(*this, id);
  }
  ActorReference ActorHandleOf(const ObjectId&) override { return nullptr; }

  const Endpoint caller_ = TestProcessAt(5);
  const Endpoint other_caller_ = TestProcessAt(6);
  const Endpoint third_ = TestProcessAt(7, 2);
  std::vector<ObjectId> dropped_;
  std::shared_ptr<FakeStore> store_ = std::make_shared<FakeStore>();
  Client client_{store_};
  Fetcher fetcher_{surroundings, objects, tasks, *this, client_};
  Executor executor_{surroundings, objects, fetcher_};
};

// --- Tasks. ---

TEST_F(ExecutorTest, TasksRunInTheOrderInWhichTheyCome) {
  for (int i = 1; i <= 3; ++i) executor_.OnPush(caller_, Task(i));
  EXPECT_TRUE(executor_.HasNext());
  EXPECT_THAT(RunAll(),
              ElementsAre(Task(1).result, Task(2).result, Task(3).result));
  EXPECT_FALSE(executor_.HasNext());
  EXPECT_FALSE(executor_.is_actor());
}

TEST_F(ExecutorTest, TheAnswerSaysWhichAttemptItIs) {
  TaskInfo info = Task(1);
  info.attempt = 3;
  AddValue(info, "a");
  AddValue(info, "b");
  executor_.OnPush(caller_, info);
  RunNext();
  const auto answers = TakeAnswers();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].first.process, caller_.process);
  EXPECT_EQ(answers[0].second.attempt, 3u);
  EXPECT_EQ(answers[0].second.value.bytes, "ab");
  EXPECT_FALSE(answers[0].second.receipt);
}

TEST_F(ExecutorTest, ATaskWaitsForItsArguments) {
  TaskInfo info = Task(1);
  const ReferenceInfo first = AddReference(info, caller_, 1);
  const ReferenceInfo second = AddReference(info, third_, 2);
  executor_.OnPush(caller_, info);
  executor_.OnPush(caller_, Task(2));
  EXPECT_FALSE(executor_.HasNext());
  EXPECT_THAT(surroundings.Take<message::Subscribe>(), SizeIs(2));
  SetReady(second, "b");
  EXPECT_FALSE(executor_.HasNext());
  const int changes = surroundings.changes();
  SetReady(first, "a");
  EXPECT_TRUE(executor_.HasNext());
  EXPECT_GT(surroundings.changes(), changes);
  RunNext();
  EXPECT_EQ(TakeAnswers()[0].second.value.bytes, "ab");
  // Nothing stays of what only it needed.
  RunNext();
  EXPECT_EQ(objects.size(), 0u);
}

TEST_F(ExecutorTest, AValueInTheStoreIsReadThere) {
  TaskInfo info = Task(1);
  const ReferenceInfo reference = AddReference(info, caller_, 1);
  info.arguments[0].has_value = true;
  info.arguments[0].value = *LargeValue();
  executor_.OnPush(caller_, info);
  EXPECT_FALSE(executor_.HasNext());
  ASSERT_EQ(store_->Waiting(reference.id), 1u);
  store_->Bring(reference.id, "large");
  surroundings.RunLater();
  RunNext();
  EXPECT_EQ(TakeAnswers()[0].second.value.bytes, "large");
}

TEST_F(ExecutorTest, AValueThatIsLostIsAskedForAgain) {
  TaskInfo info = Task(1);
  const ReferenceInfo reference = AddReference(info, caller_, 1);
  info.arguments[0].has_value = true;
  info.arguments[0].value = *LargeValue();
  executor_.OnPush(caller_, info);
  store_->Fail(reference.id, absl::DataLossError("gone"));
  surroundings.RunLater();
  EXPECT_THAT(surroundings.Take<message::Lost>(), SizeIs(1));
  EXPECT_THAT(surroundings.Take<message::Subscribe>(), SizeIs(1));
  objects.OnState({.id = reference.id,
                   .phase = message::ObjectPhase::kReady,
                   .value = *LargeValue(2)});
  store_->Bring(reference.id, "again");
  surroundings.RunLater();
  RunNext();
  EXPECT_EQ(TakeAnswers()[0].second.value.bytes, "again");
}

TEST_F(ExecutorTest, AFailedArgumentIsTheTasksError) {
  TaskInfo info = Task(1);
  AddValue(info, "a");
  const ReferenceInfo reference = AddReference(info, third_, 1);
  executor_.OnPush(caller_, info);
  runs = 0;
  objects.OnProcessEnded(third_.process, "killed");
  RunNext();
  EXPECT_EQ(runs, 0);
  EXPECT_THAT(ToStatus(TakeAnswers()[0].second.error),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("argument 2")));
}

TEST_F(ExecutorTest, WhatTheFunctionReturnsIsTheError) {
  executor_.OnPush(caller_, Task(1, "Complain"));
  executor_.OnPush(caller_, Task(2, "Unknown"));
  RunNext();
  RunNext();
  const auto answers = TakeAnswers();
  EXPECT_THAT(ToStatus(answers[0].second.error),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("too far")));
  EXPECT_THAT(ToStatus(answers[1].second.error),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("not registered")));
}

TEST_F(ExecutorTest, WhatIsNotBegunIsHandedBackToWhoeverSentIt) {
  executor_.ReturnUnbegun();  // nothing to say
  EXPECT_EQ(surroundings.AllTaken(), "");
  executor_.OnPush(caller_, Task(1));
  TaskInfo waiting = Task(2);
  AddReference(waiting, third_, 1);
  executor_.OnPush(caller_, waiting);
  surroundings.Take<message::Subscribe>();
  executor_.OnPush(other_caller_, Task(3));
  executor_.OnPush(caller_, Task(4));
  const IncomingPtr running = executor_.TakeNext();
  executor_.ReturnUnbegun();
  auto returned = surroundings.Take<message::TasksReturned>();
  ASSERT_THAT(returned, SizeIs(2));
  EXPECT_EQ(returned[0].first.process, caller_.process);
  EXPECT_THAT(returned[0].second.results,
              ElementsAre(waiting.result, Task(4).result));
  EXPECT_EQ(returned[1].first.process, other_caller_.process);
  EXPECT_EQ(objects.size(), 0u);  // what it waited for is let go of
  EXPECT_FALSE(executor_.HasNext());
  End(running, Encoded());
  EXPECT_THAT(TakeAnswers(), SizeIs(1));
}

TEST_F(ExecutorTest, ACancelledTaskDoesNotBegin) {
  executor_.OnPush(caller_, Task(1));
  executor_.OnPush(caller_, Task(2));
  executor_.OnCancel(Task(2).result);
  runs = 0;
  EXPECT_THAT(RunAll(), SizeIs(2));
  EXPECT_EQ(runs, 1);
}

TEST_F(ExecutorTest, ARunningTaskSeesThatItIsCancelled) {
  executor_.OnPush(caller_, Task(1));
  const IncomingPtr running = executor_.TakeNext();
  EXPECT_FALSE(running->cancelled);
  executor_.OnCancel(Task(1).result);
  EXPECT_TRUE(running->cancelled);
  End(running, Encoded());
  executor_.OnCancel(Task(1).result);  // too late, and harmless
}

TEST_F(ExecutorTest, ACancelledTaskDoesNotWaitForItsArguments) {
  TaskInfo info = Task(1);
  const ReferenceInfo never = AddReference(info, third_, 1);
  executor_.OnPush(caller_, info);
  executor_.OnPush(caller_, Task(2));
  const IncomingPtr none = executor_.TakeNext();
  EXPECT_EQ(none, nullptr);
  executor_.OnCancel(info.result);
  const auto answers = TakeAnswers();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_THAT(ToStatus(answers[0].second.error),
              StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(RunAll(), ElementsAre(Task(2).result));
  SetReady(never, "late");  // harmless
  EXPECT_EQ(objects.size(), 0u);
}

// --- References. ---

TEST_F(ExecutorTest, WhatItKeepsIsBorrowedBeforeItAnswers) {
  TaskInfo info = Task(1);
  AddValue(info, "");
  const ReferenceInfo inner = InfoOf(third_, TestObject(third_, 1));
  info.arguments[0].value.references.push_back(inner);
  executor_.OnPush(caller_, info);
  const IncomingPtr running = executor_.TakeNext();
  Reference kept = running->arguments[0].references[0];
  End(running, Encoded());
  EXPECT_THAT(surroundings.Take<message::Borrow>(), SizeIs(1));
  EXPECT_THAT(TakeAnswers(), IsEmpty());
  objects.OnBorrowed(inner.id);
  EXPECT_THAT(TakeAnswers(), SizeIs(1));
  kept = nullptr;
  Sweep();
  EXPECT_THAT(surroundings.Take<message::Release>(), SizeIs(1));
}

TEST_F(ExecutorTest, WhatItKeptAndLetGoOfDoesNotHoldItsAnswerUp) {
  TaskInfo info = Task(1);
  AddValue(info, "");
  info.arguments[0].value.references.push_back(
      InfoOf(third_, TestObject(third_, 1)));
  executor_.OnPush(caller_, info);
  const IncomingPtr running = executor_.TakeNext();
  Reference kept = running->arguments[0].references[0];
  End(running, Encoded());
  kept = nullptr;
  Sweep();
  EXPECT_THAT(TakeAnswers(), SizeIs(1));
}

TEST_F(ExecutorTest, TheCallersOwnObjectNeedsNoAcknowledgement) {
  TaskInfo info = Task(1);
  AddValue(info, "");
  info.arguments[0].value.references.push_back(
      InfoOf(caller_, TestObject(caller_, 1)));
  executor_.OnPush(caller_, info);
  const IncomingPtr running = executor_.TakeNext();
  const Reference kept = running->arguments[0].references[0];
  End(running, Encoded());
  EXPECT_THAT(surroundings.Take<message::Borrow>(), SizeIs(1));
  EXPECT_THAT(TakeAnswers(), SizeIs(1));
}

TEST_F(ExecutorTest, ReferencesInAResultAreHeldUntilItsReceipt) {
  const ObjectId own = NewObject();
  TaskInfo info = Task(1);
  executor_.OnPush(caller_, info);
  const IncomingPtr running = executor_.TakeNext();
  Encoded result;
  result.references.push_back(HandleOf(own));
  objects.DropHandle(own);
  End(running, std::move(result));
  const auto answers = TakeAnswers();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_TRUE(answers[0].second.receipt);
  // The caller has just let go of it, before it saw that it gets it again.
  objects.OnRelease(caller_.process, own);
  EXPECT_NE(objects.Find(own), nullptr);
  objects.OnBorrow(caller_, own);
  executor_.OnReceipt(info.result);
  Sweep();
  EXPECT_NE(objects.Find(own), nullptr);
  objects.OnRelease(caller_.process, own);
  EXPECT_EQ(objects.Find(own), nullptr);
}

TEST_F(ExecutorTest, WhatACallersNodeTakesAlongIsNotWaitedFor) {
  for (int i = 1; i <= 2; ++i) {
    executor_.OnPush(caller_, Task(i));
    const IncomingPtr running = executor_.TakeNext();
    const ObjectId own = NewObject();
    Encoded result;
    result.references.push_back(HandleOf(own));
    objects.DropHandle(own);
    End(running, std::move(result));
  }
  objects.OnProcessEnded({.node = caller_.process.node}, "its node died");
  executor_.OnCallerEnded({.node = caller_.process.node});
  Sweep();
  EXPECT_EQ(objects.size(), 0u);
}

// --- An actor. ---

TEST_F(ExecutorTest, AnActorRunsEachCallersCallsInOrder) {
  BecomeActor();
  EXPECT_TRUE(executor_.is_actor());
  TaskInfo waits = Call(caller_, 1);
  const ReferenceInfo argument = AddReference(waits, third_, 1);
  executor_.OnPush(caller_, waits);
  executor_.OnPush(caller_, Call(caller_, 2));
  executor_.OnPush(other_caller_, Call(other_caller_, 1));
  executor_.OnPush(other_caller_, Call(other_caller_, 2));
  // Others overtake him who waits.
  EXPECT_THAT(RunAll(), ElementsAre(Call(other_caller_, 1).result,
                                    Call(other_caller_, 2).result));
  SetReady(argument, "a");
  EXPECT_THAT(RunAll(), ElementsAre(waits.result, Call(caller_, 2).result));
}

TEST_F(ExecutorTest, ARepeatedCallIsAnsweredAgainAndNotRunAgain) {
  BecomeActor();
  TaskInfo first = Call(caller_, 1);
  AddValue(first, "once");
  executor_.OnPush(caller_, first);
  executor_.OnPush(caller_, first);  // before it has run
  runs = 0;
  EXPECT_THAT(RunAll(), SizeIs(1));
  executor_.OnPush(caller_, first);
  EXPECT_FALSE(executor_.HasNext());
  const auto answers = TakeAnswers();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].second.value.bytes, "once");
  EXPECT_EQ(runs, 1);
  // Another caller's first is another one.
  executor_.OnPush(other_caller_, Call(other_caller_, 1));
  EXPECT_THAT(RunAll(), SizeIs(1));
}

TEST_F(ExecutorTest, ARepeatedCallThatRunsIsAnsweredOnce) {
  BecomeActor();
  executor_.OnPush(caller_, Call(caller_, 1));
  const IncomingPtr running = executor_.TakeNext();
  executor_.OnPush(caller_, Call(caller_, 1));
  EXPECT_FALSE(executor_.HasNext());
  End(running, Encoded());
  EXPECT_THAT(TakeAnswers(), SizeIs(1));
}

TEST_F(ExecutorTest, AnswersThatHaveArrivedAreForgotten) {
  BecomeActor();
  executor_.OnPush(caller_, Call(caller_, 1));
  executor_.OnPush(caller_, Call(caller_, 2));
  RunAll();
  executor_.OnPush(caller_, Call(caller_, 3, /*answered=*/2));
  RunAll();
  executor_.OnPush(caller_, Call(caller_, 1));
  EXPECT_THAT(RunAll(), IsEmpty());  // nobody asks for it
  executor_.OnPush(caller_, Call(caller_, 2));
  EXPECT_THAT(TakeAnswers(), SizeIs(1));
}

TEST_F(ExecutorTest, AnActorHandsNothingBack) {
  BecomeActor();
  executor_.OnPush(caller_, Call(caller_, 1));
  executor_.ReturnUnbegun();
  EXPECT_THAT(RunAll(), SizeIs(1));
  EXPECT_EQ(surroundings.AllTaken(), "");
}

TEST_F(ExecutorTest, ACancelledCallLetsItsCallersNextOneGo) {
  BecomeActor();
  TaskInfo waits = Call(caller_, 1);
  AddReference(waits, third_, 1);
  executor_.OnPush(caller_, waits);
  executor_.OnPush(caller_, Call(caller_, 2));
  EXPECT_FALSE(executor_.HasNext());
  executor_.OnCancel(waits.result);
  EXPECT_THAT(RunAll(), ElementsAre(waits.result, Call(caller_, 2).result));
  // It is answered again, too, where it is repeated.
  executor_.OnPush(caller_, waits);
  EXPECT_THAT(TakeAnswers(), SizeIs(1));
}

TEST_F(ExecutorTest, ItIsAnActorFromItsFactorysBeginningOn) {
  TaskInfo creation = Task(1, "MakeActor");
  creation.creates = true;
  executor_.OnPush(caller_, creation);
  EXPECT_FALSE(executor_.is_actor());
  const IncomingPtr running = executor_.TakeNext();
  EXPECT_TRUE(executor_.is_actor());
}

}  // namespace
}  // namespace hoplite::task
