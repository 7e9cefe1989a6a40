#include "ray_integration/link/poller.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "hoplite/base/mutex.h"
#include "hoplite/runtime/clock.h"
#include "ray_integration/link/link_testing.h"

namespace hoplite::task {
namespace {

bool Never() { return false; }

// Something that happens once; waiting for it polls nothing.
class Signal {
 public:
  void Give() {
    MutexLock lock(mutex_);
    given_ = true;
    changed_.NotifyAll();
  }
  bool Await() {
    MutexLock lock(mutex_);
    while (!given_) {
      if (!changed_.WaitUntil(mutex_, SystemClock::ToWallTime(Soon()))) break;
    }
    return given_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool given_ = false;
};

void LetPass(absl::Duration span) {
  const auto other = MakePoller();
  EXPECT_FALSE(other->Wait(Never, SystemClock::Now() + span));
}

TEST(PollerTest, AWaitForWhatHoldsAlreadyReturns) {
  const auto poller = MakePoller();
  EXPECT_TRUE(poller->Wait([] { return true; }, absl::InfinitePast()));
}

TEST(PollerTest, AWaitEndsAtItsDeadlineAndNotBefore) {
  const auto poller = MakePoller();
  EXPECT_FALSE(poller->Wait(Never, absl::InfinitePast()));
  const absl::Time deadline = SystemClock::Now() + absl::Milliseconds(20);
  EXPECT_FALSE(poller->Wait(Never, deadline));
  EXPECT_GE(SystemClock::Now(), deadline);
}

TEST(PollerTest, NotifyHasEveryWaitingThreadLookAgain) {
  const auto poller = MakePoller();
  std::atomic<bool> flag = false;
  std::atomic<int> looks = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      bool first = true;
      EXPECT_TRUE(poller->Wait(
          [&] {
            if (std::exchange(first, false)) {
              ++looks;
              poller->Notify();
            }
            return flag.load();
          },
          Soon()));
    });
  }
  EXPECT_TRUE(poller->Wait([&] { return looks == 4; }, Soon()));
  flag = true;
  poller->Notify();
  for (std::thread& thread : threads) thread.join();
}

TEST(PollerTest, TasksRunInTheOrderOfTheirTimes) {
  const auto poller = MakePoller();
  std::vector<int> order;  // of the polling thread; read when all have run
  std::atomic<int> ran = 0;
  const absl::Time start = SystemClock::Now() + absl::Milliseconds(5);
  const auto add = [&](int number, absl::Duration after) {
    poller->At(start + after, [&, number] {
      EXPECT_GE(SystemClock::Now(), start);
      order.push_back(number);
      ++ran;
    });
  };
  add(3, absl::Milliseconds(2));
  add(1, absl::ZeroDuration());
  add(2, absl::ZeroDuration());
  add(4, absl::Milliseconds(3));
  EXPECT_TRUE(poller->Wait([&] { return ran == 4; }, Soon()));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4}));
}

TEST(PollerTest, ATaskRunsWhereNobodyWaits) {
  const auto poller = MakePoller();
  for (int i = 0; i < 20; ++i) {
    Signal signal;
    poller->At(SystemClock::Now() + absl::Microseconds(100 * i),
               [&] { signal.Give(); });
    ASSERT_TRUE(signal.Await());
  }
}

TEST(PollerTest, ATaskIsInTimeForAThreadThatIsInAWaitAlready) {
  const auto poller = MakePoller();
  for (int i = 0; i < 20; ++i) {
    std::atomic<bool> flag = false;
    Signal waiting;
    std::thread waiter([&] {
      EXPECT_TRUE(poller->Wait(
          [&] {
            waiting.Give();
            return flag.load();
          },
          Soon()));
    });
    ASSERT_TRUE(waiting.Await());
    poller->At(absl::InfinitePast(), [&] { flag = true; });
    waiter.join();
  }
}

// Each thread is done after other tasks; whoever polls has to hand over.
TEST(PollerTest, PollingIsHandedOverWhereThePollingThreadIsDone) {
  constexpr int kThreads = 6;
  constexpr int kRounds = 200;
  const auto poller = MakePoller();
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int> step = 0;
    std::vector<std::thread> threads;
    for (int i = 1; i <= kThreads; ++i) {
      threads.emplace_back([&, i] {
        EXPECT_TRUE(poller->Wait([&] { return step >= i; }, Soon()));
        // The next thread waits for what this one asks for when it leaves.
        poller->At(absl::InfinitePast(), [&] { ++step; });
      });
    }
    poller->At(absl::InfinitePast(), [&] { ++step; });
    for (std::thread& thread : threads) thread.join();
    // The last task refers to `step`.
    EXPECT_TRUE(poller->Wait([&] { return step > kThreads; }, Soon()));
  }
}

// After a long turn the background thread sleeps too: unless the thread that
// leaves at its deadline wakes the other, nobody reads what comes next.
TEST(PollerTest, WhoIsLeftInAWaitPollsAfterALongTurnOfAnother) {
  const SocketPlace place;
  const auto poller = MakePoller();
  const auto handler = std::make_shared<RecordingHandler>();
  ASSERT_TRUE(poller->Listen(place.address(), AcceptFor(handler)).ok());
  RawPeer peer(place.path());
  std::thread first([&] {
    EXPECT_FALSE(
        poller->Wait(Never, SystemClock::Now() + absl::Milliseconds(40)));
  });
  LetPass(absl::Milliseconds(10));
  std::thread second([&] {
    EXPECT_TRUE(
        poller->Wait([&] { return handler->frame_count() == 1; }, Soon()));
  });
  first.join();
  peer.Write(std::string("\1\0\0\0a", 5));
  second.join();
}

TEST(PollerTest, HandlersRunOnOneThreadAtATime) {
  constexpr int kTasks = 500;
  const auto poller = MakePoller();
  int plain = 0;  // a race, for whoever looks for one, without that rule
  std::atomic<int> ran = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < kTasks; ++k) {
        const int before = ran;
        poller->At(absl::InfinitePast(), [&] {
          ++plain;
          ++ran;
        });
        EXPECT_TRUE(poller->Wait([&] { return ran > before; }, Soon()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(poller->Wait([&] { return ran == 3 * kTasks; }, Soon()));
  poller->Stop();
  EXPECT_EQ(plain, 3 * kTasks);
}

TEST(PollerTest, StopEndsTheWaitsOfAllThreads) {
  for (int round = 0; round < 20; ++round) {
    const auto poller = MakePoller();
    Signal waiting;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        EXPECT_FALSE(poller->Wait(
            [&] {
              waiting.Give();
              return false;
            },
            Soon()));
      });
    }
    ASSERT_TRUE(waiting.Await());
    poller->Stop();
    poller->Stop();
    for (std::thread& thread : threads) thread.join();
    poller->At(absl::InfinitePast(), [] { ADD_FAILURE() << "after Stop"; });
    EXPECT_FALSE(poller->Wait(Never, Soon()));
  }
}

TEST(PollerTest, AWaitInATaskIsAMistake) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        const auto poller = MakePoller();
        poller->At(absl::InfinitePast(),
                   [&] { poller->Wait(Never, absl::InfinitePast()); });
        poller->Wait(Never, Soon());
      },
      "CHECK failed");
}

// How often threads of this process went to sleep within a span.
long SleepsWithin(absl::Duration span) {
  rusage before{};
  rusage after{};
  getrusage(RUSAGE_SELF, &before);
  LetPass(span);
  getrusage(RUSAGE_SELF, &after);
  return after.ru_nvcsw - before.ru_nvcsw;
}

// A background thread that looked every millisecond would be seen 300 times.
constexpr absl::Duration kSpan = absl::Milliseconds(300);
constexpr long kFew = 40;

TEST(PollerTest, NobodyWakesWhereNobodyWaitsAndNothingHappens) {
  const auto poller = MakePoller();
  EXPECT_FALSE(poller->Wait(Never, SystemClock::Now() + absl::Milliseconds(1)));
  EXPECT_LT(SleepsWithin(kSpan), kFew);
}

TEST(PollerTest, NobodyWakesWhereThreadsWaitAndNothingHappens) {
  const auto poller = MakePoller();
  std::atomic<bool> flag = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      EXPECT_TRUE(poller->Wait([&] { return flag.load(); }, Soon()));
    });
  }
  EXPECT_LT(SleepsWithin(kSpan), kFew);
  flag = true;
  poller->Notify();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hoplite::task
