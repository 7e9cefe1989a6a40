#include "ray_integration/api/remote.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hoplite/base/testing/status_matchers.h"
#include "ray_integration/api/actor_ref.h"
#include "ray_integration/api/fields.h"
#include "ray_integration/api/object_ref.h"
#include "ray_integration/api/objects.h"
#include "ray_integration/api/register.h"
#include "ray_integration/api/registry.h"
#include "ray_integration/api/runtime.h"
#include "ray_integration/api/testing/local_runtime.h"
#include "ray_integration/api/value_view.h"

namespace hoplite::task {
namespace names {

int Plus(int a, int b);
int Plus(int a, int b) { return a + b; }
HOPLITE_REMOTE(Plus);

struct Greeting {
  std::string text;
  ObjectRef<int> number;
};
HOPLITE_FIELDS(Greeting, text, number);

}  // namespace names

namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

int Quiet(int a) noexcept { return a; }
std::string Join(const std::string& a, std::string b) { return a + b; }
std::vector<float> Twice(Value<std::vector<float>> numbers) {
  std::vector<float> twice(numbers);
  for (float& number : twice) number *= 2;
  return twice;
}
absl::StatusOr<int> Divide(int a, int b) {
  if (b == 0) return absl::InvalidArgumentError("division by zero");
  return a / b;
}
absl::Status Check(bool right) {
  return right ? absl::OkStatus() : absl::AbortedError("it is wrong");
}
void Nothing() {}
int Throw(int) { throw std::runtime_error("thrown on purpose"); }
int GetInside(ObjectRef<int> ref) { return **Get(ref); }
names::Greeting Greet(ObjectRef<int> number) {
  return {.text = "hello", .number = std::move(number)};
}
int Nested(int depth) {
  return depth == 0 ? 0 : 1 + **Get(Remote(Nested, depth - 1));
}
int Unregistered() { return 1; }
HOPLITE_REMOTE(Quiet, Join, Twice, Divide, Check, Nothing, Throw, GetInside,
               Greet, Nested);

class Counter {
 public:
  explicit Counter(int start) : number_(start) {}
  int Add(int by) { return number_ += by; }
  int number() const { return number_; }
  absl::Status Fail() { return absl::AbortedError("no more"); }
  int AddTo(ActorRef<Counter> other, int by) {
    return **Get(other.Remote(&Counter::Add, by));
  }

 private:
  int number_;
};
std::unique_ptr<Counter> MakeCounter(int start) {
  return std::make_unique<Counter>(start);
}
absl::StatusOr<std::unique_ptr<Counter>> RefuseCounter() {
  return absl::UnavailableError("no counters today");
}
HOPLITE_REMOTE(MakeCounter, RefuseCounter, &Counter::Add, &Counter::number,
               &Counter::Fail, &Counter::AddTo);

class RemoteTest : public ::testing::Test {
 protected:
  LocalRuntime runtime_;
};

TEST_F(RemoteTest, ATaskTakesValuesAndReferences) {
  const ObjectRef<int> sum = Remote(names::Plus, 1, 2);
  EXPECT_EQ(**Get(Remote(names::Plus, sum, 3)), 6);
  EXPECT_EQ(**Get(Remote(Quiet, 4)), 4);
}

TEST_F(RemoteTest, AnArgumentConvertsToItsParameter) {
  EXPECT_EQ(**Get(Remote(Join, "a", std::string("b"))), "ab");
  const char c = 2;
  EXPECT_EQ(**Get(Remote(names::Plus, 1L, c)), 3);
  EXPECT_EQ(**Get(Remote(names::Plus, *Get(Remote(Quiet, 4)), 1)), 5);
}

TEST_F(RemoteTest, AVectorIsTakenInPlaceAndReturned) {
  const auto numbers = Put(std::vector<float>{1, 2});
  EXPECT_THAT(**Get(Remote(Twice, numbers)), ::testing::ElementsAre(2, 4));
  EXPECT_THAT(**Get(Remote(Twice, std::vector<float>{3})),
              ::testing::ElementsAre(6));
}

TEST_F(RemoteTest, AReferenceIsHandedOverAsItIsWhereTheParameterIsOne) {
  const ObjectRef<int> number = Put(5);
  EXPECT_EQ(**Get(Remote(GetInside, number)), 5);
  const auto greeting = Get(Remote(Greet, number));
  ASSERT_THAT(greeting, IsOk());
  EXPECT_EQ((*greeting)->number, number);
  EXPECT_EQ((*greeting)->text, "hello");
}

TEST_F(RemoteTest, ATaskWithoutAResultGivesAReferenceToNothing) {
  EXPECT_THAT(Get(Remote(Nothing)), IsOk());
  EXPECT_THAT(Get(Remote(Check, true)), IsOk());
  EXPECT_THAT(Get(Remote(Check, false)),
              StatusIs(absl::StatusCode::kAborted,
                       "task 'hoplite::task::Check' failed: it is wrong"));
}

TEST_F(RemoteTest, AnErrorNamesTheTasksThatItCameThrough) {
  const ObjectRef<int> bad = Remote(Divide, 1, 0);
  EXPECT_THAT(Get(bad),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("Divide' failed: division by zero")));
  EXPECT_THAT(
      Get(Remote(names::Plus, 1, Remote(Quiet, bad))),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "task 'hoplite::task::names::Plus' did not run, since its "
               "argument 2 is an error: task 'hoplite::task::Quiet' did not "
               "run, since its argument 1 is an error: task "
               "'hoplite::task::Divide' failed: division by zero"));
}

TEST_F(RemoteTest, WhatATaskThrowsIsItsError) {
  EXPECT_THAT(Get(Remote(Throw, 1)),
              StatusIs(absl::StatusCode::kUnknown, HasSubstr("on purpose")));
}

TEST_F(RemoteTest, TasksMakeTasks) { EXPECT_EQ(**Get(Remote(Nested, 20)), 20); }

TEST_F(RemoteTest, OptionsReachTheRuntime) {
  Remote({.retries = 0, .cpus = 2, .host = "host3"}, names::Plus, 1, 2);
  EXPECT_EQ(runtime_.task_options().cpus, 2);
  EXPECT_EQ(runtime_.task_options().host, "host3");
  const TaskOptions again{.retries = 2, .retry_errors = true};
  Remote(again, Throw, 1);
  EXPECT_EQ(runtime_.runs(), 1 + 3);
}

TEST_F(RemoteTest, WhatCannotBeCalledIsAnErrorOfTheResult) {
  EXPECT_THAT(Get(Remote(Unregistered)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("HOPLITE_REMOTE(Function)")));
  EXPECT_THAT(Get(Remote(names::Plus, 1, ObjectRef<int>())),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith("argument 2 of")));
  EXPECT_THAT(Get(ActorRef<Counter>().Remote(&Counter::Add, 1)),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(RemoteTest, AnActorKeepsItsState) {
  const auto counter = RemoteActor({.restarts = 2}, MakeCounter, 10);
  counter.Remote(&Counter::Add, 1);
  EXPECT_EQ(**Get(counter.Remote(&Counter::Add, Put(5))), 16);
  EXPECT_EQ(**Get(counter.Remote(&Counter::number)), 16);
  EXPECT_EQ(runtime_.actor_options().restarts, 2);
}

TEST_F(RemoteTest, AnActorIsHandedToAnotherOne) {
  const auto one = RemoteActor(MakeCounter, 1);
  const auto two = RemoteActor(MakeCounter, 2);
  EXPECT_EQ(**Get(two.Remote(&Counter::AddTo, one, 5)), 6);
}

TEST_F(RemoteTest, AnErrorOfAMethodOrAFactoryIsThatOfTheCall) {
  const auto counter = RemoteActor(MakeCounter, 1);
  EXPECT_THAT(Get(counter.Remote(&Counter::Fail)),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("no more")));
  EXPECT_THAT(
      Get(RemoteActor(RefuseCounter).Remote(&Counter::number)),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no counters today")));
  Kill(counter);
  EXPECT_THAT(Get(counter.Remote(&Counter::number)),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(RemoteTest, AMethodOfAnotherClassOrOfNoActorDoesNotRun) {
  std::vector<Stored> none;
  const std::string counter_class = "hoplite::task::Counter";
  const auto* number = Registry::Global().Find(counter_class + "::number");
  ASSERT_NE(number, nullptr);
  Instance empty;
  EXPECT_THAT(number->invoke(empty, none),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  Instance other{.object = std::make_shared<int>(1), .type = &typeid(int)};
  EXPECT_THAT(number->invoke(other, none),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(RemoteTest, AnArgumentTooFewDoesNotRunTheTask) {
  std::vector<Stored> one(1);
  Instance none;
  EXPECT_THAT(
      Registry::Global().Find("hoplite::task::names::Plus")->invoke(none, one),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "it takes 2 arguments, and got 1"));
}

TEST(RegisterTest, NamesHaveTheirNamespacesInEveryCompiler) {
  EXPECT_THAT(Registry::Global().Names(),
              Contains("hoplite::task::names::Plus"));
  EXPECT_THAT(Registry::Global().Names(),
              Contains("hoplite::task::Counter::Add"));
  using internal::FunctionName;
  EXPECT_EQ(FunctionName("bool R(const char *) [F = &a::Plus]", ""), "a::Plus");
  EXPECT_EQ(FunctionName("bool R() [F = &(anonymous namespace)::Plus]", ""),
            "Plus");
  EXPECT_EQ(FunctionName("bool R() [with auto F = {anonymous}::Plus]", ""),
            "Plus");
  EXPECT_EQ(FunctionName("bool R()", "&Class::Method"), "Class::Method");
}

TEST(RuntimeDeathTest, ATaskBeforeInitSaysWhatIsMissing) {
  EXPECT_DEATH(Remote(names::Plus, 1, 2), "call task::Init");
}

}  // namespace
}  // namespace hoplite::task
