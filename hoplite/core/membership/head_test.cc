#include "hoplite/core/membership/head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "hoplite/core/testing/commands.h"
#include "hoplite/core/testing/values.h"

namespace hoplite {
namespace {

using testing::All;
using testing::AllShardsOn;
using ::testing::IsEmpty;
using testing::MemberOf;
using testing::Only;
using testing::Ref;
using testing::Sent;

// A head, and the map as everybody has heard of it.
class HeadTest : public ::testing::Test {
 protected:
  HeadTest()
      : map_(AllShardsOn(Ref(1))),
        head_({.self = Ref(1),
               .is_head = true,
               .members = {MemberOf(1)},
               .shard_map = map_}) {}

  Member Join() {
    out_.clear();
    head_.OnJoin({.token = ++token_,
                  .control_address = "host:1",
                  .data_address = "host:2",
                  .agent_address = "host:3"},
                 out_);
    const auto admit = Only<command::Admit>(out_);
    EXPECT_TRUE(admit.has_value());
    EXPECT_EQ(admit->token, token_);
    return admit->member;
  }
  // Every host closes all that it was asked for, but for `kept`.
  void CloseAll(const std::set<ShardId>& kept = {}) {
    const Commands asked = std::exchange(out_, {});
    for (const auto& send : All<command::Send>(asked)) {
      const auto* close = std::get_if<message::CloseShards>(&send.message);
      if (close == nullptr) continue;
      message::ShardsClosed closed;
      for (const ShardRef& at : close->shards) {
        if (!kept.contains(at.shard)) closed.shards.push_back(at);
      }
      head_.OnShardsClosed(send.to, closed, out_);
      Learn();
    }
  }
  // Applies what the head has told node 1.
  void Learn() {
    for (const auto& update : Sent<message::MapUpdate>(out_, Ref(1))) {
      for (const ShardAssignment& assignment : update.assignments) {
        map_.Apply(assignment);
      }
    }
  }
  std::map<NodeRef, std::uint32_t> Shares() const {
    std::map<NodeRef, std::uint32_t> shares;
    for (const ShardAssignment& shard : map_.assignments()) {
      ++shares[shard.host];
    }
    return shares;
  }
  void Gone(NodeRef member) {
    out_.clear();
    head_.OnMemberGone(member, out_);
    Learn();
  }

  ShardMap map_;
  Head head_;
  Commands out_;
  std::uint64_t token_ = 0;
};

TEST_F(HeadTest, AJoinerIsAdmittedWithAllThatItMustKnow) {
  const Member member = Join();
  EXPECT_EQ(member.ref.node, NodeId(2));
  EXPECT_GT(member.ref.incarnation, Incarnation(1));
  EXPECT_EQ(member.control_address, "host:1");
  EXPECT_EQ(member.data_address, "host:2");
  EXPECT_EQ(member.agent_address, "host:3");
  const auto admit = Only<command::Admit>(out_);
  EXPECT_EQ(admit->members, (std::vector<Member>{MemberOf(1), member}));
  EXPECT_EQ(admit->shard_map, map_);
}

TEST_F(HeadTest, MembersHearOfAJoinerAndTheJoinerNotOfItself) {
  const Member first = Join();
  const Member second = Join();
  EXPECT_EQ(Sent<message::MemberJoined>(out_, Ref(1)).size(), 1u);
  EXPECT_EQ(Sent<message::MemberJoined>(out_, first.ref).size(), 1u);
  EXPECT_THAT(Sent<message::MemberJoined>(out_, second.ref), IsEmpty());
  EXPECT_EQ(Sent<message::MemberJoined>(out_)[0].member, second);
}

// Symptom (seed 29218): shards went to a node that never heard of it, and all
// that was asked of them ended at its deadline. Cause: the head's host was told
// of a joiner by a message, and the head sent to it before that had come.
TEST_F(HeadTest, TheHeadsOwnNodeLearnsOfAJoinerAtOnce) {
  const Member member = Join();
  ASSERT_FALSE(out_.empty());
  const auto* learn = std::get_if<command::LearnMember>(&out_.front());
  ASSERT_NE(learn, nullptr);
  EXPECT_EQ(learn->member, member);
}

TEST_F(HeadTest, NodesAndIncarnationsOnlyGrow) {
  const Member first = Join();
  Gone(first.ref);
  const Member second = Join();
  EXPECT_GT(second.ref.node, first.ref.node);
  EXPECT_GT(second.ref.incarnation, first.ref.incarnation);
}

TEST_F(HeadTest, TheHeadsOwnShardsGoAtTheFirstJoin) {
  const Member first = Join();
  const auto close = Sent<message::CloseShards>(out_, Ref(1));
  ASSERT_EQ(close.size(), 1u);
  EXPECT_EQ(close[0].shards.size(), kShardCount);
  CloseAll();
  EXPECT_EQ(Shares(), (std::map<NodeRef, std::uint32_t>{{first.ref, 256}}));
}

TEST_F(HeadTest, AMovedShardHasANewEpochAndEverybodyHears) {
  const Member first = Join();
  CloseAll();
  EXPECT_EQ(map_.Find(ShardId(7)).at.epoch, Epoch(2));
  EXPECT_EQ(Sent<message::MapUpdate>(out_, Ref(1)).size(), 1u);
  EXPECT_EQ(Sent<message::MapUpdate>(out_, first.ref).size(), 1u);
}

TEST_F(HeadTest, EmptyShardsSpreadEvenlyOverAllButTheHead) {
  for (std::uint32_t hosts = 1; hosts <= 20; ++hosts) {
    Join();
    CloseAll();
    const auto shares = Shares();
    ASSERT_EQ(shares.size(), hosts);
    EXPECT_FALSE(shares.contains(Ref(1)));
    for (const auto& [host, share] : shares) {
      EXPECT_LE(share, kShardCount / hosts + 1) << "of " << hosts;
      EXPECT_GE(share, kShardCount / hosts) << "of " << hosts;
    }
  }
}

TEST_F(HeadTest, AtAJoinOnlyTheSurplusIsAskedFor) {
  const Member first = Join();
  CloseAll();
  Join();
  const auto close = Sent<message::CloseShards>(out_);
  ASSERT_EQ(close.size(), 1u);
  EXPECT_EQ(close[0].shards.size(), 128u);
  EXPECT_EQ(Sent<message::CloseShards>(out_, first.ref).size(), 1u);
}

TEST_F(HeadTest, AShardThatIsNotEmptyStays) {
  const Member first = Join();
  const std::set<ShardId> full = {ShardId(3), ShardId(200)};
  CloseAll(full);
  for (ShardId shard : full) {
    EXPECT_EQ(map_.Find(shard).host, Ref(1));
    EXPECT_EQ(map_.Find(shard).at.epoch, Epoch(1));
  }
  EXPECT_EQ(Shares()[first.ref], 254u);
}

TEST_F(HeadTest, WhatStayedIsAskedForAgainAtTheNextJoin) {
  Join();
  CloseAll({ShardId(3)});
  Join();
  const auto close = Sent<message::CloseShards>(out_, Ref(1));
  ASSERT_EQ(close.size(), 1u);
  ASSERT_EQ(close[0].shards.size(), 1u);
  EXPECT_EQ(close[0].shards[0].shard, ShardId(3));
}

TEST_F(HeadTest, AShardIsAskedForOnceAtATime) {
  Join();
  EXPECT_EQ(Sent<message::CloseShards>(out_).size(), 1u);
  Join();
  EXPECT_THAT(Sent<message::CloseShards>(out_), IsEmpty())
      << "the head has not answered yet";
}

TEST_F(HeadTest, JoinsAtOnceShareTheHeadsShards) {
  const Member first = Join();
  const Commands close = out_;
  const Member second = Join();
  out_ = close;
  CloseAll();
  EXPECT_EQ(Shares(), (std::map<NodeRef, std::uint32_t>{{first.ref, 128},
                                                        {second.ref, 128}}));
}

TEST_F(HeadTest, AClosedShardOfAnEarlierEpochIsIgnored) {
  const Member first = Join();
  CloseAll();
  out_.clear();
  head_.OnShardsClosed(first.ref, {.shards = {{ShardId(7), Epoch(1)}}}, out_);
  EXPECT_THAT(out_, IsEmpty());
  head_.OnShardsClosed(Ref(1), {.shards = {{ShardId(7), Epoch(2)}}}, out_);
  EXPECT_THAT(out_, IsEmpty()) << "1 does not host it";
}

TEST_F(HeadTest, ALostMembersShardsGetNewHosts) {
  const Member first = Join();
  CloseAll();
  const Member second = Join();
  CloseAll();
  Gone(first.ref);
  EXPECT_EQ(Shares(), (std::map<NodeRef, std::uint32_t>{{second.ref, 256}}));
  EXPECT_EQ(Sent<message::MemberLost>(out_, Ref(1)).size(), 1u);
  EXPECT_EQ(Sent<message::MemberLost>(out_, second.ref).size(), 1u);
  EXPECT_EQ(Sent<message::MemberLost>(out_, second.ref)[0].member, first.ref);
}

TEST_F(HeadTest, TheVerdictComesBeforeTheNewMap) {
  const Member first = Join();
  CloseAll();
  Join();
  CloseAll();
  Gone(first.ref);
  std::optional<std::size_t> lost;
  std::optional<std::size_t> update;
  const auto sends = All<command::Send>(out_);
  for (std::size_t i = 0; i < sends.size(); ++i) {
    if (sends[i].to != Ref(1)) continue;
    if (std::holds_alternative<message::MemberLost>(sends[i].message)) lost = i;
    if (std::holds_alternative<message::MapUpdate>(sends[i].message))
      update = i;
  }
  ASSERT_TRUE(lost.has_value() && update.has_value());
  EXPECT_LT(*lost, *update);
}

TEST_F(HeadTest, WithItsLastHostGoneTheHeadHostsAgain) {
  const Member first = Join();
  CloseAll();
  Gone(first.ref);
  EXPECT_EQ(Shares(), (std::map<NodeRef, std::uint32_t>{{Ref(1), 256}}));
  EXPECT_EQ(map_.Find(ShardId(0)).at.epoch, Epoch(3));
}

TEST_F(HeadTest, OnlyALivingMemberCanBeLost) {
  const Member first = Join();
  Gone({first.ref.node, Incarnation(99)});
  EXPECT_THAT(out_, IsEmpty());
  Gone(Ref(77));
  EXPECT_THAT(out_, IsEmpty());
  Gone(Ref(1));
  EXPECT_THAT(out_, IsEmpty()) << "the head itself";
  Gone(first.ref);
  EXPECT_FALSE(out_.empty());
  Gone(first.ref);
  EXPECT_THAT(out_, IsEmpty()) << "twice";
}

TEST_F(HeadTest, AHostMayDieBeforeItAnswers) {
  const Member first = Join();
  CloseAll();
  const Member second = Join();  // asks first for its surplus
  Gone(first.ref);
  EXPECT_EQ(Shares(), (std::map<NodeRef, std::uint32_t>{{second.ref, 256}}));
  const Member third = Join();
  CloseAll();
  EXPECT_EQ(Shares()[third.ref], 128u);
}

TEST_F(HeadTest, ARestartedHeadGoesOnCounting) {
  Head restarted({.self = Ref(9),
                  .is_head = true,
                  .members = {MemberOf(9), MemberOf(4)},
                  .shard_map = map_});
  restarted.OnJoin({.token = 1}, out_);
  const auto admit = Only<command::Admit>(out_);
  ASSERT_TRUE(admit.has_value());
  EXPECT_EQ(admit->member.ref, (NodeRef{NodeId(10), Incarnation(10)}));
}

}  // namespace
}  // namespace hoplite
