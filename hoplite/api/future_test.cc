#include "hoplite/api/future.h"

#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/base/testing/status_matchers.h"
#include "hoplite/runtime/clock.h"

namespace hoplite {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using State = FutureState<absl::StatusOr<int>>;

std::shared_ptr<State> NewState() { return std::make_shared<State>(); }

TEST(FutureTest, TheFirstResultCounts) {
  const auto state = NewState();
  const Future<int> future(state);
  EXPECT_FALSE(future.Ready());
  EXPECT_FALSE(future.Wait(SystemClock::Now()));
  EXPECT_TRUE(state->Set(7));
  EXPECT_FALSE(state->Set(8));
  EXPECT_FALSE(state->Fail(absl::AbortedError("late")));
  EXPECT_TRUE(future.Ready());
  EXPECT_THAT(future.Get(), IsOkAndHolds(7));
}

TEST(FutureTest, WhoWaitsIsWokenByAnotherThread) {
  const auto state = NewState();
  std::thread other([&] { state->Set(7); });
  EXPECT_THAT(Future<int>(state).Get(), IsOkAndHolds(7));
  other.join();
}

TEST(FutureTest, ACallbackComesOnceBeforeAndAfter) {
  const auto state = NewState();
  const Future<int> future(state);
  std::vector<int> heard;
  const auto listen = [&](const absl::StatusOr<int>& result) {
    heard.push_back(*result);
  };
  future.Then(listen);
  state->Set(7);
  future.Then(listen);
  EXPECT_THAT(heard, ElementsAre(7, 7));
}

TEST(FutureTest, CancelIsTheCallsOwnAndEndsWithTheResult) {
  const auto state = NewState();
  int cancelled = 0;
  state->Prepare([&] { ++cancelled; }, absl::InfiniteFuture(), [] {});
  const Future<int> future(state);
  future.Cancel();
  EXPECT_EQ(cancelled, 1);
  state->Set(7);
  future.Cancel();
  EXPECT_EQ(cancelled, 1);
}

TEST(FutureTest, WhoWaitsPastTheGuardExpiresTheCall) {
  const auto state = NewState();
  state->Prepare(
      [] {}, SystemClock::Now() + absl::Milliseconds(10),
      [&] { state->Fail(absl::DeadlineExceededError("the node is silent")); });
  EXPECT_THAT(Future<int>(state).Get(),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST(FutureTest, TheFirstKOfNAreTheEarliestAndInTheirOrder) {
  std::vector<std::shared_ptr<State>> states;
  std::vector<Future<int>> futures;
  for (int i = 0; i < 4; ++i) {
    states.push_back(NewState());
    futures.emplace_back(states.back());
  }
  const std::span<const Future<int>> all(futures);
  EXPECT_THAT(WaitForFirst(all, 0), IsEmpty());
  EXPECT_THAT(WaitForFirst(all, 2, SystemClock::Now()), IsEmpty());
  states[3]->Set(0);
  EXPECT_THAT(WaitForFirst(all, 1), ElementsAre(3));
  std::thread other([&] {
    states[1]->Set(0);
    states[0]->Set(0);
  });
  EXPECT_THAT(WaitForFirst(all, 3), ElementsAre(3, 1, 0));
  other.join();
  EXPECT_THAT(WaitForFirst(all, 1), ElementsAre(3));
  EXPECT_THAT(WaitForFirst(all, 9, SystemClock::Now() + absl::Milliseconds(5)),
              ElementsAre(3, 1, 0));
  EXPECT_THAT(WaitForFirst(std::span<const Future<int>>(), 3), IsEmpty());
}

}  // namespace
}  // namespace hoplite
