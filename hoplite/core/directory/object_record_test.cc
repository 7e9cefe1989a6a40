#include "hoplite/core/directory/object_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "hoplite/core/testing/values.h"

namespace hoplite {
namespace {

using ::testing::HasSubstr;
using testing::PutOf;
using testing::Ref;

class ObjectRecordTest : public ::testing::Test {
 protected:
  Copy& Add(std::uint32_t node) {
    return record_.copies[NodeId(node)] = Copy{.node = Ref(node)};
  }
  void Take(std::uint32_t receiver, std::uint32_t server) {
    record_.TakeServer(*record_.Find(Ref(receiver)), *record_.Find(Ref(server)),
                       loads_);
  }
  std::uint32_t Serving(std::uint32_t node) {
    return record_.Find(Ref(node))->serving;
  }

  ObjectRecord record_;
  ServingLoads loads_;
};

TEST_F(ObjectRecordTest, IsEmptyWhereNothingStandsInIt) {
  EXPECT_TRUE(record_.empty());
  EXPECT_FALSE(record_.exists());
  EXPECT_FALSE(record_.ready());
  EXPECT_FALSE(record_.recoverable());
  EXPECT_EQ(record_.CheckInvariants(), "");
}

TEST_F(ObjectRecordTest, WhateverWaitsKeepsIt) {
  ObjectRecord waits;
  waits.waiting.push_back({.node = Ref(1)});
  EXPECT_FALSE(waits.empty());
  ObjectRecord puts;
  puts.puts.emplace_back(Ref(1), message::PutBegun{});
  EXPECT_FALSE(puts.empty());
  ObjectRecord watched;
  watched.watchers.push_back({});
  EXPECT_FALSE(watched.empty());
  ObjectRecord deleted;
  deleted.deleted = true;
  EXPECT_FALSE(deleted.empty());
}

TEST_F(ObjectRecordTest, ASourceIsReadyWhenSealedOrStreamed) {
  record_.generation = PutOf(1);
  EXPECT_TRUE(record_.exists());
  EXPECT_FALSE(record_.ready());
  record_.streams = true;
  EXPECT_TRUE(record_.ready());
  record_.streams = false;
  record_.sealed = true;
  EXPECT_TRUE(record_.ready());
}

TEST_F(ObjectRecordTest, BytesAreRecoverableFromWhoeverWillHaveThemAll) {
  Add(1);
  EXPECT_FALSE(record_.recoverable());
  Add(2).complete = true;
  // All bytes, but their writer may have been about to give up.
  EXPECT_FALSE(record_.recoverable());
  record_.sealed = true;
  EXPECT_TRUE(record_.recoverable());
  record_.copies.erase(NodeId(2));
  Add(3).producer = true;
  EXPECT_TRUE(record_.recoverable());
  record_.copies.clear();
  record_.payload = MakePayload("bytes");
  EXPECT_TRUE(record_.recoverable());
}

TEST_F(ObjectRecordTest, FindsANodeInThatLifeOnly) {
  Add(1);
  EXPECT_NE(record_.Find(Ref(1)), nullptr);
  EXPECT_EQ(record_.Find(Ref(2)), nullptr);
  EXPECT_EQ(record_.Find({NodeId(1), Incarnation(99)}), nullptr);
}

TEST_F(ObjectRecordTest, TakingAServerIsCharged) {
  Add(1).complete = true;
  Add(2);
  Take(2, 1);
  EXPECT_EQ(Serving(1), 1u);
  EXPECT_EQ(loads_[NodeId(1)], 1u);
  EXPECT_EQ(record_.Find(Ref(2))->server, Ref(1));
  EXPECT_EQ(record_.CheckInvariants(), "");
}

TEST_F(ObjectRecordTest, FreeingAServerGivesItsSlotBack) {
  Add(1).complete = true;
  Add(2);
  Take(2, 1);
  record_.FreeServer(*record_.Find(Ref(2)), loads_);
  EXPECT_EQ(Serving(1), 0u);
  EXPECT_TRUE(loads_.empty());
  EXPECT_FALSE(record_.Find(Ref(2))->server);
  record_.FreeServer(*record_.Find(Ref(2)), loads_);
  EXPECT_EQ(Serving(1), 0u) << "twice is once";
}

TEST_F(ObjectRecordTest, LoadsAreSummedOverRecords) {
  ObjectRecord other;
  for (ObjectRecord* record : {&record_, &other}) {
    record->copies[NodeId(1)] = {.node = Ref(1), .complete = true};
    record->copies[NodeId(2)] = {.node = Ref(2)};
    record->TakeServer(*record->Find(Ref(2)), *record->Find(Ref(1)), loads_);
  }
  EXPECT_EQ(loads_[NodeId(1)], 2u);
  other.Reset(loads_);
  EXPECT_EQ(loads_[NodeId(1)], 1u);
}

// Symptom (seeds 6099, 9629, 11589, 20075): a copy served one receiver more
// than its degree. Cause: its node had handed a grant back for want of room and
// had a new one before the receiver of the first had come to it.
TEST_F(ObjectRecordTest, ErasingACopyFreesItsServerAndOrphansItsReceivers) {
  Add(1).complete = true;
  Add(2);
  Add(3);
  Take(2, 1);
  Take(3, 2);
  record_.Erase(Ref(2), loads_);
  EXPECT_EQ(record_.Find(Ref(2)), nullptr);
  EXPECT_EQ(Serving(1), 0u);
  EXPECT_TRUE(loads_.empty());
  EXPECT_EQ(record_.CheckInvariants(), "");

  record_.Add(Ref(2), loads_);
  EXPECT_EQ(Serving(2), 1u) << "the orphan may yet come to it";
  EXPECT_EQ(loads_[NodeId(2)], 1u);
  EXPECT_EQ(record_.CheckInvariants(), "");
  record_.FreeServer(*record_.Find(Ref(3)), loads_);
  EXPECT_EQ(Serving(2), 0u);
  EXPECT_TRUE(loads_.empty());
}

TEST_F(ObjectRecordTest, WhoeverALostNodeServedIsFree) {
  Add(1).complete = true;
  Add(2);
  Take(2, 1);
  record_.Erase(Ref(1), loads_);
  record_.Forget(Ref(1), loads_);
  EXPECT_FALSE(record_.Find(Ref(2))->server);
  EXPECT_EQ(record_.CheckInvariants(), "");
}

TEST_F(ObjectRecordTest, ErasingAnotherLifeChangesNothing) {
  Add(1).complete = true;
  record_.Erase({NodeId(1), Incarnation(99)}, loads_);
  record_.Erase(Ref(7), loads_);
  EXPECT_NE(record_.Find(Ref(1)), nullptr);
}

TEST_F(ObjectRecordTest, RemoveWaitingTakesEveryAskOfTheNode) {
  record_.waiting.push_back({.node = Ref(1), .ask = AskNumber(1)});
  record_.waiting.push_back({.node = Ref(2), .ask = AskNumber(1)});
  record_.waiting.push_back(
      {.node = {NodeId(1), Incarnation(99)}, .ask = AskNumber(3)});
  record_.RemoveWaiting(Ref(1));
  ASSERT_EQ(record_.waiting.size(), 1u);
  EXPECT_EQ(record_.waiting.front().node, Ref(2));
}

TEST_F(ObjectRecordTest, ResetForgetsTheBytesAndKeepsWhoWaits) {
  record_.generation = PutOf(1);
  record_.size = 7;
  record_.sealed = record_.final = record_.streams = true;
  record_.degree = 4;
  record_.payload = MakePayload("bytes");
  Add(1).complete = true;
  Add(2);
  Take(2, 1);
  record_.waiting.push_back({.node = Ref(3)});
  record_.watchers.push_back({testing::Id(1), Ref(4)});
  record_.Reset(loads_);
  EXPECT_FALSE(record_.exists());
  EXPECT_FALSE(record_.sealed || record_.final || record_.streams);
  EXPECT_EQ(record_.payload, nullptr);
  EXPECT_EQ(record_.size, 0u);
  EXPECT_TRUE(record_.copies.empty());
  EXPECT_TRUE(loads_.empty());
  EXPECT_EQ(record_.waiting.size(), 1u);
  EXPECT_EQ(record_.watchers.size(), 1u);
}

TEST_F(ObjectRecordTest, SeesACycle) {
  Add(1);
  Add(2);
  Take(1, 2);
  Take(2, 1);
  EXPECT_THAT(record_.CheckInvariants(), HasSubstr("cycle"));
}

TEST_F(ObjectRecordTest, SeesAWrongCharge) {
  Add(1).complete = true;
  Add(2);
  Take(2, 1);
  record_.Find(Ref(1))->serving = 2;
  EXPECT_THAT(record_.CheckInvariants(), HasSubstr("serves 1 receivers"));
}

TEST_F(ObjectRecordTest, SeesACopyUnderAnotherNodesId) {
  record_.copies[NodeId(1)] = Copy{.node = Ref(2)};
  EXPECT_THAT(record_.CheckInvariants(), HasSubstr("another node's id"));
}

TEST_F(ObjectRecordTest, TakingASecondServerIsAMistake) {
  Add(1).complete = true;
  Add(2).complete = true;
  Add(3);
  Take(3, 1);
  EXPECT_DEATH(Take(3, 2), "server");
}

}  // namespace
}  // namespace hoplite
