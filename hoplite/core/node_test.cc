#include "hoplite/core/node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hoplite/base/id_prefix.h"
#include "hoplite/core/testing/commands.h"
#include "hoplite/core/testing/values.h"

namespace hoplite {
namespace {

using testing::All;
using testing::AllShardsOn;
using testing::At;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::Id;
using testing::IdIn;
using ::testing::IsEmpty;
using testing::MemberOf;
using testing::Only;
using testing::OnlySent;
using testing::PutOf;
using testing::Ref;
using testing::Sent;
using ::testing::SizeIs;
using testing::Texts;

constexpr std::uint32_t kSelf = 5;
constexpr std::uint64_t kSize = 1000;
const ObjectId kObject = Id(1);

// Node 5 of the cluster 1 (the head), 2, 5; `host` hosts every shard.
class NodeTest : public ::testing::Test {
 protected:
  explicit NodeTest(std::uint32_t host = 2)
      : map_(AllShardsOn(Ref(host))), node_(ConfigOf(map_)) {}
  ~NodeTest() override { EXPECT_EQ(node_.CheckInvariants(), ""); }

  static NodeConfig ConfigOf(const ShardMap& map) {
    return {.self = Ref(kSelf),
            .members = {MemberOf(1), MemberOf(2), MemberOf(kSelf)},
            .shard_map = map,
            .store_capacity = 1 << 20};
  }
  void Tell(Event event) {
    out_.clear();
    node_.Handle(now_, event, out_);
    for (const auto& create : All<command::CreateBuffer>(out_)) {
      last_buffer_ = create.buffer;
    }
    for (const auto& ask : Sent<message::Ask>(out_)) last_ask_ = ask.ask;
    for (const auto& begun : Sent<message::PutBegun>(out_)) {
      last_put_ = begun.generation;
    }
    for (const auto& start : All<command::StartTransfer>(out_)) {
      last_transfer_ = start.transfer;
    }
  }
  void Hear(std::uint32_t from, Message message) {
    Tell(event::MessageReceived{Ref(from), std::move(message)});
  }
  void PassTime(absl::Duration duration) {
    now_ += duration;
    out_.clear();
    node_.HandleTimeout(now_, out_);
    for (const auto& create : All<command::CreateBuffer>(out_)) {
      last_buffer_ = create.buffer;
    }
    for (const auto& ask : Sent<message::Ask>(out_)) last_ask_ = ask.ask;
  }
  void Move(const ObjectId& object, std::uint64_t epoch, std::uint32_t host) {
    const ShardAssignment moved{.at = {object.shard(), Epoch(epoch)},
                                .host = Ref(host)};
    map_.Apply(moved);
    Hear(1, message::MapUpdate{.assignments = {moved}});
  }
  // The host is dead, and what it knew is lost.
  void Rebuild(const ObjectId& object, std::uint64_t epoch,
               std::uint32_t host) {
    const ShardAssignment moved{.at = {object.shard(), Epoch(epoch)},
                                .host = Ref(host),
                                .rebuilds = true};
    map_.Apply(moved);
    Hear(1, message::MapUpdate{.assignments = {moved}});
  }
  ShardRef ShardOf(const ObjectId& object) const {
    return map_.FindFor(object).at;
  }

  void Get(std::uint64_t request, const ObjectId& object,
           absl::Time deadline = absl::InfiniteFuture()) {
    Tell(event::GetRequested{RequestId(request), object, deadline});
  }
  void Put(std::uint64_t request, const ObjectId& object,
           absl::Time deadline = absl::InfiniteFuture(),
           std::uint64_t size = kSize) {
    Tell(event::PutRequested{.request = RequestId(request),
                             .object = object,
                             .size = size,
                             .deadline = deadline});
  }
  void Created() { Tell(event::BufferCreated{last_buffer_}); }
  void Refused(std::vector<BufferId> evictable = {}) {
    Tell(event::BufferRefused{.buffer = last_buffer_,
                              .capacity = 1 << 20,
                              .evictable = std::move(evictable)});
  }
  void Grant(const ObjectId& object, std::uint32_t server = 2) {
    Hear(2, message::Grant{.at = ShardOf(object),
                           .object = object,
                           .ask = last_ask_,
                           .generation = PutOf(2),
                           .size = kSize,
                           .frame_bytes = 64,
                           .server = Ref(server),
                           .final = true});
  }
  // A complete copy of an object that node 2 has put.
  BufferId Fetch(std::uint64_t request, const ObjectId& object) {
    Get(request, object);
    Grant(object);
    Created();
    const BufferId buffer = last_buffer_;
    Tell(event::TransferDone{last_transfer_});
    return buffer;
  }
  std::optional<absl::StatusCode> AnswerTo(std::uint64_t request) const {
    for (const auto& answer : All<command::AnswerRequest>(out_)) {
      if (answer.request == RequestId(request)) return answer.code;
    }
    return std::nullopt;
  }

  absl::Time now_ = At(0);
  ShardMap map_;
  Node node_;
  Commands out_;
  BufferId last_buffer_;
  AskNumber last_ask_;
  Generation last_put_;
  TransferId last_transfer_;
};

// The node hosts every shard itself.
class HostNodeTest : public NodeTest {
 protected:
  HostNodeTest() : NodeTest(kSelf) {}
};

// --- Deadlines and cancels. -------------------------------------------------

TEST_F(NodeTest, NothingToDoNeedsNoTimeout) {
  EXPECT_EQ(node_.NextTimeout(), std::nullopt);
  PassTime(absl::Hours(1));
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(NodeTest, EveryKindOfRequestEndsAtItsDeadline) {
  Get(1, Id(1), At(1));
  Put(2, Id(2), At(2));
  Tell(event::DeleteRequested{RequestId(3), Id(3), At(3)});
  Tell(event::ReduceRequested{.request = RequestId(4),
                              .target = Id(4),
                              .sources = {Id(5)},
                              .count = 1,
                              .deadline = At(4)});
  EXPECT_EQ(node_.Status().requests_waiting, 4u);
  for (std::uint64_t request = 1; request <= 4; ++request) {
    EXPECT_EQ(node_.NextTimeout(), At(static_cast<std::int64_t>(request)));
    PassTime(absl::Seconds(1));
    ASSERT_TRUE(AnswerTo(request).has_value()) << request;
    EXPECT_THAT(All<command::AnswerRequest>(out_), SizeIs(1));
  }
  EXPECT_EQ(AnswerTo(4), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(node_.Status().requests_waiting, 0u);
  EXPECT_EQ(node_.NextTimeout(), std::nullopt);
}

TEST_F(NodeTest, ATimeoutThatComesEarlyIsHarmless) {
  Get(1, kObject, At(9));
  PassTime(absl::Seconds(8));
  EXPECT_THAT(out_, IsEmpty());
  PassTime(absl::Seconds(1));
  EXPECT_EQ(AnswerTo(1), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(All<command::AnswerRequest>(out_)[0].detail,
              HasSubstr("it was not there"));
  EXPECT_EQ(All<command::AnswerRequest>(out_)[0].remote, Ref(2));
}

TEST_F(NodeTest, ACancelledRequestIsAnsweredOnce) {
  Get(1, kObject);
  Tell(event::RequestCancelled{RequestId(1)});
  EXPECT_EQ(AnswerTo(1), absl::StatusCode::kCancelled);
  EXPECT_THAT(Sent<message::Withdraw>(out_), SizeIs(1));
  Tell(event::RequestCancelled{RequestId(1)});
  EXPECT_THAT(out_, IsEmpty());
  Tell(event::RequestCancelled{RequestId(77)});
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(NodeTest, AnAnswerAfterTheDeadlineIsIgnored) {
  Tell(event::DeleteRequested{RequestId(1), kObject, At(1)});
  PassTime(absl::Seconds(1));
  EXPECT_EQ(AnswerTo(1), absl::StatusCode::kDeadlineExceeded);
  Hear(2, message::DeleteAnswer{.object = kObject, .request = RequestId(1)});
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(NodeTest, TimeNeverGoesBack) {
  PassTime(absl::Seconds(1));
  EXPECT_DEATH(node_.Handle(At(0), event::RoomFreed{}, out_), "CHECK failed");
}

// --- Requests and their answers. --------------------------------------------

TEST_F(NodeTest, ADeleteIsAskedOfTheShardAndAnswered) {
  Tell(event::DeleteRequested{RequestId(1), kObject});
  const auto ask = OnlySent<message::DeleteAsk>(out_, Ref(2));
  ASSERT_TRUE(ask.has_value());
  EXPECT_EQ(ask->request, RequestId(1));
  Hear(2, message::DeleteAnswer{.object = kObject,
                                .request = RequestId(1),
                                .code = absl::StatusCode::kNotFound});
  EXPECT_EQ(AnswerTo(1), absl::StatusCode::kNotFound);
}

TEST_F(NodeTest, AReduceNamesWhatWentIn) {
  Tell(event::ReduceRequested{.request = RequestId(1),
                              .target = kObject,
                              .sources = {Id(2), Id(3)},
                              .count = 1,
                              .op = ReduceOp::kMax,
                              .type = DataType::kI64});
  const auto ask = OnlySent<message::ReduceAsk>(out_, Ref(2));
  ASSERT_TRUE(ask.has_value());
  EXPECT_EQ(ask->at, ShardOf(kObject));
  EXPECT_EQ(ask->op, ReduceOp::kMax);
  EXPECT_EQ(ask->type, DataType::kI64);
  EXPECT_EQ(ask->count, 1u);
  Hear(2, message::ReduceAnswer{
              .target = kObject, .request = RequestId(1), .sources = {Id(3)}});
  EXPECT_EQ(AnswerTo(1), absl::StatusCode::kOk);
  EXPECT_THAT(All<command::AnswerRequest>(out_)[0].sources,
              ::testing::ElementsAre(Id(3)));
}

// --- Epochs. ----------------------------------------------------------------

TEST_F(HostNodeTest, AMessageOfAnEarlierEpochIsToldTheNewer) {
  Move(kObject, 2, kSelf);
  Hear(7, message::Ask{.at = {kObject.shard(), Epoch(1)},
                       .object = kObject,
                       .ask = AskNumber(1)});
  const auto stale = OnlySent<message::StaleEpoch>(out_, Ref(7));
  ASSERT_TRUE(stale.has_value());
  EXPECT_EQ(stale->newer.at.epoch, Epoch(2));
  EXPECT_EQ(stale->newer.host, Ref(kSelf));
  EXPECT_EQ(node_.Status().directory_records, 0u);
}

TEST_F(NodeTest, AMessageForAnotherHostIsToldWho) {
  Hear(7, message::Ask{.at = ShardOf(kObject), .object = kObject});
  const auto stale = OnlySent<message::StaleEpoch>(out_, Ref(7));
  ASSERT_TRUE(stale.has_value());
  EXPECT_EQ(stale->newer.host, Ref(2));
}

TEST_F(NodeTest, AMessageOfANewerEpochIsKeptUntilTheMapComes) {
  Hear(7, message::PutBegun{.at = {kObject.shard(), Epoch(2)},
                            .object = kObject,
                            .generation = PutOf(7),
                            .size = kSize,
                            .sealed = true});
  EXPECT_THAT(out_, IsEmpty());
  Hear(8, message::Ask{.at = {kObject.shard(), Epoch(2)},
                       .object = kObject,
                       .ask = AskNumber(1)});
  EXPECT_THAT(out_, IsEmpty());
  Move(kObject, 2, kSelf);
  EXPECT_THAT(Sent<message::PutAnswer>(out_, Ref(7)), SizeIs(1));
  EXPECT_THAT(Sent<message::Grant>(out_, Ref(8)), SizeIs(1)) << "in order";
  EXPECT_EQ(node_.Status().directory_records, 1u);
}

TEST_F(NodeTest, WhatWasKeptForAnotherHostIsSentOn) {
  Hear(7, message::Ask{.at = {kObject.shard(), Epoch(2)}, .object = kObject});
  Move(kObject, 3, 1);
  EXPECT_EQ(OnlySent<message::StaleEpoch>(out_, Ref(7))->newer.at.epoch,
            Epoch(3));
}

TEST_F(NodeTest, WhatIsUnansweredGoesToTheNewHost) {
  Get(1, kObject);
  Put(2, kObject);
  Created();
  Tell(event::DeleteRequested{RequestId(3), kObject});
  Tell(event::ReduceRequested{.request = RequestId(4),
                              .target = kObject,
                              .sources = {Id(2)},
                              .count = 1});
  Move(kObject, 2, 1);
  EXPECT_THAT(Sent<message::Ask>(out_, Ref(1)), SizeIs(1));
  EXPECT_THAT(Sent<message::PutBegun>(out_, Ref(1)), SizeIs(1));
  EXPECT_THAT(Sent<message::DeleteAsk>(out_, Ref(1)), SizeIs(1));
  EXPECT_THAT(Sent<message::ReduceAsk>(out_, Ref(1)), SizeIs(1));
  EXPECT_EQ(Sent<message::Ask>(out_)[0].at.epoch, Epoch(2));
  Move(kObject, 2, 1);
  EXPECT_THAT(out_, IsEmpty()) << "known already";
}

TEST_F(NodeTest, AStaleEpochMovesTheShardToo) {
  Get(1, kObject);
  Hear(2, message::StaleEpoch{{{kObject.shard(), Epoch(2)}, Ref(1)}});
  EXPECT_THAT(Sent<message::Ask>(out_, Ref(1)), SizeIs(1));
}

// --- A shard's records that are made anew. ----------------------------------

TEST_F(NodeTest, ANewHostIsToldWhatTheNodeHoldsAfterWhatItAsks) {
  Get(1, kObject);
  Grant(kObject);
  Created();
  Get(2, IdIn(kObject.shard().value(), 2));
  Rebuild(kObject, 2, 1);
  const auto holdings = OnlySent<message::Holdings>(out_, Ref(1));
  ASSERT_TRUE(holdings.has_value());
  EXPECT_EQ(holdings->at.epoch, Epoch(2));
  EXPECT_TRUE(holdings->first && holdings->last);
  ASSERT_THAT(holdings->entries, SizeIs(2));
  const auto& entry = holdings->entries[holdings->entries[0].object != kObject];
  EXPECT_EQ(entry.state, message::Holding::State::kFetching);
  EXPECT_EQ(entry.generation, PutOf(2));
  EXPECT_EQ(entry.server, Ref(2));
  EXPECT_TRUE(entry.final);
  EXPECT_THAT(All<command::CancelTransfer>(out_), IsEmpty());
  const auto sends = All<command::Send>(out_);
  EXPECT_TRUE(std::holds_alternative<message::Holdings>(sends.back().message));
}

TEST_F(NodeTest, APutUnderWayIsReported) {
  Put(1, kObject);
  Created();
  Rebuild(kObject, 2, 1);
  EXPECT_EQ(OnlySent<message::Holdings>(out_)->entries[0].state,
            message::Holding::State::kPutting);
  Hear(1,
       message::PutAnswer{
           .at = ShardOf(kObject), .object = kObject, .generation = last_put_});
  Rebuild(kObject, 3, 2);
  const auto holdings = OnlySent<message::Holdings>(out_);
  EXPECT_EQ(holdings->entries[0].state, message::Holding::State::kProducing);
  EXPECT_FALSE(holdings->entries[0].final);
}

TEST_F(NodeTest, AShardThatMovesEmptyIsToldNothing) {
  Fetch(1, kObject);
  Move(kObject, 2, 1);
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(NodeTest, WhatAnEarlierHostSaidLateDoesNotCount) {
  const BufferId buffer = Fetch(1, kObject);
  Put(2, kObject);
  Created();
  const ShardRef before = ShardOf(kObject);
  Rebuild(kObject, 2, 1);
  Hear(2,
       message::Drop{.at = before, .object = kObject, .generation = PutOf(2)});
  Hear(2, message::EvictAnswer{.allowed = {{before, kObject, PutOf(2)}}});
  Hear(2, message::PutAnswer{
              .at = before, .object = kObject, .generation = last_put_});
  Hear(2, message::Assignment{.at = before,
                              .target = kObject,
                              .output = testing::TargetNumber(1),
                              .source = Id(2),
                              .source_generation = PutOf(2)});
  EXPECT_THAT(out_, IsEmpty());
  Get(3, kObject);
  EXPECT_EQ(Only<command::AnswerRequest>(out_)->buffer, buffer);
}

TEST_F(NodeTest, AnEarlierHostsFinalDoesNotCount) {
  Get(1, kObject);
  Hear(2, message::Grant{.at = ShardOf(kObject),
                         .object = kObject,
                         .ask = last_ask_,
                         .generation = testing::TargetNumber(1),
                         .size = kSize,
                         .frame_bytes = 64,
                         .server = Ref(2)});
  Created();
  Tell(event::TransferDone{last_transfer_});
  const ShardRef before = ShardOf(kObject);
  Rebuild(kObject, 2, 1);
  Hear(2, message::Final{.at = before,
                         .object = kObject,
                         .generation = testing::TargetNumber(1)});
  EXPECT_EQ(AnswerTo(1), std::nullopt);
}

TEST_F(NodeTest, AnEarlierHostsReductionDoesNotAnswer) {
  Tell(event::ReduceRequested{.request = RequestId(1),
                              .target = kObject,
                              .sources = {Id(2)},
                              .count = 1});
  Rebuild(kObject, 2, 1);
  const message::ReduceAnswer answer{
      .target = kObject, .request = RequestId(1), .sources = {Id(2)}};
  Hear(2, answer);
  EXPECT_EQ(AnswerTo(1), std::nullopt);
  Hear(1, answer);
  EXPECT_EQ(AnswerTo(1), absl::StatusCode::kOk);
}

TEST_F(NodeTest, AHostIsMadeSoByTheHeadOnly) {
  Hear(2, message::StaleEpoch{
              {{kObject.shard(), Epoch(2)}, Ref(kSelf), /*rebuilds=*/true}});
  EXPECT_EQ(node_.Status().shards[kObject.shard().value()].host, Ref(2));
}

TEST_F(NodeTest, ANewHostHearsEveryMemberBeforeItAcceptsAPut) {
  Rebuild(kObject, 2, kSelf);
  Put(1, kObject);
  Created();
  Hear(kSelf, *OnlySent<message::PutBegun>(out_));
  const auto report = [&](std::uint32_t node) {
    Hear(node, message::Holdings{
                   .at = ShardOf(kObject), .first = true, .last = true});
  };
  report(1);
  report(2);
  EXPECT_THAT(Sent<message::PutAnswer>(out_), IsEmpty());
  PassTime(kHoldingsRetry);
  EXPECT_THAT(Sent<message::HoldingsAsk>(out_, Ref(kSelf)), SizeIs(1));
}

TEST_F(NodeTest, WhoIsAskedForItsHoldingsTellsThem) {
  Fetch(1, kObject);
  Hear(2, message::HoldingsAsk{.shards = {map_.FindFor(kObject)}});
  EXPECT_THAT(OnlySent<message::Holdings>(out_, Ref(2))->entries, SizeIs(1));
  // It has not heard yet that the shard has moved.
  const ShardAssignment moved{{kObject.shard(), Epoch(2)}, Ref(1), true};
  Hear(1, message::HoldingsAsk{.shards = {moved}});
  EXPECT_EQ(OnlySent<message::Holdings>(out_, Ref(1))->at.epoch, Epoch(2));
}

TEST_F(NodeTest, APeerThatReturnsIsAskedAndToldAgain) {
  Fetch(1, Id(2));
  Get(2, kObject);
  Tell(event::PeerLost{Ref(2)});
  EXPECT_THAT(out_, IsEmpty());
  Tell(event::PeerReturned{Ref(2)});
  EXPECT_THAT(Sent<message::Ask>(out_, Ref(2)), SizeIs(1));
  const auto holdings = Sent<message::Holdings>(out_, Ref(2));
  EXPECT_THAT(holdings, SizeIs(kShardCount));
  Tell(event::PeerReturned{Ref(1)});
  EXPECT_THAT(Sent<message::Holdings>(out_, Ref(1)), IsEmpty())
      << "it hosts nothing";
}

TEST_F(NodeTest, WhatIsUnansweredIsAskedAgainNowAndThen) {
  Get(1, kObject);
  const AskNumber ask = last_ask_;
  EXPECT_EQ(node_.NextTimeout(), now_ + kResync);
  for (int i = 0; i < 2; ++i) {
    PassTime(kResync);
    EXPECT_EQ(OnlySent<message::Ask>(out_)->ask, ask);
  }
}

TEST_F(NodeTest, ARequestWhoseHostIsLostEndsAtItsDeadline) {
  Get(1, kObject, At(5));
  Hear(1, message::MemberLost{Ref(2)});
  EXPECT_EQ(Only<command::ForgetMember>(out_)->member, Ref(2));
  Move(kObject, 2, 1);
  EXPECT_THAT(Sent<message::Ask>(out_, Ref(1)), SizeIs(1));
  PassTime(absl::Seconds(5));
  EXPECT_EQ(AnswerTo(1), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(HostNodeTest, OnlyEmptyShardsAreGivenUp) {
  Get(1, kObject);  // asks its own shard
  Hear(kSelf, *OnlySent<message::Ask>(out_, Ref(kSelf)));
  const ShardRef full = ShardOf(kObject);
  std::uint32_t other = 0;
  while (ShardId(other) == full.shard) ++other;
  const ShardRef empty{ShardId(other), Epoch(1)};
  const ShardRef old{ShardId(other), Epoch(0)};
  Hear(1, message::CloseShards{.shards = {full, empty, old}});
  const auto closed = OnlySent<message::ShardsClosed>(out_, Ref(1));
  ASSERT_TRUE(closed.has_value());
  EXPECT_EQ(closed->shards, (std::vector<ShardRef>{empty}));
  Hear(1, message::CloseShards{.shards = {empty}});
  EXPECT_EQ(OnlySent<message::ShardsClosed>(out_)->shards,
            (std::vector<ShardRef>{empty}))
      << "repeated";
}

TEST_F(HostNodeTest, APrefixEndsInShardsThatComeLaterToo) {
  const IdPrefix prefix = IdPrefix::Of(kObject);
  Move(kObject, 2, 2);
  Tell(event::PrefixEnded{prefix});
  EXPECT_THAT(out_, IsEmpty());
  Move(kObject, 3, kSelf);
  Hear(2, message::PutBegun{.at = ShardOf(kObject),
                            .object = kObject,
                            .generation = PutOf(2),
                            .size = kSize});
  const auto answer = OnlySent<message::PutAnswer>(out_, Ref(2));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->code, absl::StatusCode::kNotFound);
}

TEST_F(HostNodeTest, AClosedShardKeepsItsMessagesForTheNewHost) {
  Hear(1, message::CloseShards{.shards = {ShardOf(kObject)}});
  Hear(7, message::Ask{.at = ShardOf(kObject), .object = kObject});
  EXPECT_THAT(out_, IsEmpty());
  Move(kObject, 2, 1);
  EXPECT_EQ(OnlySent<message::StaleEpoch>(out_, Ref(7))->newer.host, Ref(1));
}

TEST_F(HostNodeTest, EvictionIsAskedOfTheShardsThatAreHere) {
  Hear(7, message::EvictAsk{
              .entries = {{ShardOf(kObject), kObject, PutOf(7)},
                          {{Id(2).shard(), Epoch(9)}, Id(2), PutOf(7)}}});
  const auto answer = OnlySent<message::EvictAnswer>(out_, Ref(7));
  ASSERT_TRUE(answer.has_value());
  ASSERT_THAT(answer->allowed, SizeIs(1)) << "the record knows no such copy";
  EXPECT_EQ(answer->allowed[0].object, kObject);
  ASSERT_THAT(answer->denied, SizeIs(1));
  EXPECT_EQ(answer->denied[0].object, Id(2));
}

// --- Members. ---------------------------------------------------------------

TEST_F(NodeTest, MembersComeAndGo) {
  Hear(1, message::MemberJoined{MemberOf(9)});
  EXPECT_EQ(Only<command::LearnMember>(out_)->member, MemberOf(9));
  EXPECT_THAT(node_.Status().members, SizeIs(4));
  Hear(1, message::MemberLost{{NodeId(9), Incarnation(99)}});
  EXPECT_THAT(out_, IsEmpty()) << "another life";
  Hear(1, message::MemberLost{Ref(9)});
  EXPECT_EQ(Only<command::ForgetMember>(out_)->member, Ref(9));
  EXPECT_THAT(node_.Status().members, SizeIs(3));
  Hear(1, message::MemberLost{Ref(9)});
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(NodeTest, OnlyTheHeadAdmits) {
  Tell(event::JoinRequested{.token = 1});
  EXPECT_THAT(out_, IsEmpty());
  Tell(event::PeerLost{Ref(2)});
  EXPECT_THAT(out_, IsEmpty()) << "a suspicion is no verdict";
  Hear(2, message::Leave{});
  EXPECT_THAT(out_, IsEmpty());
}

// --- The head, away and back. -----------------------------------------------

constexpr Incarnation kNextHead(std::uint64_t{1} << kHeadNumberShift | 1);

TEST_F(NodeTest, AHeadThatIsLostIsSought) {
  Hear(1, message::MemberLost{Ref(2)});
  Tell(event::PeerLost{Ref(1)});
  const auto seek = Only<command::SeekHead>(out_);
  ASSERT_TRUE(seek.has_value());
  EXPECT_EQ(seek->head_address, "node-1:1");
  EXPECT_EQ(seek->view.self, MemberOf(kSelf));
  EXPECT_EQ(seek->view.members,
            (std::vector<Member>{MemberOf(1), MemberOf(kSelf)}));
  EXPECT_EQ(seek->view.lost, std::vector<NodeRef>{Ref(2)});
  EXPECT_EQ(seek->view.shard_map, map_);
}

TEST_F(NodeTest, WhatEndsWhileTheHeadIsAwaySaysSo) {
  Get(1, kObject, At(5));
  Tell(event::PeerLost{Ref(1)});
  PassTime(absl::Seconds(5));
  EXPECT_EQ(AnswerTo(1), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(All<command::AnswerRequest>(out_)[0].detail,
              HasSubstr("the head is away"));
}

TEST_F(NodeTest, AHeadThatIsBackIsFollowed) {
  Get(1, kObject);
  Tell(event::PeerLost{Ref(1)});
  Member head = MemberOf(1);
  head.ref.incarnation = kNextHead;
  ShardMap map = map_;
  map.Apply({.at = {kObject.shard(), Epoch(9)}, .host = Ref(kSelf)});
  Tell(event::HeadFound{.members = {head, MemberOf(kSelf), MemberOf(8)},
                        .shard_map = map});
  EXPECT_EQ(node_.Status().members,
            (std::vector<Member>{head, MemberOf(kSelf), MemberOf(8)}));
  EXPECT_THAT(All<command::ForgetMember>(out_), SizeIs(2)) << "1 and 2";
  EXPECT_THAT(All<command::LearnMember>(out_), SizeIs(2)) << "1 and 8";
  EXPECT_THAT(Sent<message::Ask>(out_, Ref(kSelf)), SizeIs(1)) << "the new map";
}

// Seen in seed 5461: a member asked a new head, then heard of a joiner by last
// words of the head before, and then the answer, which does not know of the
// joiner. It took that for a verdict, and had lost the joiner for ever.
TEST_F(NodeTest, WhomTheHeadWasNotToldOfItHasNotDeclaredDead) {
  Tell(event::PeerLost{Ref(1)});
  Hear(1, message::MemberJoined{MemberOf(9)});
  Member head = MemberOf(1);
  head.ref.incarnation = kNextHead;
  const std::vector<Member> answer = {head, MemberOf(2), MemberOf(kSelf)};
  Tell(event::HeadFound{.members = answer, .shard_map = map_});
  EXPECT_EQ(node_.Status().members.size(), 4u);
  EXPECT_EQ(Only<command::ForgetMember>(out_)->member, Ref(1));
  EXPECT_THAT(Only<command::SeekHead>(out_)->view.members,
              Contains(MemberOf(9)))
      << "now it is told";
  Tell(event::HeadFound{.members = answer, .shard_map = map_});
  EXPECT_EQ(Only<command::ForgetMember>(out_)->member, Ref(9))
      << "and knows that it is dead";
  EXPECT_EQ(Only<command::SeekHead>(out_), std::nullopt);
}

// Seen in seeds 729 and 10768: a member that had lost its stream found its head
// at once, and the head, which had yet to notice, told it of members and shards
// on the old stream.
TEST_F(NodeTest, AHeadWhoseStreamStandsAgainIsAskedOnceMore) {
  Tell(event::PeerLost{Ref(1)});
  Tell(event::HeadFound{.members = {MemberOf(1), MemberOf(2), MemberOf(kSelf)},
                        .shard_map = map_});
  Tell(event::PeerReturned{Ref(1)});
  EXPECT_TRUE(Only<command::SeekHead>(out_).has_value());
  Tell(event::PeerReturned{Ref(2)});
  EXPECT_FALSE(Only<command::SeekHead>(out_).has_value()) << "no head";
}

// The driver may have asked with an earlier view when it is told a later one.
TEST_F(NodeTest, AnAnswerMayBeToTheEarlierOfTwoQuestions) {
  Tell(event::PeerLost{Ref(1)});
  Hear(1, message::MemberJoined{MemberOf(9)});
  Tell(event::PeerLost{Ref(1)});
  Tell(event::HeadFound{.members = {MemberOf(1), MemberOf(2), MemberOf(kSelf)},
                        .shard_map = map_});
  EXPECT_EQ(node_.Status().members.size(), 4u);
}

TEST_F(NodeTest, AnEarlierHeadIsObeyedNoMore) {
  Member head = MemberOf(1);
  head.ref.incarnation = kNextHead;
  Tell(event::HeadFound{.members = {head, MemberOf(2), MemberOf(kSelf)},
                        .shard_map = map_});
  Hear(1, message::MemberLost{Ref(2)});
  EXPECT_THAT(out_, IsEmpty());
  Hear(1, message::MemberJoined{MemberOf(9)});
  EXPECT_THAT(out_, IsEmpty());
  Hear(1, message::MapUpdate{
              {{.at = {ShardId(1), Epoch(9)}, .host = Ref(kSelf)}}});
  EXPECT_THAT(out_, IsEmpty());
  Hear(1, message::CloseShards{{{ShardId(1), Epoch(1)}}});
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_THAT(node_.Status().members, SizeIs(3));
}

TEST_F(NodeTest, WhatTheHeadHasNotHeardItIsTold) {
  Move(kObject, 2, 1);
  Tell(event::HeadFound{.members = {MemberOf(1), MemberOf(2), MemberOf(kSelf)},
                        .shard_map = AllShardsOn(Ref(2))});
  EXPECT_EQ(Only<command::SeekHead>(out_)->view.shard_map, map_);
}

TEST_F(HostNodeTest, AShardThatWasGivenUpInVainIsOfferedAgain) {
  Hear(1, message::CloseShards{.shards = {ShardOf(kObject)}});
  Member head = MemberOf(1);
  head.ref.incarnation = kNextHead;
  Tell(event::HeadFound{.members = {head, MemberOf(2), MemberOf(kSelf)},
                        .shard_map = map_});
  EXPECT_EQ(OnlySent<message::ShardsClosed>(out_, head.ref)->shards,
            (std::vector<ShardRef>{ShardOf(kObject)}));
}

TEST_F(NodeTest, OrdersOfALaterHeadCountBeforeItIsFound) {
  const NodeRef later{kHeadNode, kNextHead};
  Tell(event::MessageReceived{later, message::MemberLost{Ref(2)}});
  EXPECT_EQ(Only<command::ForgetMember>(out_)->member, Ref(2));
}

TEST_F(NodeTest, OnlyTheHeadSaysWhoIsAMember) {
  Hear(2, message::MemberLost{Ref(1)});
  EXPECT_THAT(out_, IsEmpty());
  Hear(2, message::MemberJoined{MemberOf(9)});
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(NodeTest, NobodyComesBackFromTheDead) {
  Hear(1, message::MemberLost{Ref(2)});
  Hear(1, message::MemberJoined{MemberOf(2)});
  EXPECT_THAT(out_, IsEmpty());
  Tell(event::HeadFound{.members = {MemberOf(1), MemberOf(2), MemberOf(kSelf)},
                        .shard_map = map_});
  EXPECT_THAT(node_.Status().members, SizeIs(2));
}

TEST_F(NodeTest, WhoeverIsFencedEndsAllAndBeginsAnew) {
  Get(1, kObject);
  Put(2, Id(2));
  Tell(event::Fenced{"it was silent"});
  EXPECT_EQ(AnswerTo(1), absl::StatusCode::kUnavailable);
  EXPECT_EQ(AnswerTo(2), absl::StatusCode::kUnavailable);
  const auto end = Only<command::EndLife>(out_);
  ASSERT_TRUE(end.has_value());
  EXPECT_THAT(end->reason, HasSubstr("it was silent"));
}

// Symptom (seeds 1832, 3701): members knew of a node without a number. Cause: a
// stopped node heard of its own death when it woke, struck itself from its
// members, and asked to be taken back as nobody.
TEST_F(NodeTest, ItsOwnVerdictIsTheEndToo) {
  Get(1, kObject);
  Hear(1, message::MemberLost{Ref(kSelf)});
  EXPECT_EQ(AnswerTo(1), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(Only<command::EndLife>(out_).has_value());
}

TEST_F(NodeTest, WhatAPeerThatReturnsHostsIsAskedAgain) {
  Get(1, kObject);
  Tell(event::PeerReturned{Ref(2)});
  EXPECT_THAT(Sent<message::Ask>(out_, Ref(2)), SizeIs(1));
}

TEST(HeadNodeTest, OnlyADeathIsAVerdict) {
  Node head({.self = Ref(1),
             .is_head = true,
             .members = {MemberOf(1), MemberOf(2)},
             .shard_map = AllShardsOn(Ref(2))});
  Commands out;
  head.Handle(At(0), event::PeerLost{Ref(2)}, out);
  EXPECT_THAT(out, IsEmpty()) << "a suspicion is no verdict";
  head.Handle(At(0), event::PeerDied{Ref(2)}, out);
  EXPECT_EQ(OnlySent<message::MemberLost>(out, Ref(1))->member, Ref(2));
}

TEST(HeadNodeTest, TheHeadAdmitsAndGivesItsShardsAway) {
  const ShardMap map = AllShardsOn(Ref(1));
  Node head({.self = Ref(1),
             .is_head = true,
             .members = {MemberOf(1)},
             .shard_map = map});
  Commands out;
  head.Handle(At(0), event::JoinRequested{.token = 7}, out);
  EXPECT_EQ(Only<command::Admit>(out)->token, 7u);
  const auto close = OnlySent<message::CloseShards>(out, Ref(1));
  ASSERT_TRUE(close.has_value());
  Commands closed;
  head.Handle(At(0), event::MessageReceived{Ref(1), *close}, closed);
  const auto shards = OnlySent<message::ShardsClosed>(closed, Ref(1));
  ASSERT_TRUE(shards.has_value());
  EXPECT_EQ(shards->shards.size(), kShardCount);
  Commands moved;
  head.Handle(At(0), event::MessageReceived{Ref(1), *shards}, moved);
  const auto update = OnlySent<message::MapUpdate>(moved, Ref(1));
  ASSERT_TRUE(update.has_value());
  EXPECT_EQ(update->assignments[0].host.node, NodeId(2));
  EXPECT_TRUE(head.Status().is_head);
}

// --- Room. ------------------------------------------------------------------

TEST_F(NodeTest, RoomThatComesBackGoesToWhoWaited) {
  Put(1, Id(1));
  Refused();
  Tell(event::RoomFreed{});
  EXPECT_THAT(All<command::CreateBuffer>(out_), SizeIs(1));
  Created();
  EXPECT_THAT(Sent<message::PutBegun>(out_), SizeIs(1));
  Tell(event::RoomFreed{});
  EXPECT_THAT(out_, IsEmpty()) << "nobody waits";
}

// Symptom: a small Put waited though there was room for it. Cause: a large one
// in front of it was tried first, and nobody after it.
TEST_F(NodeTest, ALargePutThatDoesNotFitHoldsUpNoSmallOne) {
  Put(1, Id(1), absl::InfiniteFuture(), 1 << 19);
  Refused();
  Put(2, Id(2));
  Refused();
  Tell(event::RoomFreed{});
  const auto tried = All<command::CreateBuffer>(out_);
  ASSERT_THAT(tried, SizeIs(2));
  EXPECT_EQ(tried[0].size, std::uint64_t{1} << 19) << "first come first";
  EXPECT_EQ(tried[1].size, kSize);
}

TEST_F(NodeTest, AFetchWithoutRoomAsksAgain) {
  Get(1, kObject);
  Grant(kObject);
  Refused();
  EXPECT_THAT(Sent<message::Withdraw>(out_), SizeIs(1));
  Tell(event::RoomFreed{});
  EXPECT_THAT(Sent<message::Ask>(out_), SizeIs(1));
  Tell(event::RoomFreed{});
  EXPECT_THAT(out_, IsEmpty()) << "it has asked";
  Grant(kObject);
  Created();
  EXPECT_THAT(All<command::StartTransfer>(out_), SizeIs(1));
}

TEST_F(NodeTest, WhoFindsNoRoomAsksOthersToGo) {
  const BufferId copy = Fetch(1, Id(7));
  Put(2, Id(1));
  Refused({copy});
  const auto ask = OnlySent<message::EvictAsk>(out_, Ref(2));
  ASSERT_TRUE(ask.has_value());
  Hear(2, message::EvictAnswer{.allowed = ask->entries});
  EXPECT_EQ(Only<command::ReleaseBuffer>(out_)->buffer, copy);
  Tell(event::RoomFreed{});
  EXPECT_THAT(All<command::CreateBuffer>(out_), SizeIs(1));
}

TEST_F(NodeTest, WhatIsDeniedPassesToTheNext) {
  const std::vector<BufferId> copies = {Fetch(1, Id(7)), Fetch(2, Id(8))};
  Put(3, Id(1));
  Refused(copies);
  auto ask = OnlySent<message::EvictAsk>(out_);
  ASSERT_TRUE(ask.has_value());
  EXPECT_EQ(ask->entries[0].object, Id(7));
  Hear(2, message::EvictAnswer{.denied = ask->entries});
  EXPECT_THAT(All<command::CreateBuffer>(out_), SizeIs(1)) << "tried again";
  Refused(copies);
  ask = OnlySent<message::EvictAsk>(out_);
  ASSERT_TRUE(ask.has_value());
  EXPECT_EQ(ask->entries[0].object, Id(8));
  Hear(2, message::EvictAnswer{.denied = ask->entries});
  Refused(copies);
  EXPECT_THAT(Sent<message::EvictAsk>(out_), IsEmpty()) << "no circle";
}

// Symptom: a Put waited until its deadline though copies could go. Cause: they
// had been pinned, or the last ones, when they were asked about; and that this
// was over, nobody said.
TEST_F(NodeTest, WhoWaitsForRoomTriesNowAndThen) {
  const BufferId copy = Fetch(1, Id(7));
  Put(2, Id(1));
  Refused();  // a reader pins the copy
  EXPECT_THAT(Sent<message::EvictAsk>(out_), IsEmpty());
  ASSERT_EQ(node_.NextTimeout(), now_ + kRoomRetry);
  PassTime(kRoomRetry);
  EXPECT_THAT(All<command::CreateBuffer>(out_), SizeIs(1));
  Refused({copy});
  auto ask = OnlySent<message::EvictAsk>(out_);
  ASSERT_TRUE(ask.has_value());
  Hear(2, message::EvictAnswer{.denied = ask->entries});
  Refused({copy});
  PassTime(kRoomRetry);
  Refused({copy});
  EXPECT_THAT(Sent<message::EvictAsk>(out_), SizeIs(1))
      << "another copy may be complete by now";
  Tell(event::RequestCancelled{RequestId(2)});
  EXPECT_EQ(node_.NextTimeout(), std::nullopt) << "nobody waits any more";
}

TEST_F(NodeTest, ALateAnswerOfTheStoreIsIgnored) {
  Put(1, Id(1));
  Tell(event::RequestCancelled{RequestId(1)});
  EXPECT_THAT(All<command::ReleaseBuffer>(out_), IsEmpty());
  Created();
  EXPECT_EQ(Only<command::ReleaseBuffer>(out_)->buffer, last_buffer_);
  Put(2, Id(1));
  Tell(event::RequestCancelled{RequestId(2)});
  Refused();
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_EQ(node_.Status().buffers_held, 0u);
}

// --- Pulls, and reductions here. --------------------------------------------

TEST_F(NodeTest, APullOfNothingIsRefused) {
  Tell(event::PullRequested{.pull = PullId(1),
                            .peer = Ref(2),
                            .key = {.object = kObject},
                            .generation = PutOf(9)});
  EXPECT_EQ(Only<command::RefusePull>(out_)->pull, PullId(1));
}

TEST_F(NodeTest, APullMayComeBeforeThePutIsAccepted) {
  Put(1, kObject);
  Created();
  Tell(event::PullRequested{.pull = PullId(1),
                            .peer = Ref(2),
                            .key = {.object = kObject},
                            .generation = last_put_});
  EXPECT_THAT(out_, IsEmpty());
  Hear(2,
       message::PutAnswer{
           .at = ShardOf(kObject), .object = kObject, .generation = last_put_});
  EXPECT_EQ(Only<command::ServePull>(out_)->pull, PullId(1));
}

TEST_F(NodeTest, AnAssignmentMayComeBeforeThePutIsAccepted) {
  Put(1, kObject);
  Created();
  const BufferId source = last_buffer_;
  Hear(1,
       message::Assignment{.at = ShardOf(Id(9)),
                           .target = Id(9),
                           .output = testing::TargetNumber(1),
                           .source = kObject,
                           .source_generation = last_put_,
                           .inputs = {{.position = 1,
                                       .generation = testing::TargetNumber(2),
                                       .member = Ref(2)}},
                           .size = kSize,
                           .root = true});
  EXPECT_THAT(All<command::CreateBuffer>(out_), IsEmpty());
  Hear(2,
       message::PutAnswer{
           .at = ShardOf(kObject), .object = kObject, .generation = last_put_});
  EXPECT_THAT(All<command::CreateBuffer>(out_), SizeIs(1));
  Created();
  EXPECT_EQ(Only<command::StartFold>(out_)->own, source);
  Tell(event::FoldDone{Only<command::StartFold>(out_)->fold});
  EXPECT_THAT(Sent<message::CopyComplete>(out_), SizeIs(1));
  Hear(1, message::Release{Id(9)});
  Hear(2, message::Final{ShardOf(Id(9)), Id(9), testing::TargetNumber(1)});
  Get(2, Id(9));
  EXPECT_EQ(AnswerTo(2), absl::StatusCode::kOk) << "on the root's own node";
}

// --- Measurements and status. -----------------------------------------------

TEST_F(NodeTest, TheLeastLatencyIsTheLinks) {
  EXPECT_EQ(node_.Status().latency, kLatencyUntilMeasured);
  Tell(event::LatencyMeasured{absl::Microseconds(300)});
  EXPECT_EQ(node_.Status().latency, absl::Microseconds(300));
  Tell(event::LatencyMeasured{absl::Microseconds(200)});
  Tell(event::LatencyMeasured{absl::Milliseconds(9)});
  EXPECT_EQ(node_.Status().latency, absl::Microseconds(200));
}

TEST_F(NodeTest, TheBestTransfersTellTheBandwidth) {
  EXPECT_EQ(node_.Status().bytes_per_second, kBandwidthUntilMeasured);
  Tell(event::BandwidthMeasured{1e6});
  EXPECT_EQ(node_.Status().bytes_per_second, 1e6);
  Tell(event::BandwidthMeasured{5e6});
  EXPECT_EQ(node_.Status().bytes_per_second, 5e6);
  Tell(event::BandwidthMeasured{1e6});
  EXPECT_LT(node_.Status().bytes_per_second, 5e6) << "old highs fade";
  EXPECT_GT(node_.Status().bytes_per_second, 4e6);
}

TEST_F(NodeTest, NonsenseIsNotMeasured) {
  Tell(event::BandwidthMeasured{0});
  EXPECT_EQ(node_.Status().bytes_per_second, kBandwidthUntilMeasured);
  Tell(event::BandwidthMeasured{-5});
  EXPECT_GT(node_.Status().bytes_per_second, 0);
  // Seen: from then on the frames of an object of no bytes were of NaN bytes.
  Tell(event::BandwidthMeasured{std::numeric_limits<double>::infinity()});
  EXPECT_EQ(node_.Status().bytes_per_second, kBandwidthUntilMeasured);
}

TEST_F(NodeTest, StatusTellsWhatTheNodeHolds) {
  Fetch(1, Id(7));
  Get(2, Id(8), At(100));
  const NodeStatus status = node_.Status();
  EXPECT_EQ(status.self, Ref(kSelf));
  EXPECT_FALSE(status.is_head);
  EXPECT_THAT(status.members, SizeIs(3));
  EXPECT_THAT(status.shards, SizeIs(kShardCount));
  EXPECT_THAT(status.objects, SizeIs(2));
  EXPECT_EQ(status.requests_waiting, 1u);
  EXPECT_EQ(status.buffers_held, 1u);
  EXPECT_EQ(status.directory_records, 0u);
}

// The log of a node is its configuration and its events: replayed, it gives
// the same commands.
TEST_F(HostNodeTest, TheSameEventsGiveTheSameCommands) {
  const auto run = [] {
    Node node(ConfigOf(AllShardsOn(Ref(kSelf))));
    Commands out;
    std::vector<std::string> texts;
    for (std::uint64_t i = 1; i <= 200; ++i) {
      const ObjectId object = Id(static_cast<std::uint32_t>(i % 7));
      node.Handle(At(0), event::GetRequested{RequestId(2 * i), object}, out);
      node.Handle(At(0),
                  event::PutRequested{.request = RequestId(2 * i + 1),
                                      .object = object,
                                      .payload = MakePayload("bytes")},
                  out);
      for (const Command& command : std::exchange(out, {})) {
        texts.push_back(DebugString(command));
        if (const auto* send = std::get_if<command::Send>(&command)) {
          if (send->to != Ref(kSelf)) continue;
          node.Handle(At(0), event::MessageReceived{send->to, send->message},
                      out);
        } else if (const auto* create =
                       std::get_if<command::CreateBuffer>(&command)) {
          node.Handle(At(0), event::BufferCreated{create->buffer}, out);
        }
      }
    }
    return texts;
  };
  const std::vector<std::string> first = run();
  EXPECT_GT(first.size(), 1000u);
  EXPECT_EQ(first, run());
}

}  // namespace
}  // namespace hoplite
