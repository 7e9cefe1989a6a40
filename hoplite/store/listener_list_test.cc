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
  std::atomic<bool> removed = false;
  const ListenerId id = list.Add([&] {
    entered.count_down();
    for (int i = 0; i < 10'000 && !removed; ++i) std::this_thread::yield();
    EXPECT_FALSE(removed) << "removed while it was running";
  });
  std::jthread notifier([&] { list.Notify(); });
  entered.wait();
  list.Remove(id);
  removed = true;
}

TEST(ListenerListTest, NoCallComesAfterRemove) {
  ListenerList list;
  std::atomic<bool> stop = false;
  std::vector<std::jthread> notifiers;
  for (int i = 0; i < 2; ++i) {
    notifiers.emplace_back([&] {
      while (!stop) {
        list.Notify();
        std::this_thread::yield();
      }
    });
  }
  std::atomic<int> called_late = 0;
  for (int round = 0; round < 500; ++round) {
    const auto removed = std::make_shared<std::atomic<bool>>(false);
    const ListenerId id = list.Add([&called_late, removed] {
      std::this_thread::yield();
      if (*removed) ++called_late;
    });
    std::this_thread::yield();
    list.Remove(id);
    *removed = true;
  }
  stop = true;
  notifiers.clear();
  EXPECT_EQ(called_late, 0);
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
