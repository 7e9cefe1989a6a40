#include "hoplite/base/id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/hash/hash_testing.h"

namespace hoplite {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Gt;
using ::testing::Lt;

constexpr char kHex[] =
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b";

TEST(StrongIntTest, DefaultIsNoneAndNothingElseIs) {
  EXPECT_FALSE(NodeId());
  EXPECT_FALSE(NodeRef());
  EXPECT_FALSE(Generation());
  EXPECT_TRUE(NodeId(1));
  EXPECT_EQ(NodeId().Next(), NodeId(1));
}

TEST(StrongIntTest, KindsDoNotMix) {
  static_assert(!std::is_convertible_v<NodeId, Incarnation>);
  static_assert(!std::is_convertible_v<std::uint32_t, NodeId>);
  static_assert(!std::is_constructible_v<Epoch, Incarnation>);
  static_assert(!std::is_convertible_v<NodeId, std::uint32_t>);
}

TEST(StrongIntTest, OrderIsThatOfTheValues) {
  EXPECT_LT(Epoch(2), Epoch(10));
  EXPECT_LT((NodeRef{NodeId(1), Incarnation(9)}),
            (NodeRef{NodeId(2), Incarnation(1)}));
  EXPECT_LT((NodeRef{NodeId(1), Incarnation(1)}),
            (NodeRef{NodeId(1), Incarnation(2)}));
}

TEST(StrongIntTest, HashesAgreeWithEquality) {
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly(
      {NodeRef(), NodeRef{NodeId(1), Incarnation(2)},
       NodeRef{NodeId(2), Incarnation(1)}}));
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly(
      {Generation(), Generation{NodeId(1), 2, 3}, Generation{NodeId(), 2, 3},
       Generation{NodeId(), 3, 2}}));
}

TEST(GenerationTest, OnlyWhatNoNodePutIsATarget) {
  EXPECT_FALSE(Generation().is_target());
  EXPECT_FALSE((Generation{NodeId(3), 1, 7}).is_target());
  EXPECT_TRUE((Generation{NodeId(), 1, 7}).is_target());
}

TEST(GenerationTest, TargetsAreOrderedByEpochThenCounter) {
  EXPECT_LT((Generation{NodeId(), 1, 9}), (Generation{NodeId(), 2, 1}));
  EXPECT_LT((Generation{NodeId(), 2, 1}), (Generation{NodeId(), 2, 2}));
}

TEST(ObjectIdTest, HexadecimalGoesThereAndBack) {
  const std::optional<ObjectId> id = ObjectId::FromHex(kHex);
  ASSERT_TRUE(id.has_value());
  EXPECT_EQ(id->ToHex(), kHex);
  EXPECT_EQ(id->bytes()[1], 1);
  EXPECT_EQ(id->bytes()[27], 27);
}

TEST(ObjectIdTest, UpperCaseDigitsAreTheSameId) {
  std::string upper = kHex;
  for (char& c : upper) {
    if (c >= 'a') c = static_cast<char>(c - 'a' + 'A');
  }
  EXPECT_EQ(ObjectId::FromHex(upper), ObjectId::FromHex(kHex));
}

TEST(ObjectIdTest, AnythingButFiftySixDigitsIsRefused) {
  const std::string hex = kHex;
  for (const std::string& text :
       {std::string(), hex.substr(1), hex + "0", "g" + hex.substr(1),
        " " + hex.substr(1), "-" + hex.substr(1)}) {
    EXPECT_EQ(ObjectId::FromHex(text), std::nullopt) << text;
  }
}

TEST(ObjectIdTest, BinaryIsTakenAsItStands) {
  const ObjectId id = *ObjectId::FromHex(kHex);
  EXPECT_EQ(ObjectId::FromBinary(id.binary()), id);
  EXPECT_EQ(id.binary().size(), ObjectId::kSize);
  EXPECT_EQ(ObjectId::FromBinary("too short"), std::nullopt);
  EXPECT_EQ(ObjectId::FromBinary(std::string(29, 'x')), std::nullopt);
}

TEST(ObjectIdTest, HashesAgreeWithEquality) {
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly(
      {ObjectId(), *ObjectId::FromHex(kHex)}));
}

// A moved shard would leave its records where nobody looks for them, also
// between two versions of the program.
TEST(ObjectIdTest, TheShardOfAnIdNeverChanges) {
  EXPECT_EQ(ObjectId().shard(), ShardId(232));
  EXPECT_EQ(ObjectId::FromHex(kHex)->shard(), ShardId(233));
}

// A task system's ids differ in a few bytes only.
TEST(ObjectIdTest, IdsThatDifferInOneCounterUseAllShardsAndOverloadNone) {
  constexpr int kIdsOfOneShard = 64;
  std::vector<int> counts(kShardCount, 0);
  for (std::uint32_t i = 0; i < kIdsOfOneShard * kShardCount; ++i) {
    ObjectId::Bytes bytes{};
    bytes[24] = static_cast<std::uint8_t>(i);
    bytes[25] = static_cast<std::uint8_t>(i >> 8);
    const ShardId shard = ObjectId(bytes).shard();
    ASSERT_LT(shard.value(), kShardCount);
    ++counts[shard.value()];
  }
  EXPECT_THAT(counts, Each(AllOf(Gt(0), Lt(2 * kIdsOfOneShard))));
}

TEST(ToStringTest, NamesAreAsPeopleReadThem) {
  EXPECT_EQ(ToString(NodeId(3)), "node 3");
  EXPECT_EQ(ToString(Generation{NodeId(3), 1, 7}), "3/1.7");
}

}  // namespace
}  // namespace hoplite
