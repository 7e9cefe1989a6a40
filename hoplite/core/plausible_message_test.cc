#include "hoplite/core/plausible_message.h"

#include <gtest/gtest.h>

#include "hoplite/core/testing/values.h"

namespace hoplite {
namespace {

using testing::Id;
using testing::IdIn;
using testing::PutOf;
using testing::Ref;
using testing::TargetNumber;

constexpr ShardRef kAt{ShardId(7), Epoch(1)};
const ObjectId kObject = IdIn(7);
const ObjectId kOfAnother = IdIn(8);

message::Assignment GoodAssignment() {
  return {.at = kAt,
          .target = kObject,
          .output = TargetNumber(1),
          .source = Id(1),
          .source_generation = PutOf(2),
          .inputs = {{.position = 1,
                      .generation = TargetNumber(2),
                      .member = Ref(3)}},
          .size = 8};
}

TEST(PlausibleMessageTest, WhatNodesTellEachOtherIs) {
  for (const Message& message : {
           Message(message::Leave{}),
           Message(message::Ask{.at = kAt, .object = kObject}),
           Message(message::Grant{.at = kAt,
           .object = kObject,
           .generation = PutOf(2),
           .server = Ref(2)}),
           Message(message::PutBegun{.at = kAt,
           .object = kObject,
           .generation = PutOf(2),
           .size = 4,
           .payload = MakePayload("four")}),
           Message(message::ReduceAsk{.at = kAt, .target = kObject}),
           Message(GoodAssignment()),
           Message(message::SourceNews{}),
       }) {
    EXPECT_TRUE(IsPlausible(message)) << DebugString(message);
  }
}

TEST(PlausibleMessageTest, AnObjectOfAnotherShardIsNot) {
  EXPECT_FALSE(IsPlausible(message::Ask{.at = kAt, .object = kOfAnother}));
  EXPECT_FALSE(
      IsPlausible(message::ReduceAsk{.at = kAt, .target = kOfAnother}));
  EXPECT_FALSE(IsPlausible(
      message::WatchSources{.entries = {{.at = kAt, .object = kObject},
                                        {.at = kAt, .object = kOfAnother}}}));
  EXPECT_FALSE(IsPlausible(message::EvictAsk{
      .entries = {{.at = kAt, .object = kOfAnother, .generation = PutOf(2)}}}));
}

TEST(PlausibleMessageTest, NeitherIsAPayloadOfAnotherSize) {
  EXPECT_FALSE(IsPlausible(message::PutBegun{.at = kAt,
                                             .object = kObject,
                                             .generation = PutOf(2),
                                             .size = 5,
                                             .payload = MakePayload("four")}));
  EXPECT_FALSE(IsPlausible(message::SourceNews{
      .entries = {
          {.object = kObject, .size = 8, .payload = MakePayload("four")}}}));
}

// A grant without a server would pass for one that came with its bytes.
TEST(PlausibleMessageTest, NorAGrantOfNothingOrFromNobody) {
  EXPECT_FALSE(IsPlausible(
      message::Grant{.at = kAt, .object = kObject, .generation = PutOf(2)}));
  EXPECT_FALSE(IsPlausible(
      message::Grant{.at = kAt, .object = kObject, .server = Ref(2)}));
  EXPECT_FALSE(IsPlausible(message::GrantInline{
      .at = kAt, .object = kObject, .generation = PutOf(2)}));
}

// A Get would end well and have no object.
TEST(PlausibleMessageTest, NorARefusalThatSaysThatAllIsWell) {
  EXPECT_FALSE(IsPlausible(message::Refusal{
      .at = kAt, .object = kObject, .code = absl::StatusCode::kOk}));
}

TEST(PlausibleMessageTest, NorAFoldThatThereIsNot) {
  message::Assignment assignment = GoodAssignment();
  assignment.size = 7;  // no multiple of an f32
  EXPECT_FALSE(IsPlausible(assignment));
  assignment = GoodAssignment();
  assignment.op = ReduceOp::kBitXor;
  EXPECT_FALSE(IsPlausible(assignment));
  assignment = GoodAssignment();
  assignment.divisor = 0;
  EXPECT_FALSE(IsPlausible(assignment));
  assignment = GoodAssignment();
  assignment.inputs[0].position = assignment.position;
  EXPECT_FALSE(IsPlausible(assignment)) << "of itself";
  assignment = GoodAssignment();
  assignment.inputs[0].member = NodeRef();
  EXPECT_FALSE(IsPlausible(assignment)) << "from nobody";
}

}  // namespace
}  // namespace hoplite
