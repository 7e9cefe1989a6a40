#include "hoplite/store/listener_list.h"

#include <atomic>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hoplite {
namespace {

using ::testing::ElementsAre;

TEST(ListenerListTest, AllAreCalledInOrderUntilTheyAreRemoved) {
  ListenerList list;
  std::vector<int> calls;
  list.Notify();
  const ListenerId first = list.Add([&] { calls.push_back(1); });
  const ListenerId second = list.Add([&] { calls.push_back(2); });
  EXPECT_NE(first, second);
  list.Notify();
  list.Remove(first);
  list.Remove(first);
  list.Remove(ListenerId());
  list.Notify();
  list.Remove(second);
  list.Notify();
  EXPECT_THAT(calls, ElementsAre(1, 2, 2));
}

TEST(ListenerListTest, AListenerMayNotifyAddAndRemoveOthers) {
  ListenerList list;
  int calls = 0;
  const ListenerId other = list.Add([] {});
  list.Add([&] {
    if (++calls > 1) return;
    list.Notify();
    list.Remove(other);
    list.Add([] {});
  });
  list.Notify();
  EXPECT_EQ(calls, 2);
}

TEST(ListenerListTest, RemoveWaitsForTheCallThatRuns) {
  ListenerList list;
  std::latch entered(1);
  std::latch leave(1);
  std::atomic<bool> left = false;
  const ListenerId id = list.Add([&] {
    entered.count_down();
    leave.wait();
    left = true;
  });
  std::jthread notifier([&] { list.Notify(); });
  entered.wait();
  std::jthread remover([&] {
    list.Remove(id);
    EXPECT_TRUE(left);
  });
  leave.count_down();
}

// Symptom of a mistake: a call into freed memory (seen by AddressSanitizer),
// or a count that still moves.
TEST(ListenerListTest, NoCallComesAfterRemove) {
  ListenerList list;
  std::atomic<bool> stop = false;
  std::vector<std::jthread> notifiers;
  for (int i = 0; i < 2; ++i) {
    notifiers.emplace_back([&] {
      while (!stop) list.Notify();
    });
  }
  for (int round = 0; round < 2000; ++round) {
    auto alive = std::make_unique<std::atomic<int>>(0);
    const ListenerId id = list.Add([state = alive.get()] { ++*state; });
    list.Remove(id);
    const int calls = *alive;
    EXPECT_EQ(*alive, calls);
    alive.reset();
  }
  stop = true;
}

TEST(ListenerListTest, TwoThreadsMayRemoveTheSame) {
  for (int round = 0; round < 200; ++round) {
    ListenerList list;
    const ListenerId id = list.Add([] {});
    std::jthread notifier([&] { list.Notify(); });
    std::jthread first([&] { list.Remove(id); });
    std::jthread second([&] { list.Remove(id); });
  }
}

}  // namespace
}  // namespace hoplite
