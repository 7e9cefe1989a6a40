// What peers may say that is not so. Each case was found by //tests/fuzz, or
// by reading for it: the node goes on, and what is true stays so.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "hoplite/core/node.h"
#include "hoplite/core/testing/commands.h"
#include "hoplite/core/testing/values.h"

namespace hoplite {
namespace {

using testing::AllShardsOn;
using testing::At;
using testing::Id;
using testing::IdIn;
using ::testing::IsEmpty;
using testing::MemberOf;
using testing::Only;
using testing::OnlySent;
using testing::PutOf;
using testing::Ref;
using testing::Sent;

constexpr std::uint32_t kSelf = 5;
constexpr std::uint32_t kLiar = 2;
constexpr std::uint32_t kHonest = 3;
constexpr std::uint64_t kLarge = 1 << 20;
// One of a shard that node 5 hosts, and one of a shard that it does not.
const ObjectId kHere = IdIn(7);
const ObjectId kElsewhere = IdIn(8);

class NodeLiesTest : public ::testing::Test {
 protected:
  ~NodeLiesTest() override { EXPECT_EQ(node_.CheckInvariants(), ""); }

  static ShardMap Shards() {
    ShardMap map = AllShardsOn(Ref(kSelf));
    map.Apply({.at = {kElsewhere.shard(), Epoch(2)}, .host = Ref(kHonest)});
    return map;
  }
  void Tell(Event event) {
    out_.clear();
    node_.Handle(At(0), event, out_);
  }
  void Hear(std::uint32_t from, Message message) {
    Tell(event::MessageReceived{Ref(from), std::move(message)});
  }

  const ShardMap map_ = Shards();
  const ShardRef here_ = map_.FindFor(kHere).at;
  Node node_{{.self = Ref(kSelf),
              .members = {MemberOf(1), MemberOf(kLiar), MemberOf(kHonest),
                          MemberOf(kSelf)},
              .shard_map = map_,
              .store_capacity = kLarge}};
  Commands out_;
};

// Seen: CHECK failed in ObjectDirectory::ShardOf. The message was let in by
// the shard that it named, and its record sought in the object's own.
TEST_F(NodeLiesTest, AnObjectOfAnotherShardThanTheMessageNamesIsIgnored) {
  Hear(kLiar, message::Ask{.at = here_, .object = kElsewhere});
  EXPECT_THAT(out_, IsEmpty());
  Hear(kLiar, message::PutBegun{.at = here_,
                                .object = kElsewhere,
                                .generation = PutOf(kLiar),
                                .size = kLarge});
  EXPECT_THAT(out_, IsEmpty());
  Hear(kLiar,
       message::ReduceAsk{
           .at = here_, .target = kElsewhere, .sources = {kHere}, .count = 1});
  EXPECT_THAT(out_, IsEmpty());
  Hear(kLiar,
       message::WatchSources{.target = kHere,
                             .entries = {{.at = here_, .object = kElsewhere}}});
  EXPECT_THAT(out_, IsEmpty());
}

// Seen: the answer to a Delete that named the number of a Get ended that one
// well, without an object.
TEST_F(NodeLiesTest, AnAnswerToSomethingElseThanWasAskedIsIgnored) {
  Tell(event::GetRequested{.request = RequestId(1), .object = kElsewhere});
  Hear(kLiar,
       message::DeleteAnswer{.object = kElsewhere, .request = RequestId(1)});
  EXPECT_THAT(out_, IsEmpty());
  Hear(kHonest,
       message::ReduceAnswer{.target = kElsewhere, .request = RequestId(1)});
  EXPECT_THAT(out_, IsEmpty());
}

// Seen: a transfer of one size was ordered into a buffer of another.
TEST_F(NodeLiesTest, AnObjectThatChangesItsSizeGetsAnotherBuffer) {
  Tell(event::GetRequested{.request = RequestId(1), .object = kElsewhere});
  const auto ask = OnlySent<message::Ask>(out_);
  ASSERT_TRUE(ask.has_value());
  message::Grant grant{.at = ask->at,
                       .object = kElsewhere,
                       .ask = ask->ask,
                       .generation = PutOf(kHonest),
                       .size = 1000,
                       .server = Ref(kHonest)};
  Hear(kHonest, grant);
  const auto first = Only<command::CreateBuffer>(out_);
  ASSERT_TRUE(first.has_value());
  Tell(event::BufferCreated{first->buffer});
  const auto start = Only<command::StartTransfer>(out_);
  ASSERT_TRUE(start.has_value());
  Tell(event::TransferFailed{.transfer = start->transfer, .received = 100});
  const auto again = OnlySent<message::Ask>(out_);
  ASSERT_TRUE(again.has_value());
  grant.ask = again->ask;
  grant.size = 2000;
  Hear(kLiar, grant);
  const auto second = Only<command::CreateBuffer>(out_);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->size, 2000u);
  EXPECT_TRUE(Only<command::ReleaseBuffer>(out_).has_value());
}

// Each was kept until a map would come that nobody had sent.
TEST_F(NodeLiesTest, MessagesOfEpochsToComeAreKeptUpToALimit) {
  constexpr std::size_t kLies = 5000;
  const ShardRef later{here_.shard, Epoch(9)};
  for (std::uint64_t i = 1; i <= kLies; ++i) {
    Hear(kLiar,
         message::Ask{.at = later, .object = kHere, .ask = AskNumber(i)});
  }
  Hear(1, message::MapUpdate{{{.at = later, .host = Ref(kHonest)}}});
  EXPECT_LT(Sent<message::StaleEpoch>(out_, Ref(kLiar)).size(), kLies / 2);
}

}  // namespace
}  // namespace hoplite
