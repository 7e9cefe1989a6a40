#include "ray_integration/scheduler/recently_lost.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace hoplite::task {
namespace {

ProcessId Process(std::uint32_t node, std::uint32_t worker) {
  return {{NodeId(node), Incarnation(node)}, WorkerNumber(worker)};
}

TEST(RecentlyLostTest, AProcessIsLostAloneAndANodeWithAll) {
  RecentlyLost lost;
  lost.Add(Process(1, 2));
  lost.Add(Process(3, 1).node);
  EXPECT_TRUE(lost.Contains(Process(1, 2)));
  EXPECT_FALSE(lost.Contains(Process(1, 3)));
  EXPECT_TRUE(lost.Contains(Process(3, 77)));
}

TEST(RecentlyLostTest, OnlyTheLastOnesAreKept) {
  RecentlyLost lost;
  for (std::uint32_t i = 1; i <= 5000; ++i) lost.Add(Process(1, i));
  EXPECT_FALSE(lost.Contains(Process(1, 1)));
  EXPECT_TRUE(lost.Contains(Process(1, 1000)));
  EXPECT_TRUE(lost.Contains(Process(1, 5000)));
}

}  // namespace
}  // namespace hoplite::task
