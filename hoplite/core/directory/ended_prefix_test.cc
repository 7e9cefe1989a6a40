// What becomes of objects whose ids begin with a prefix that has ended.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "hoplite/base/id_prefix.h"
#include "hoplite/core/directory/object_directory.h"
#include "hoplite/core/testing/directory_host.h"

namespace hoplite {
namespace {

using testing::DirectoryHost;
using testing::Id;
using ::testing::IsEmpty;
using testing::OnlySent;
using testing::PutOf;
using testing::Ref;
using testing::Sent;
using ::testing::SizeIs;
using State = message::Holding::State;

// The number-th id that begins as Id(1) does.
ObjectId Mine(std::uint8_t number) {
  ObjectId::Bytes bytes = Id(1).bytes();
  bytes.back() = number;
  return ObjectId(bytes);
}

const IdPrefix kPrefix = IdPrefix::Of(Mine(0));
const ObjectId kOther = Id(2);

class EndedPrefixTest : public ::testing::Test {
 protected:
  ~EndedPrefixTest() override {
    EXPECT_EQ(host_.directory.CheckInvariants(), "");
  }
  std::optional<absl::StatusCode> PutAnswer(std::uint32_t node) const {
    const auto answer = OnlySent<message::PutAnswer>(host_.out, Ref(node));
    if (!answer.has_value()) return std::nullopt;
    return answer->code;
  }
  bool IsRefused(std::uint32_t node) const {
    const auto refusal = OnlySent<message::Refusal>(host_.out, Ref(node));
    return refusal.has_value() && refusal->code == absl::StatusCode::kNotFound;
  }

  bool IsDropped(std::uint32_t node) const {
    const auto drop = OnlySent<message::Drop>(host_.out, Ref(node));
    return drop.has_value() && drop->code == absl::StatusCode::kNotFound;
  }
  // The shard of Mine(1) comes to this node, whose members are 2 and 3.
  void Rebuild() {
    const ShardAssignment moved{.at = {Mine(1).shard(), Epoch(2)},
                                .host = Ref(DirectoryHost::kSelf),
                                .rebuilds = true};
    host_.shard_map.Apply(moved);
    host_.directory.Rebuild(host_.now, moved.at, {Ref(2), Ref(3)}, host_.out);
  }
  // The node says that it has Mine(1).
  void Report(std::uint32_t node) {
    host_.out.clear();
    host_.directory.On(host_.now, Ref(node),
                       message::Holdings{.at = host_.AtShardOf(Mine(1)),
                                         .first = true,
                                         .last = true,
                                         .entries = {{.object = Mine(1),
                                                      .state = State::kComplete,
                                                      .generation = PutOf(2),
                                                      .size = 10,
                                                      .final = true}}},
                       host_.out);
  }

  DirectoryHost host_;
};

TEST_F(EndedPrefixTest, EveryObjectThatBeginsSoIsDeleted) {
  for (std::uint8_t number = 1; number <= 20; ++number) {
    host_.Put(3, Mine(number));
  }
  host_.Put(3, kOther);
  host_.EndPrefix(kPrefix);
  const auto drops = Sent<message::Drop>(host_.out);
  EXPECT_THAT(drops, SizeIs(20));
  for (const message::Drop& drop : drops) {
    EXPECT_EQ(IdPrefix::Of(drop.object), kPrefix);
    EXPECT_EQ(drop.code, absl::StatusCode::kNotFound);
  }
  EXPECT_EQ(host_.directory.record_count(), 1u);
  host_.EndPrefix(kPrefix);
  EXPECT_THAT(host_.out, IsEmpty()) << "they are deleted already";
  host_.Ask(4, kOther);
  EXPECT_EQ(host_.ServerOf(4), 3u);
}

TEST_F(EndedPrefixTest, WhoeverWaitsIsToldThatItIsDeleted) {
  host_.Ask(4, Mine(1));  // nobody has put it
  host_.PutBegins(3, Mine(2));
  host_.PutBegins(5, Mine(2));  // waits for the Seal of the first
  host_.EndPrefix(kPrefix);
  EXPECT_TRUE(IsRefused(4));
  EXPECT_EQ(PutAnswer(5), absl::StatusCode::kNotFound);
}

TEST_F(EndedPrefixTest, NothingOfItCanBeMadeAnyMore) {
  host_.EndPrefix(kPrefix);
  host_.Put(3, Mine(1));
  EXPECT_EQ(PutAnswer(3), absl::StatusCode::kNotFound);
  host_.Ask(4, Mine(2));
  EXPECT_TRUE(IsRefused(4));
  host_.Tell(5, message::ReduceAsk{.target = Mine(3),
                                   .request = RequestId(9),
                                   .sources = {kOther},
                                   .count = 1});
  const auto answer = OnlySent<message::ReduceAnswer>(host_.out, Ref(5));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->code, absl::StatusCode::kNotFound);
  host_.Put(3, kOther);
  EXPECT_EQ(PutAnswer(3), absl::StatusCode::kOk);
}

TEST_F(EndedPrefixTest, ReductionsEndAndSkip) {
  const ObjectId sources[] = {Mine(1), Mine(2), kOther};
  const auto reduce = [&](const ObjectId& target, std::uint32_t count) {
    host_.Tell(
        50, message::ReduceAsk{.target = target,
                               .request = RequestId(count),
                               .sources = {sources[0], sources[1], sources[2]},
                               .count = count});
    host_.Settle();
  };
  reduce(Mine(10), 1);  // its target goes
  reduce(Id(11), 2);    // cannot reach its count without them
  reduce(Id(12), 1);    // can
  host_.EndPrefix(kPrefix);
  host_.Settle();
  const auto answers = Sent<message::ReduceAnswer>(host_.out);
  ASSERT_THAT(answers, SizeIs(2));
  for (const message::ReduceAnswer& answer : answers) {
    EXPECT_EQ(answer.code, absl::StatusCode::kNotFound) << answer.reason;
    EXPECT_NE(answer.target, Id(12));
  }
  EXPECT_EQ(host_.directory.reductions_under_way(), 1u);
  // One that comes later is told so of its sources, too.
  reduce(Id(13), 3);
  EXPECT_THAT(Sent<message::ReduceAnswer>(host_.out), SizeIs(1));
}

TEST_F(EndedPrefixTest, WhatAShardThatIsRebuiltHearsOfItIsDropped) {
  host_.EndPrefix(kPrefix);
  Rebuild();
  Report(2);
  EXPECT_TRUE(IsDropped(2));
  host_.Ask(3, Mine(1));
  EXPECT_TRUE(IsRefused(3));
}

TEST_F(EndedPrefixTest, AShardThatIsBeingRebuiltLearnsOfIt) {
  Rebuild();
  Report(2);
  host_.EndPrefix(kPrefix);
  EXPECT_TRUE(IsDropped(2));
  Report(3);
  EXPECT_TRUE(IsDropped(3));
  host_.Dropped(2, Mine(1), PutOf(2));
  host_.Dropped(3, Mine(1), PutOf(2));
  EXPECT_EQ(host_.directory.record_count(), 0u);
}

TEST_F(EndedPrefixTest, APutThatWaitsForAllToReportIsRefused) {
  Rebuild();
  host_.PutBegins(4, Mine(1));
  EXPECT_THAT(host_.out, IsEmpty());
  host_.EndPrefix(kPrefix);
  EXPECT_EQ(PutAnswer(4), absl::StatusCode::kNotFound);
  Report(2);
  EXPECT_TRUE(IsDropped(2));
}

TEST_F(EndedPrefixTest, IsForgottenWithItsTombstones) {
  host_.EndPrefix(kPrefix);
  EXPECT_EQ(host_.directory.NextTimeout(), host_.now + kTombstoneAge);
  host_.PassTime(kTombstoneAge / 2);
  host_.EndPrefix(kPrefix);  // counts from now on
  host_.PassTime(kTombstoneAge / 2);
  host_.Put(3, Mine(1));
  EXPECT_EQ(PutAnswer(3), absl::StatusCode::kNotFound);
  host_.PassTime(2 * kTombstoneAge);
  host_.Put(3, Mine(1));
  EXPECT_EQ(PutAnswer(3), absl::StatusCode::kOk);
}

TEST_F(EndedPrefixTest, TheOldestGivesWayToManyNewerOnes) {
  host_.EndPrefix(kPrefix);
  for (std::uint32_t i = 0; i < kEndedPrefixesMax; ++i) {
    host_.EndPrefix(IdPrefix::Of(Id(1000 + i)));
  }
  host_.Put(3, Mine(1));
  EXPECT_EQ(PutAnswer(3), absl::StatusCode::kOk);
  host_.Put(3, Id(1000));
  EXPECT_EQ(PutAnswer(3), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace hoplite
