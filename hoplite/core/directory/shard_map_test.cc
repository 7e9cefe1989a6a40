#include "hoplite/core/directory/shard_map.h"

#include <gtest/gtest.h>

#include "hoplite/core/testing/values.h"

namespace hoplite {
namespace {

using testing::Id;
using testing::Ref;

ShardAssignment Assign(std::uint32_t shard, std::uint64_t epoch,
                       std::uint32_t host) {
  return {.at = {ShardId(shard), Epoch(epoch)}, .host = Ref(host)};
}

TEST(ShardMapTest, StartsWithoutHosts) {
  const ShardMap map;
  ASSERT_EQ(map.assignments().size(), kShardCount);
  for (std::uint32_t i = 0; i < kShardCount; ++i) {
    EXPECT_EQ(map.Find(ShardId(i)).at.shard, ShardId(i));
    EXPECT_EQ(map.Find(ShardId(i)).at.epoch, Epoch());
    EXPECT_FALSE(map.Find(ShardId(i)).host);
  }
}

TEST(ShardMapTest, OnlyANewerEpochCounts) {
  ShardMap map;
  EXPECT_TRUE(map.Apply(Assign(7, 2, 1)));
  EXPECT_FALSE(map.Apply(Assign(7, 2, 9))) << "the same epoch";
  EXPECT_FALSE(map.Apply(Assign(7, 1, 9))) << "an older one";
  EXPECT_EQ(map.Find(ShardId(7)).host, Ref(1));
  EXPECT_TRUE(map.Apply(Assign(7, 3, 9)));
  EXPECT_EQ(map.Find(ShardId(7)).host, Ref(9));
  EXPECT_EQ(map.Find(ShardId(8)).at.epoch, Epoch()) << "no other shard moved";
}

TEST(ShardMapTest, AnObjectsShardNeverChanges) {
  ShardMap map;
  const ObjectId object = Id(5);
  const ShardId shard = object.shard();
  map.Apply(Assign(shard.value(), 1, 3));
  EXPECT_EQ(map.FindFor(object).host, Ref(3));
  map.Apply(Assign(shard.value(), 2, 4));
  EXPECT_EQ(map.FindFor(object).host, Ref(4));
  EXPECT_EQ(map.FindFor(object).at.shard, shard);
}

TEST(ShardMapTest, MapsAreCompared) {
  ShardMap a;
  ShardMap b;
  EXPECT_EQ(a, b);
  a.Apply(Assign(1, 1, 1));
  EXPECT_NE(a, b);
  b.Apply(Assign(1, 1, 1));
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace hoplite
