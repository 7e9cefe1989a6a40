// A head that comes back, and members that come back to it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "hoplite/core/membership/head.h"
#include "hoplite/core/testing/commands.h"
#include "hoplite/core/testing/values.h"

namespace hoplite {
namespace {

using testing::All;
using testing::AllShardsOn;
using testing::At;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MemberOf;
using testing::Only;
using testing::Ref;
using testing::Sent;

constexpr ClusterId kCluster(7);

Incarnation Life(std::uint64_t head_number, std::uint64_t counter) {
  return Incarnation(head_number << kHeadNumberShift | counter);
}

// The first that a head of this number gives out.
NodeId FirstNode(std::uint32_t head_number) {
  return NodeId((head_number << kHeadNumberShiftOfNodes) + 1);
}

// What a member knows of a cluster of 1 (its old head) and these others.
ClusterView ViewOf(std::uint32_t self, const std::vector<std::uint32_t>& others,
                   const ShardMap& map) {
  ClusterView view{.cluster = kCluster,
                   .self = MemberOf(self),
                   .members = {MemberOf(1), MemberOf(self)},
                   .lost = {},
                   .shard_map = map};
  for (std::uint32_t other : others) view.members.push_back(MemberOf(other));
  return view;
}

class HeadReturnTest : public ::testing::Test {
 protected:
  // The second head of its cluster, which knows nothing.
  HeadReturnTest()
      : head_({.self = self_,
               .is_head = true,
               .cluster = kCluster,
               .members = {{.ref = self_}},
               .returns = true}) {}

  void Return(const ClusterView& view) {
    out_.clear();
    head_.OnReturn(now_, {.token = 5, .view = view}, out_);
  }
  // The head is called whenever it wants to be.
  void PassTime(absl::Duration duration) {
    const absl::Time end = now_ + duration;
    out_.clear();
    for (;;) {
      const absl::Time next =
          head_.NextTimeout().value_or(absl::InfiniteFuture());
      if (next > end) break;
      now_ = std::max(now_, next);
      head_.HandleTimeout(now_, out_);
    }
    now_ = end;
  }
  bool IsTakenBack() const { return Only<command::Admit>(out_).has_value(); }
  std::vector<NodeRef> HostsOf(const Commands& out) const {
    std::vector<NodeRef> hosts;
    for (const auto& update : Sent<message::MapUpdate>(out, self_)) {
      for (const ShardAssignment& shard : update.assignments) {
        hosts.push_back(shard.host);
      }
    }
    return hosts;
  }

  const NodeRef self_{kHeadNode, Life(1, 1)};
  absl::Time now_ = At(0);
  Head head_;
  Commands out_;
};

TEST_F(HeadReturnTest, AMemberGoesOnAsItWas) {
  const ShardMap map = AllShardsOn(Ref(2));
  Return(ViewOf(2, {}, map));
  const auto admit = Only<command::Admit>(out_);
  ASSERT_TRUE(admit.has_value());
  EXPECT_EQ(admit->token, 5u);
  EXPECT_EQ(admit->member, MemberOf(2));
  EXPECT_EQ(admit->shard_map, map) << "hosted as before, under its epoch";
  EXPECT_EQ(admit->members.size(), 2u) << "and the head, in its new life";
}

TEST_F(HeadReturnTest, WhoeverIsNamedIsWaitedFor) {
  Return(ViewOf(2, {3}, AllShardsOn(Ref(3))));
  EXPECT_EQ(Only<command::Admit>(out_)->members.size(), 3u);
  PassTime(kDeadAfter - absl::Milliseconds(1));
  EXPECT_THAT(out_, IsEmpty()) << "no shard moves yet";
  Return(ViewOf(3, {2}, AllShardsOn(Ref(3))));
  EXPECT_TRUE(IsTakenBack());
  EXPECT_EQ(head_.NextTimeout(), std::nullopt) << "all are here";
  PassTime(absl::Hours(1));
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(HeadReturnTest, WhoeverDoesNotComeIsDead) {
  Return(ViewOf(2, {3}, AllShardsOn(Ref(3))));
  PassTime(kDeadAfter);
  EXPECT_EQ(Sent<message::MemberLost>(out_, Ref(2))[0].member, Ref(3));
  const auto update = Sent<message::MapUpdate>(out_, Ref(2));
  ASSERT_EQ(update.size(), 1u);
  EXPECT_EQ(update[0].assignments.size(), kShardCount);
  EXPECT_EQ(update[0].assignments[0].host, Ref(2));
  EXPECT_EQ(update[0].assignments[0].at.epoch,
            Epoch(std::uint64_t{1} << kHeadNumberShift | 1))
      << "above every epoch of the head before";
  Return(ViewOf(3, {2}, AllShardsOn(Ref(3))));
  EXPECT_THAT(Only<command::RefuseReturn>(out_)->reason,
              HasSubstr("has to join again"));
}

TEST_F(HeadReturnTest, TheOldHeadsShardsGetNewHosts) {
  Return(ViewOf(2, {}, AllShardsOn(Ref(1))));
  EXPECT_THAT(HostsOf(out_), ::testing::Contains(Ref(2)));
}

TEST_F(HeadReturnTest, WhatWasDeclaredDeadStaysDead) {
  ClusterView view = ViewOf(2, {4}, AllShardsOn(Ref(2)));
  view.lost = {Ref(3)};
  Return(view);
  Return(ViewOf(3, {2, 4}, AllShardsOn(Ref(2))));
  EXPECT_FALSE(IsTakenBack());
  EXPECT_TRUE(Only<command::RefuseReturn>(out_).has_value());
}

TEST_F(HeadReturnTest, WhoeverSaysSoLateIsHeardAsWell) {
  Return(ViewOf(3, {2, 4}, AllShardsOn(Ref(2))));
  EXPECT_TRUE(IsTakenBack()) << "nobody has said yet that it is dead";
  ClusterView view = ViewOf(2, {4}, AllShardsOn(Ref(2)));
  view.lost = {Ref(3)};
  Return(view);
  EXPECT_EQ(Sent<message::MemberLost>(out_, self_)[0].member, Ref(3));
  Return(ViewOf(3, {2, 4}, AllShardsOn(Ref(2))));
  EXPECT_FALSE(IsTakenBack());
}

TEST_F(HeadReturnTest, JoinersWaitUntilAllIsKnown) {
  Return(ViewOf(2, {9}, AllShardsOn(Ref(2))));
  out_.clear();
  head_.OnJoin({.token = 1}, out_);
  EXPECT_THAT(out_, IsEmpty());
  PassTime(kDeadAfter);
  const auto admit = Only<command::Admit>(out_);
  ASSERT_TRUE(admit.has_value());
  EXPECT_EQ(admit->member.ref, (NodeRef{FirstNode(1), Life(1, 2)}))
      << "an id that nobody had, and a life after all others";
}

// Seen in seed 2302: a head was stopped when it had just begun to come back.
// When it woke it was told of the time first, took the limit for over with
// nobody heard, and gave the ids of living members to others.
TEST_F(HeadReturnTest, AHeadThatStoodStillHasNotWaited) {
  PassTime(absl::ZeroDuration());
  now_ += 2 * kDeadAfter;  // stopped
  PassTime(absl::ZeroDuration());
  Return(ViewOf(2, {3}, AllShardsOn(Ref(3))));
  EXPECT_TRUE(IsTakenBack()) << "it asked all the time";
  PassTime(kDeadAfter / 2);
  EXPECT_THAT(out_, IsEmpty());
  Return(ViewOf(3, {2}, AllShardsOn(Ref(3))));
  EXPECT_TRUE(IsTakenBack());
}

// Members that the head cannot hear for as long as the limit live on all the
// same, and find out only later that they are members no more.
TEST_F(HeadReturnTest, AnIdOfAMemberThatNobodyNamesIsNotGivenAgain) {
  PassTime(kDeadAfter);
  out_.clear();
  head_.OnJoin({.token = 1}, out_);
  const auto admit = Only<command::Admit>(out_);
  ASSERT_TRUE(admit.has_value());
  EXPECT_EQ(admit->member.ref.node, FirstNode(1));
  Return(ViewOf(2, {3}, AllShardsOn(Ref(3))));
  EXPECT_FALSE(IsTakenBack());
}

TEST_F(HeadReturnTest, OfTwoReportsTheNewerEpochCounts) {
  const ShardMap newer = AllShardsOn(Ref(3), Epoch(4));
  Return(ViewOf(2, {3}, AllShardsOn(Ref(2), Epoch(3))));
  Return(ViewOf(3, {2}, newer));
  EXPECT_EQ(Only<command::Admit>(out_)->shard_map, newer);
  EXPECT_EQ(Sent<message::MapUpdate>(out_, Ref(2)).size(), 1u);
}

// A host had closed shards for a joiner when the head died: nobody hosted them.
TEST_F(HeadReturnTest, WhatAHostHasGivenUpIsGivenToSomebody) {
  Return(ViewOf(2, {3}, AllShardsOn(Ref(2))));
  out_.clear();
  head_.OnShardsClosed(Ref(2), {.shards = {{ShardId(7), Epoch(1)}}}, out_);
  EXPECT_THAT(out_, IsEmpty()) << "not yet";
  Return(ViewOf(3, {2}, AllShardsOn(Ref(2))));
  const auto update = Sent<message::MapUpdate>(out_, Ref(2));
  ASSERT_EQ(update.size(), 1u);
  ASSERT_EQ(update[0].assignments.size(), 1u);
  EXPECT_EQ(update[0].assignments[0].at.shard, ShardId(7));
  EXPECT_EQ(update[0].assignments[0].host, Ref(3)) << "who has fewest";
}

TEST_F(HeadReturnTest, LastWordsOfTheHeadBeforeCountAlsoLater) {
  Return(ViewOf(2, {3}, AllShardsOn(Ref(2))));
  Return(ViewOf(3, {2}, AllShardsOn(Ref(2))));
  Return(ViewOf(3, {2}, AllShardsOn(Ref(3), Epoch(2))));
  EXPECT_EQ(Only<command::Admit>(out_)->shard_map,
            AllShardsOn(Ref(3), Epoch(2)));
  EXPECT_EQ(Sent<message::MapUpdate>(out_, Ref(2)).size(), 1u);
}

TEST_F(HeadReturnTest, AHeadOfAHigherNumberHasBeenSeen) {
  ClusterView view = ViewOf(2, {}, AllShardsOn(Ref(2)));
  view.members[0].ref.incarnation = Life(3, 1);
  Return(view);
  const auto end = Only<command::EndLife>(out_);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->head_number, 4u) << "it comes back above that one";
  EXPECT_FALSE(IsTakenBack());
}

TEST_F(HeadReturnTest, AHeadAtWorkStopsBeforeAHigherOne) {
  Return(ViewOf(2, {}, AllShardsOn(Ref(2))));
  ClusterView view = ViewOf(2, {}, AllShardsOn(Ref(2)));
  view.members[0].ref.incarnation = Life(3, 1);
  Return(view);
  const auto end = Only<command::EndLife>(out_);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->head_number, 0u);
}

// Seen: a head that was told of the highest number began anew with the number
// 0, below the heads before it, as one more does not fit into an incarnation.
TEST_F(HeadReturnTest, TheHighestNumberIsNotBelieved) {
  constexpr std::uint64_t kHighest = kHeadNumberMax;
  ClusterView view = ViewOf(2, {}, AllShardsOn(Ref(2)));
  view.members[0].ref.incarnation = Life(kHighest, 1);
  Return(view);
  EXPECT_THAT(All<command::EndLife>(out_), IsEmpty());
  EXPECT_THAT(Only<command::RefuseReturn>(out_)->reason,
              HasSubstr("number 65535"));
  Return(
      ViewOf(2, {}, AllShardsOn(Ref(2), Epoch(kHighest << kHeadNumberShift))));
  EXPECT_TRUE(Only<command::RefuseReturn>(out_).has_value());
  view.members[0].ref.incarnation = Life(kHighest - 1, 1);
  Return(view);
  EXPECT_EQ(Only<command::EndLife>(out_)->head_number, kHighest);
}

// Seen: the id after it was 0, which is nobody's.
TEST_F(HeadReturnTest, AnIdThatNoHeadHasGivenOutIsNotBelieved) {
  ClusterView view = ViewOf(2, {}, AllShardsOn(Ref(2)));
  view.lost = {{NodeId(0xffff'ffff), Incarnation(9)}};
  Return(view);
  EXPECT_THAT(Only<command::RefuseReturn>(out_)->reason,
              HasSubstr("node 4294967295"));
  view.lost.clear();
  view.members[0].ref.node = FirstNode(2);
  Return(view);
  EXPECT_TRUE(Only<command::RefuseReturn>(out_).has_value());
  view.self.ref.node = FirstNode(2);
  Return(view);
  EXPECT_TRUE(Only<command::RefuseReturn>(out_).has_value());
}

TEST(NewHeadTest, AHeadStartedAnewSucceedsTheOneBefore) {
  Head head({.self = Ref(1),
             .is_head = true,
             .cluster = ClusterId(99),
             .members = {MemberOf(1)},
             .shard_map = AllShardsOn(Ref(1))});
  Commands out;
  event::ReturnRequested highest{.token = 5,
                                 .view = ViewOf(2, {}, AllShardsOn(Ref(2)))};
  highest.view.self.ref.incarnation = Life(kHeadNumberMax, 1);
  head.OnReturn(At(0), highest, out);
  EXPECT_TRUE(Only<command::RefuseReturn>(out).has_value());
  out.clear();
  const event::ReturnRequested request{
      .token = 5, .view = ViewOf(2, {}, AllShardsOn(Ref(2)))};
  head.OnReturn(At(0), request, out);
  const auto end = Only<command::EndLife>(out);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->cluster, kCluster);
  EXPECT_EQ(end->head_number, 1u);
  out.clear();
  head.OnReturn(At(0) + kSucceedsWithin + absl::Seconds(1), request, out);
  EXPECT_TRUE(Only<command::RefuseReturn>(out).has_value())
      << "by now its own cluster counts";
}

TEST(NewHeadTest, AMemberThatLostItsStreamIsTakenBack) {
  Head head({.self = Ref(1),
             .is_head = true,
             .cluster = kCluster,
             .members = {MemberOf(1), MemberOf(2)},
             .shard_map = AllShardsOn(Ref(2))});
  Commands out;
  head.OnReturn(At(0), {.token = 5, .view = ViewOf(2, {3}, ShardMap())}, out);
  const auto admit = Only<command::Admit>(out);
  ASSERT_TRUE(admit.has_value());
  EXPECT_EQ(admit->members, (std::vector<Member>{MemberOf(1), MemberOf(2)}))
      << "3 was lost meanwhile";
  EXPECT_EQ(admit->shard_map, AllShardsOn(Ref(2)));
}

}  // namespace
}  // namespace hoplite
