#include "hoplite/base/mutex.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

namespace hoplite {
namespace {

class Counter {
 public:
  void Increment() {
    MutexLock lock(mutex_);
    ++value_;
    changed_.NotifyAll();
  }
  int value() {
    MutexLock lock(mutex_);
    return value_;
  }
  // False where the deadline passed first.
  bool AwaitAtLeast(int value, absl::Time deadline) {
    MutexLock lock(mutex_);
    while (value_ < value) {
      if (!changed_.WaitUntil(mutex_, deadline)) return value_ >= value;
    }
    return true;
  }
  void AwaitAtLeast(int value) {
    MutexLock lock(mutex_);
    while (value_ < value) changed_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int value_ ABSL_GUARDED_BY(mutex_) = 0;
};

TEST(MutexTest, OneThreadAtATimeIsInside) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 5000;
  Counter counter;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&counter] {
        for (int round = 0; round < kRounds; ++round) counter.Increment();
      });
    }
  }
  EXPECT_EQ(counter.value(), kThreads * kRounds);
}

TEST(CondVarTest, AWaitEndsWithTheNotification) {
  Counter counter;
  std::jthread thread([&counter] { counter.Increment(); });
  counter.AwaitAtLeast(1);
  EXPECT_EQ(counter.value(), 1);
}

TEST(CondVarTest, AnInfiniteDeadlineWaitsForTheNotification) {
  Counter counter;
  std::jthread thread([&counter] { counter.Increment(); });
  EXPECT_TRUE(counter.AwaitAtLeast(1, absl::InfiniteFuture()));
}

TEST(CondVarTest, ADeadlineThatHasPassedEndsTheWait) {
  Counter counter;
  EXPECT_FALSE(counter.AwaitAtLeast(1, absl::UnixEpoch()));
  EXPECT_FALSE(counter.AwaitAtLeast(1, absl::InfinitePast()));
}

TEST(CondVarTest, TheMutexIsHeldAgainAfterADeadline) {
  Mutex mutex;
  CondVar condition;
  int value = 0;
  std::jthread thread;
  {
    MutexLock lock(mutex);
    EXPECT_FALSE(condition.WaitUntil(mutex, absl::UnixEpoch()));
    thread = std::jthread([&] {
      MutexLock inner(mutex);
      value *= 2;
    });
    value = 21;
  }
  thread.join();
  EXPECT_EQ(value, 42);
}

}  // namespace
}  // namespace hoplite
