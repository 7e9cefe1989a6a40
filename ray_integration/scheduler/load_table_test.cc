#include "ray_integration/scheduler/load_table.h"

#include <gtest/gtest.h>

#include <string>

namespace hoplite::task {
namespace {

const Resources kOne = Resources::Cpus(1);

NodeRef Node(std::uint32_t number) {
  return {NodeId(number), Incarnation(number)};
}

NodeLoad Row(std::uint32_t number, std::int64_t free, std::uint32_t queued) {
  return {Node(number), "host" + std::to_string(number), Resources::Cpus(free),
          Resources::Cpus(4), queued};
}

LeaseArgument At(std::uint32_t node, std::uint64_t bytes) {
  return {ObjectId(), bytes, {Node(node)}};
}

TEST(LoadTableTest, NodesWithFreeResourcesAreTakenInTurn) {
  LoadTable table(Node(1));
  table.Replace({Row(1, 4, 0), Row(2, 1, 0), Row(3, 0, 0), Row(4, 2, 0)});
  EXPECT_EQ(table.TakeFree(kOne, {}, ""), Node(2));
  EXPECT_EQ(table.TakeFree(kOne, {}, ""), Node(4));
  EXPECT_EQ(table.TakeFree(kOne, {}, ""), Node(4));
  EXPECT_EQ(table.TakeFree(kOne, {}, ""), std::nullopt);
  table.Replace({Row(3, 1, 0)});
  EXPECT_EQ(table.TakeFree(kOne, {}, ""), Node(3));
}

TEST(LoadTableTest, TheFreeNodeThatHoldsMostArgumentBytesComesFirst) {
  LoadTable table(Node(1));
  table.Replace({Row(2, 4, 0), Row(3, 4, 0), Row(4, 0, 0)});
  EXPECT_EQ(table.TakeFree(kOne, {At(3, 10), At(3, 10), At(2, 15)}, ""),
            Node(3));
  EXPECT_EQ(table.TakeFree(kOne, {At(4, 100), At(2, 1)}, ""), Node(2));
}

TEST(LoadTableTest, ANamedHostIsTheOnlyOneThatCounts) {
  LoadTable table(Node(1));
  table.Replace({Row(2, 4, 0), Row(3, 0, 7)});
  EXPECT_EQ(table.TakeFree(kOne, {}, "host3"), std::nullopt);
  EXPECT_EQ(table.TakeFree(kOne, {}, "host2"), Node(2));
  EXPECT_EQ(table.TakeAny(kOne, "host3", UINT32_MAX), Node(3));
  EXPECT_TRUE(table.HasHost("host3"));
  table.Forget(Node(3));
  EXPECT_FALSE(table.HasHost("host3"));
  EXPECT_EQ(table.TakeAny(kOne, "host3", UINT32_MAX), std::nullopt);
}

TEST(LoadTableTest, TheShortestQueueIsTakenWhereNothingIsFree) {
  LoadTable table(Node(1));
  table.Replace({Row(2, 0, 5), Row(3, 0, 4), Row(4, 0, 9)});
  EXPECT_EQ(table.TakeAny(kOne, "", 9), Node(3));
  EXPECT_EQ(table.TakeAny(kOne, "", 9), Node(2));
  EXPECT_EQ(table.TakeAny(kOne, "", 5), std::nullopt);
  EXPECT_EQ(table.TakeAny(Resources::Cpus(5), "", 9), std::nullopt);
}

}  // namespace
}  // namespace hoplite::task
