#include "hoplite/runtime/control_loop.h"

#include <atomic>
#include <functional>
#include <latch>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/runtime/clock.h"

namespace hoplite {
namespace {

using ::testing::ElementsAre;

Event EventNumber(std::uint64_t number) {
  return event::PutFilled{.request = RequestId(number)};
}

std::uint64_t NumberOf(const Event& event) {
  return std::get<event::PutFilled>(event).request.value();
}

// Notes what it is given, and checks that it is never run twice at once.
class FakeBody final : public LoopBody {
 public:
  void Run(absl::Time now, std::vector<Event>& batch) override {
    EXPECT_FALSE(running.exchange(true));
    EXPECT_GE(now, last_now);
    last_now = now;
    for (const Event& event : batch) {
      seen.push_back(NumberOf(event));
      threads.push_back(std::this_thread::get_id());
      if (on_event) on_event(seen.back());
    }
    batch.clear();
    if (timeout.has_value() && *timeout <= now) {
      timeout.reset();
      ++timeouts;
      if (on_timeout) on_timeout();
    }
    ++runs;
    running = false;
  }
  std::optional<absl::Time> NextTimeout() override { return timeout; }

  std::function<void(std::uint64_t)> on_event;
  std::function<void()> on_timeout;
  std::optional<absl::Time> timeout;
  absl::Time last_now = absl::InfinitePast();
  std::vector<std::uint64_t> seen;
  std::vector<std::thread::id> threads;
  int timeouts = 0;
  std::atomic<int> runs = 0;
  std::atomic<bool> running = false;
};

TEST(ControlLoopTest, WhoBringsAnEventRunsTheMachine) {
  FakeBody body;
  ControlLoop loop(&body);
  loop.Deliver(EventNumber(1));
  EXPECT_THAT(body.seen, ElementsAre(1));
  EXPECT_THAT(body.threads, ElementsAre(std::this_thread::get_id()));
}

TEST(ControlLoopTest, WhatARunnerCausesIsHandledAfterwardsByTheSameRunner) {
  FakeBody body;
  ControlLoop loop(&body);
  body.on_event = [&](std::uint64_t number) {
    if (number < 3) loop.Deliver(EventNumber(number + 1));
  };
  loop.Deliver(EventNumber(1));
  EXPECT_THAT(body.seen, ElementsAre(1, 2, 3));
}

TEST(ControlLoopTest, WhoComesWhileTheMachineRunsDoesNotWait) {
  FakeBody body;
  ControlLoop loop(&body);
  std::latch running(1);
  std::latch brought(1);
  body.on_event = [&](std::uint64_t number) {
    if (number != 1) return;
    running.count_down();
    brought.wait();
  };
  std::thread runner([&] { loop.Deliver(EventNumber(1)); });
  running.wait();
  loop.Deliver(EventNumber(2));  // would never return if it waited
  brought.count_down();
  runner.join();
  loop.Inspect([&] { EXPECT_THAT(body.seen, ElementsAre(1, 2)); });
  EXPECT_NE(body.threads[1], std::this_thread::get_id());
}

TEST(ControlLoopTest, WhatIsDeliveredLaterRunsElsewhere) {
  FakeBody body;
  ControlLoop loop(&body);
  std::latch seen(1);
  body.on_event = [&](std::uint64_t) { seen.count_down(); };
  loop.DeliverLater(EventNumber(1));
  seen.wait();
  loop.Inspect([&] { EXPECT_NE(body.threads[0], std::this_thread::get_id()); });
}

TEST(ControlLoopTest, ARunnerIsLetGoWhenTheWorkDoesNotEnd) {
  FakeBody body;
  ControlLoop loop(&body);
  const std::thread::id here = std::this_thread::get_id();
  std::latch runs_elsewhere(1);
  bool go_on = true;  // owned by the runner
  body.on_event = [&](std::uint64_t number) {
    if (!go_on) return;
    if (std::this_thread::get_id() != here) {
      go_on = false;
      runs_elsewhere.count_down();
    }
    loop.Deliver(EventNumber(number + 1));
  };
  loop.Deliver(EventNumber(1));  // would never return
  runs_elsewhere.wait();
}

TEST(ControlLoopTest, ATimeoutComesWithoutAnyEvent) {
  FakeBody body;
  ControlLoop loop(&body);
  std::latch timed_out(2);
  body.on_timeout = [&] { timed_out.count_down(); };
  const absl::Time begin = SystemClock::Now();
  body.on_event = [&](std::uint64_t) {
    body.timeout = begin + absl::Milliseconds(20);
    timed_out.count_down();
  };
  loop.Deliver(EventNumber(1));
  timed_out.wait();
  EXPECT_GE(SystemClock::Now() - begin, absl::Milliseconds(20));
}

TEST(ControlLoopTest, AnEarlierTimeoutIsNotMissed) {
  FakeBody body;
  ControlLoop loop(&body);
  std::latch timed_out(1);
  body.on_timeout = [&] { timed_out.count_down(); };
  body.on_event = [&](std::uint64_t number) {
    body.timeout = number == 1 ? SystemClock::Now() + absl::Hours(1)
                               : SystemClock::Now() + absl::Milliseconds(5);
  };
  loop.Deliver(EventNumber(1));
  loop.Deliver(EventNumber(2));
  timed_out.wait();
}

TEST(ControlLoopTest, AnIdleMachineDoesNotRun) {
  FakeBody body;
  ControlLoop loop(&body);
  body.on_event = [&](std::uint64_t) {
    body.timeout = SystemClock::Now() + absl::Hours(1);
  };
  loop.Deliver(EventNumber(1));
  const int runs = body.runs;
  std::latch later(1);
  std::thread other([&] { later.count_down(); });
  later.wait();
  other.join();
  EXPECT_EQ(body.runs, runs);
}

TEST(ControlLoopTest, AfterStopNothingRuns) {
  FakeBody body;
  ControlLoop loop(&body);
  loop.Stop();
  loop.Deliver(EventNumber(1));
  loop.DeliverLater(EventNumber(2));
  bool looked = false;
  loop.Inspect([&] { looked = true; });
  EXPECT_TRUE(looked);
  EXPECT_EQ(body.runs, 0);
}

TEST(ControlLoopTest, EventsOfManyThreadsAreEachHandledOnce) {
  constexpr int kThreads = 4;
  constexpr int kEvents = 5000;
  FakeBody body;
  ControlLoop loop(&body);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEvents; ++i) {
        loop.Deliver(EventNumber(t * kEvents + i));
        if (i % 100 == 0) loop.Inspect([&] { EXPECT_FALSE(body.running); });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  loop.Inspect([&] {
    std::vector<std::uint64_t> last(kThreads, 0);
    ASSERT_EQ(body.seen.size(), kThreads * kEvents);
    // Those of one thread in its order.
    for (const std::uint64_t number : body.seen) {
      const std::uint64_t thread = number / kEvents;
      EXPECT_EQ(number % kEvents, last[thread]++);
    }
  });
}

}  // namespace
}  // namespace hoplite
