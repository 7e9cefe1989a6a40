#include "hoplite/store/eviction.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hoplite {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

bool Any(BufferId) { return true; }

// Buffers 1, 2, 3, 4 of 10, 20, 30, 40 bytes, used in this order.
LruOrder MakeOrder() {
  LruOrder order;
  for (std::uint64_t id = 1; id <= 4; ++id) {
    order.Insert(BufferId(id), id * 10);
  }
  return order;
}

TEST(LruOrderTest, TheLeastRecentlyUsedGoFirstAndNoMoreThanNeeded) {
  const LruOrder order = MakeOrder();
  const LruOrder::Choice choice = order.Candidates(30, Any);
  EXPECT_THAT(choice.ids, ElementsAre(BufferId(1), BufferId(2)));
  EXPECT_EQ(choice.bytes, 30u);
  EXPECT_THAT(order.Candidates(31, Any).ids,
              ElementsAre(BufferId(1), BufferId(2), BufferId(3)));
  EXPECT_THAT(order.Candidates(0, Any).ids, IsEmpty());
}

TEST(LruOrderTest, UseMakesABufferTheLastToGo) {
  LruOrder order = MakeOrder();
  EXPECT_TRUE(order.Touch(BufferId(1)));
  EXPECT_TRUE(order.Touch(BufferId(3)));
  EXPECT_FALSE(order.Touch(BufferId(9)));
  EXPECT_THAT(order.Candidates(1000, Any).ids,
              ElementsAre(BufferId(2), BufferId(4), BufferId(1), BufferId(3)));
}

TEST(LruOrderTest, PinnedOnesStay) {
  const LruOrder order = MakeOrder();
  const auto not_pinned = [](BufferId id) { return id.value() % 2 == 0; };
  const LruOrder::Choice choice = order.Candidates(21, not_pinned);
  EXPECT_THAT(choice.ids, ElementsAre(BufferId(2), BufferId(4)));
  EXPECT_EQ(choice.bytes, 60u);
}

TEST(LruOrderTest, TooLittleIsSaidToBeSo) {
  const LruOrder order = MakeOrder();
  EXPECT_EQ(order.Candidates(101, Any).bytes, 100u);
  EXPECT_EQ(order.Candidates(1, [](BufferId) { return false; }).bytes, 0u);
}

TEST(LruOrderTest, ErasedAndEmptyBuffersAreNoCandidates) {
  LruOrder order = MakeOrder();
  EXPECT_TRUE(order.Erase(BufferId(1)));
  EXPECT_FALSE(order.Erase(BufferId(1)));
  order.Insert(BufferId(5), 0);
  order.Insert(BufferId(1), 50);
  EXPECT_EQ(order.size(), 5u);
  EXPECT_EQ(order.total_bytes(), 140u);
  EXPECT_THAT(order.Candidates(1000, Any).ids,
              ElementsAre(BufferId(2), BufferId(3), BufferId(4), BufferId(1)));
}

TEST(LruOrderDeathTest, ABufferIsInsertedOnce) {
  LruOrder order = MakeOrder();
  EXPECT_DEATH(order.Insert(BufferId(2), 20), "CHECK failed");
}

}  // namespace
}  // namespace hoplite
