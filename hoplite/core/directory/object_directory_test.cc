#include "hoplite/core/directory/object_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hoplite/core/broadcast/transfer_plan.h"
#include "hoplite/core/testing/directory_host.h"

namespace hoplite {
namespace {

using testing::All;
using testing::DirectoryHost;
using ::testing::ElementsAre;
using testing::Id;
using ::testing::IsEmpty;
using testing::OnlySent;
using testing::PutOf;
using testing::Ref;
using testing::Sent;
using ::testing::SizeIs;

const ObjectId kObject = Id(1);
constexpr std::uint64_t kLarge = DirectoryHost::kLarge;

class ObjectDirectoryTest : public ::testing::Test {
 protected:
  ~ObjectDirectoryTest() override { CheckInvariants(); }
  void CheckInvariants() const {
    EXPECT_EQ(host_.directory.CheckInvariants(), "");
  }
  // What PutAnswer says to the node; nullopt where none came.
  std::optional<absl::StatusCode> PutAnswer(std::uint32_t node) const {
    const auto answer = OnlySent<message::PutAnswer>(host_.out, Ref(node));
    if (!answer.has_value()) return std::nullopt;
    return answer->code;
  }
  std::optional<absl::StatusCode> DeleteAnswer(std::uint32_t node) const {
    const auto answer = OnlySent<message::DeleteAnswer>(host_.out, Ref(node));
    if (!answer.has_value()) return std::nullopt;
    return answer->code;
  }
  std::vector<std::uint32_t> Dropping() const {
    std::vector<std::uint32_t> nodes;
    for (const auto& send : All<command::Send>(host_.out)) {
      if (std::holds_alternative<message::Drop>(send.message)) {
        nodes.push_back(send.to.node.value());
      }
    }
    return nodes;
  }

  DirectoryHost host_;
};

// --- Asks and grants. -------------------------------------------------------

TEST_F(ObjectDirectoryTest, AnAskForWhatNobodyHasPutWaits) {
  host_.Ask(2, kObject);
  EXPECT_THAT(host_.out, IsEmpty());
  host_.Put(3, kObject);
  const auto grant = OnlySent<message::Grant>(host_.out, Ref(2));
  ASSERT_TRUE(grant.has_value());
  EXPECT_EQ(grant->at, host_.AtShardOf(kObject));
  EXPECT_EQ(grant->object, kObject);
  EXPECT_EQ(grant->ask, AskNumber(1));
  EXPECT_EQ(grant->generation, PutOf(3));
  EXPECT_EQ(grant->size, kLarge);
  EXPECT_EQ(grant->server, Ref(3));
  EXPECT_TRUE(grant->final);
}

TEST_F(ObjectDirectoryTest, AnAskIsGrantedWhenTheObjectIsThere) {
  host_.Put(3, kObject);
  host_.Ask(2, kObject);
  EXPECT_EQ(host_.ServerOf(2), 3u);
  EXPECT_THAT(host_.out, SizeIs(1));
}

TEST_F(ObjectDirectoryTest, AnUnsealedPutIsGrantedAndNotFinal) {
  host_.PutBegins(3, kObject);
  host_.Ask(2, kObject);
  const auto grant = OnlySent<message::Grant>(host_.out, Ref(2));
  ASSERT_TRUE(grant.has_value());
  EXPECT_FALSE(grant->final) << "its writer may yet end before Seal";
  host_.Seal(3, kObject);
  const auto final = OnlySent<message::Final>(host_.out, Ref(2));
  ASSERT_TRUE(final.has_value());
  EXPECT_EQ(final->generation, PutOf(3));
}

TEST_F(ObjectDirectoryTest, ARepeatedAskHasTheSameAnswer) {
  host_.Put(3, kObject);
  host_.Ask(2, kObject);
  const auto first = Sent<message::Grant>(host_.out);
  host_.Ask(2, kObject);
  EXPECT_EQ(Sent<message::Grant>(host_.out), first);
  host_.Ask(4, kObject);
  EXPECT_EQ(host_.ServerOf(4), 2u) << "the repeat took no second slot";
}

TEST_F(ObjectDirectoryTest, ARepeatedAskWaitsOnce) {
  host_.Ask(2, kObject);
  host_.Ask(2, kObject);
  host_.Put(3, kObject);
  EXPECT_THAT(Sent<message::Grant>(host_.out), SizeIs(1));
}

TEST_F(ObjectDirectoryTest, SimultaneousReceiversFormAChain) {
  for (std::uint32_t node = 2; node <= 12; ++node) host_.Ask(node, kObject);
  host_.Put(99, kObject);
  EXPECT_EQ(host_.ServerOf(2), 99u);
  for (std::uint32_t node = 3; node <= 12; ++node) {
    EXPECT_EQ(host_.ServerOf(node), node - 1);
  }
}

// The chosen server's place in the record moves when the asker's is made.
TEST_F(ObjectDirectoryTest, AServerOfAHigherNumberThanItsReceiverIsCharged) {
  host_.Put(9, kObject);
  for (std::uint32_t node = 8; node >= 2; --node) {
    host_.Ask(node, kObject);
    EXPECT_EQ(host_.ServerOf(node), node + 1);
    CheckInvariants();
  }
}

TEST_F(ObjectDirectoryTest, NoCopyServesMoreThanTheDegreeOfTheSize) {
  host_.directory.SetLink(
      {.latency = absl::Milliseconds(1), .bytes_per_second = 125e6});
  const std::uint64_t size = 20'000;
  const std::uint32_t degree = PlanBroadcast(size, 16,
                                             {.latency = absl::Milliseconds(1),
                                              .bytes_per_second = 125e6})
                                   .degree;
  ASSERT_GT(degree, 1u);
  for (std::uint32_t node = 2; node <= 16; ++node) host_.Ask(node, kObject);
  host_.Put(17, kObject, size);
  std::map<NodeRef, std::uint32_t> served;
  for (const auto& grant : Sent<message::Grant>(host_.out)) {
    ++served[grant.server];
  }
  std::uint32_t most = 0;
  for (const auto& [server, count] : served) most = std::max(most, count);
  EXPECT_EQ(most, degree);
  EXPECT_THAT(Sent<message::Grant>(host_.out), SizeIs(15));
}

TEST_F(ObjectDirectoryTest, LateReceiversGetIdleCompleteCopies) {
  host_.Put(2, kObject);
  host_.Ask(3, kObject);
  host_.Complete(3, kObject, PutOf(2));
  host_.Ask(4, kObject);
  EXPECT_EQ(host_.ServerOf(4), 2u);
  host_.Ask(5, kObject);
  EXPECT_EQ(host_.ServerOf(5), 3u);
  host_.Ask(6, kObject);
  EXPECT_EQ(host_.ServerOf(6), 4u) << "both complete ones are busy";
}

TEST_F(ObjectDirectoryTest, ACompletedReceiverFreesItsServer) {
  host_.Put(2, kObject);
  host_.Ask(3, kObject);
  host_.Ask(4, kObject, 1, /*lost=*/3);
  EXPECT_THAT(host_.out, IsEmpty()) << "3 has failed it, 2 is busy";
  host_.Complete(3, kObject, PutOf(2));
  EXPECT_EQ(host_.ServerOf(4), 2u);
}

TEST_F(ObjectDirectoryTest, ACompleteReportOfOtherBytesIsIgnored) {
  host_.Put(2, kObject);
  host_.Ask(3, kObject);
  host_.Complete(3, kObject, PutOf(9));
  host_.Complete(7, kObject, PutOf(2));
  EXPECT_THAT(host_.out, IsEmpty());
  EXPECT_FALSE(host_.Evict(2, kObject, PutOf(2))) << "3 is not complete";
}

TEST_F(ObjectDirectoryTest, AReceiverThatWithdrawsFreesItsServer) {
  host_.Put(2, kObject);
  host_.Ask(3, kObject);
  host_.Withdraw(3, kObject);
  host_.Ask(4, kObject);
  EXPECT_EQ(host_.ServerOf(4), 2u);
}

TEST_F(ObjectDirectoryTest, AWithdrawOfAnEarlierAskIsIgnored) {
  host_.Put(2, kObject);
  host_.Ask(3, kObject, 5);
  host_.Withdraw(3, kObject, 4);
  host_.Ask(4, kObject);
  EXPECT_EQ(host_.ServerOf(4), 3u);
}

TEST_F(ObjectDirectoryTest, AWithdrawnAskNoLongerWaits) {
  host_.Ask(3, kObject);
  EXPECT_EQ(host_.directory.record_count(), 1u);
  host_.Withdraw(3, kObject);
  EXPECT_EQ(host_.directory.record_count(), 0u);
  host_.Put(2, kObject);
  EXPECT_THAT(Sent<message::Grant>(host_.out), IsEmpty());
}

TEST_F(ObjectDirectoryTest, WhoResumesKeepsItsReceivers) {
  host_.Put(2, kObject);
  host_.Ask(3, kObject);
  host_.Complete(3, kObject, PutOf(2));
  host_.Ask(4, kObject);                     // from 2
  host_.Ask(5, kObject);                     // from 3
  host_.Ask(6, kObject);                     // from 4
  host_.Ask(4, kObject, 2, 2, PutOf(2), 9);  // 2 has failed it
  EXPECT_EQ(host_.ServerOf(4), 5u) << "6 fetches from 4 itself";
  CheckInvariants();
}

TEST_F(ObjectDirectoryTest, WhoHoldsABufferKeepsItsReceiversBeforeAnyByte) {
  host_.Put(2, kObject);
  host_.Ask(3, kObject);
  host_.Ask(4, kObject);  // from 3
  host_.Ask(3, kObject, 2, 0, PutOf(2), 0);
  EXPECT_EQ(host_.ServerOf(3), 2u);
  host_.Ask(5, kObject);
  EXPECT_EQ(host_.ServerOf(5), 4u) << "3 still serves 4";
}

// A node that hands its grant back may have another before those come to it
// that were granted to it: it keeps their pulls, and serves them.
TEST_F(ObjectDirectoryTest, WhoStartsAfreshIsChargedForWhoMayYetComeToIt) {
  host_.Put(2, kObject);
  host_.Ask(3, kObject);
  host_.Ask(4, kObject);  // from 3
  host_.Ask(3, kObject, 2);
  EXPECT_EQ(host_.ServerOf(3), 2u);
  host_.Ask(5, kObject);
  EXPECT_EQ(host_.ServerOf(5), 4u);
  CheckInvariants();
  host_.Ask(4, kObject, 2, /*lost=*/3, PutOf(2), 0);
  host_.Ask(6, kObject);
  EXPECT_EQ(host_.ServerOf(6), 3u) << "4 was refused there";
  CheckInvariants();
}

// Symptom: the putter's complete copy was struck, and everybody waited. Cause:
// a Get on the putter's own node had asked before the Put was accepted.
TEST_F(ObjectDirectoryTest, AnAskOfThePutterItselfStrikesNothing) {
  host_.Put(2, kObject);
  host_.Ask(2, kObject);
  EXPECT_THAT(host_.out, IsEmpty()) << "it has the bytes";
  host_.Ask(3, kObject);
  EXPECT_EQ(host_.ServerOf(3), 2u);
}

TEST_F(ObjectDirectoryTest, AnAskOfThePutterWaitsUntilItsSeal) {
  host_.PutBegins(2, kObject);
  host_.Ask(2, kObject);
  EXPECT_THAT(host_.out, IsEmpty());
  host_.Abort(2, kObject);
  EXPECT_THAT(host_.out, IsEmpty());
  host_.PutBegins(3, kObject);
  EXPECT_EQ(host_.ServerOf(2), 3u) << "of the next Put";
}

TEST_F(ObjectDirectoryTest, AnAskBeforeItsNodesOwnPutEndsWithTheSeal) {
  host_.Ask(2, kObject);
  host_.PutBegins(2, kObject);
  host_.Seal(2, kObject);
  EXPECT_THAT(Sent<message::Grant>(host_.out), IsEmpty());
  host_.Ask(3, kObject);
  host_.Complete(3, kObject, PutOf(2));
  EXPECT_THAT(Sent<message::Grant>(host_.out), IsEmpty())
      << "2 no longer waits";
}

// --- Servers that failed. ---------------------------------------------------

TEST_F(ObjectDirectoryTest, TheServerThatFailedIsAvoidedForAWhile) {
  host_.Put(2, kObject);
  host_.Ask(3, kObject);
  host_.Ask(3, kObject, 2, /*lost=*/2, PutOf(2), 5);
  EXPECT_THAT(host_.out, IsEmpty());
  ASSERT_TRUE(host_.directory.NextTimeout().has_value());
  EXPECT_EQ(*host_.directory.NextTimeout(), host_.now + kLostServerAvoided);
  host_.PassTime(kLostServerAvoided);
  EXPECT_EQ(host_.ServerOf(3), 2u) << "it is better than none";
}

TEST_F(ObjectDirectoryTest, AnotherServerIsTakenAtOnce) {
  host_.Put(2, kObject);
  host_.Ask(4, kObject);
  host_.Complete(4, kObject, PutOf(2));
  host_.Ask(3, kObject, 1, /*lost=*/2);
  EXPECT_EQ(host_.ServerOf(3), 4u);
}

TEST_F(ObjectDirectoryTest, ANewPutOfWhoFailedIsTaken) {
  host_.PutBegins(2, kObject);
  host_.Ask(3, kObject);
  host_.Abort(2, kObject);
  host_.Ask(3, kObject, 2, /*lost=*/2);
  host_.Tell(2,
             message::PutBegun{
                 .object = kObject, .generation = PutOf(2, 2), .size = kLarge});
  EXPECT_EQ(host_.ServerOf(3), 2u);
}

// --- Small objects. ---------------------------------------------------------

TEST_F(ObjectDirectoryTest, ASmallObjectIsTheAnswerItself) {
  host_.PutSmall(2, kObject);
  host_.Ask(3, kObject, 7);
  const auto grant = OnlySent<message::GrantInline>(host_.out, Ref(3));
  ASSERT_TRUE(grant.has_value());
  EXPECT_EQ(grant->ask, AskNumber(7));
  EXPECT_EQ(grant->generation, PutOf(2));
  EXPECT_EQ(*grant->payload, "small");
}

TEST_F(ObjectDirectoryTest, ASmallObjectIsPushedToThoseWhoWait) {
  for (std::uint32_t node = 2; node <= 9; ++node) host_.Ask(node, kObject);
  host_.PutSmall(10, kObject);
  EXPECT_THAT(Sent<message::GrantInline>(host_.out), SizeIs(8));
}

TEST_F(ObjectDirectoryTest, WhoWasAnsweredInlineIsACompleteCopy) {
  host_.PutSmall(2, kObject);
  host_.Ask(3, kObject);
  EXPECT_TRUE(host_.Evict(2, kObject, PutOf(2)));
}

TEST_F(ObjectDirectoryTest, ARepeatedAskIsAnsweredInlineAgain) {
  host_.PutSmall(2, kObject);
  host_.Ask(3, kObject);
  const auto first = Sent<message::GrantInline>(host_.out);
  host_.Ask(3, kObject);
  EXPECT_EQ(Sent<message::GrantInline>(host_.out), first);
}

TEST_F(ObjectDirectoryTest, AnInlineCopyThatIsHandedBackIsStruck) {
  host_.PutSmall(2, kObject);
  host_.Ask(3, kObject, 4);
  host_.Withdraw(3, kObject, 4);
  EXPECT_FALSE(host_.Evict(2, kObject, PutOf(2)));
}

// The record's bytes are in no store: a node may not rely on them alone.
TEST_F(ObjectDirectoryTest, TheRecordsBytesAreNotTheLastCopy) {
  host_.PutSmall(2, kObject);
  EXPECT_FALSE(host_.Evict(2, kObject, PutOf(2)));
}

class PayloadsTest : public ObjectDirectoryTest {
 protected:
  static constexpr std::uint32_t kCount = 300;  // of 64 KiB: above the limit
  void PutMany(bool with_copies) {
    for (std::uint32_t i = 1; i <= kCount; ++i) {
      host_.PutSmall(2, Id(i), std::string(kInlineBytesMax, 'x'));
      if (!with_copies) continue;
      host_.Ask(3, Id(i));
      host_.Complete(3, Id(i), PutOf(2));
    }
  }
  bool IsInline(const ObjectId& object) {
    host_.Ask(4, object, ++ask_);
    const bool is_inline = !Sent<message::GrantInline>(host_.out).empty();
    host_.Withdraw(4, object, ask_);
    return is_inline;
  }
  std::uint64_t ask_ = 0;
};

TEST_F(PayloadsTest, TheOldestBecomeOrdinaryObjects) {
  PutMany(/*with_copies=*/true);
  EXPECT_FALSE(IsInline(Id(1)));
  EXPECT_TRUE(IsInline(Id(kCount)));
  std::uint64_t kept = 0;
  for (std::uint32_t i = 1; i <= kCount; ++i) {
    if (IsInline(Id(i))) kept += kInlineBytesMax;
  }
  EXPECT_EQ(kept, kInlineBytesKept);
}

// Symptom: objects were no longer answered in one round trip, and memory grew.
// Cause: what deleted objects had weighed was never taken off, and their names
// were kept.
TEST_F(PayloadsTest, DeletedObjectsWeighNothing) {
  for (int round = 0; round < 5; ++round) {
    for (std::uint32_t i = 1; i <= 200; ++i) {
      host_.PutSmall(2, Id(i), std::string(kInlineBytesMax, 'x'));
    }
    EXPECT_TRUE(IsInline(Id(1)));
    EXPECT_TRUE(IsInline(Id(200)));
    for (std::uint32_t i = 1; i <= 200; ++i) {
      host_.Delete(2, Id(i));
      host_.Dropped(2, Id(i), PutOf(2));
    }
    host_.PassTime(kTombstoneAge);
    EXPECT_EQ(host_.directory.record_count(), 0u);
  }
}

// --- Puts. ------------------------------------------------------------------

TEST_F(ObjectDirectoryTest, TheFirstPutIsAccepted) {
  host_.PutBegins(2, kObject);
  EXPECT_EQ(PutAnswer(2), absl::StatusCode::kOk);
}

TEST_F(ObjectDirectoryTest, ARepeatedPutIsAcceptedAgain) {
  host_.PutBegins(2, kObject);
  host_.PutBegins(2, kObject);
  EXPECT_EQ(PutAnswer(2), absl::StatusCode::kOk);
  host_.Seal(2, kObject);
  host_.PutBegins(2, kObject);
  EXPECT_EQ(PutAnswer(2), absl::StatusCode::kOk);
}

TEST_F(ObjectDirectoryTest, ASecondPutWaitsForTheSealOfTheFirst) {
  host_.PutBegins(2, kObject);
  host_.PutBegins(3, kObject);
  EXPECT_THAT(host_.out, IsEmpty());
  host_.PutBegins(3, kObject);
  EXPECT_THAT(host_.out, IsEmpty()) << "repeated";
  host_.Seal(2, kObject);
  EXPECT_EQ(PutAnswer(3), absl::StatusCode::kAlreadyExists);
  host_.PutBegins(4, kObject);
  EXPECT_EQ(PutAnswer(4), absl::StatusCode::kAlreadyExists);
}

TEST_F(ObjectDirectoryTest, TheNextPutGoesOnWhereTheFirstIsAborted) {
  host_.PutBegins(2, kObject);
  host_.PutBegins(3, kObject);
  host_.PutBegins(4, kObject);
  host_.Ask(5, kObject);
  EXPECT_EQ(host_.ServerOf(5), 2u);
  host_.Abort(2, kObject);
  EXPECT_EQ(PutAnswer(3), absl::StatusCode::kOk);
  EXPECT_EQ(PutAnswer(4), std::nullopt);
  const auto drop = OnlySent<message::Drop>(host_.out, Ref(5));
  ASSERT_TRUE(drop.has_value());
  EXPECT_EQ(drop->code, absl::StatusCode::kAborted);
  EXPECT_EQ(drop->generation, PutOf(2));
  host_.Ask(5, kObject, 2);
  EXPECT_EQ(host_.ServerOf(5), 3u);
}

TEST_F(ObjectDirectoryTest, APutThatWaitsMayBeAborted) {
  host_.PutBegins(2, kObject);
  host_.PutBegins(3, kObject);
  host_.Abort(3, kObject);
  host_.Abort(2, kObject);
  EXPECT_THAT(Sent<message::PutAnswer>(host_.out), IsEmpty());
  EXPECT_EQ(host_.directory.record_count(), 0u);
}

TEST_F(ObjectDirectoryTest, NothingIsAbortedAfterItsSeal) {
  host_.Put(2, kObject);
  host_.Abort(2, kObject);
  EXPECT_THAT(host_.out, IsEmpty());
  host_.Ask(3, kObject);
  EXPECT_EQ(host_.ServerOf(3), 2u);
}

TEST_F(ObjectDirectoryTest, ASealOfOtherBytesIsIgnored) {
  host_.PutBegins(2, kObject);
  host_.PutBegins(3, kObject);
  host_.Seal(3, kObject);
  EXPECT_THAT(host_.out, IsEmpty());
  host_.Seal(2, Id(77));
  EXPECT_THAT(host_.out, IsEmpty());
  host_.Seal(2, kObject);
  EXPECT_EQ(PutAnswer(3), absl::StatusCode::kAlreadyExists);
  host_.Seal(2, kObject);
  EXPECT_THAT(host_.out, IsEmpty()) << "repeated";
}

TEST_F(ObjectDirectoryTest, AnAbortOfOtherBytesIsIgnored) {
  host_.PutBegins(2, kObject);
  host_.Abort(3, kObject);
  host_.Abort(3, Id(77));
  EXPECT_THAT(host_.out, IsEmpty());
  host_.Ask(4, kObject);
  EXPECT_EQ(host_.ServerOf(4), 2u);
}

// --- Delete. ----------------------------------------------------------------

TEST_F(ObjectDirectoryTest, DeleteReturnsWhenEveryHolderHasDropped) {
  host_.Put(2, kObject);
  host_.Ask(3, kObject);
  host_.Ask(4, kObject);
  host_.Delete(5, kObject, 8);
  EXPECT_THAT(Dropping(), ElementsAre(2, 3, 4));
  EXPECT_EQ(DeleteAnswer(5), std::nullopt);
  host_.Dropped(2, kObject, PutOf(2));
  host_.Dropped(4, kObject, PutOf(2));
  EXPECT_THAT(host_.out, IsEmpty());
  host_.Dropped(3, kObject, PutOf(2));
  EXPECT_EQ(DeleteAnswer(5), absl::StatusCode::kOk);
  EXPECT_EQ(OnlySent<message::DeleteAnswer>(host_.out)->request, RequestId(8));
  host_.Dropped(3, kObject, PutOf(2));
  EXPECT_THAT(host_.out, IsEmpty()) << "repeated";
}

TEST_F(ObjectDirectoryTest, WhatWasDroppedBeforeDoesNotCount) {
  host_.PutBegins(2, kObject);
  host_.Ask(3, kObject);
  host_.Abort(2, kObject);  // 3 drops that one
  host_.Put(4, kObject);
  host_.Ask(3, kObject, 2);
  host_.Delete(5, kObject);
  host_.Dropped(4, kObject, PutOf(4));
  host_.Dropped(3, kObject, PutOf(2));
  EXPECT_THAT(host_.out, IsEmpty());
  host_.Dropped(3, kObject, PutOf(4));
  EXPECT_EQ(DeleteAnswer(5), absl::StatusCode::kOk);
}

TEST_F(ObjectDirectoryTest, DeletingWhatIsNotThereIsNotFound) {
  host_.Delete(2, kObject);
  EXPECT_EQ(DeleteAnswer(2), absl::StatusCode::kNotFound);
  host_.Put(4, kObject);
  host_.Ask(3, kObject);
  EXPECT_EQ(host_.ServerOf(3), 4u) << "it left nothing";
}

TEST_F(ObjectDirectoryTest, ADeletedIdAnswersNotFound) {
  host_.Put(2, kObject);
  host_.Delete(2, kObject);
  host_.Ask(3, kObject);
  const auto refusal = OnlySent<message::Refusal>(host_.out, Ref(3));
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->code, absl::StatusCode::kNotFound);
  host_.Put(4, kObject);
  EXPECT_EQ(PutAnswer(4), absl::StatusCode::kNotFound);
  host_.Dropped(2, kObject, PutOf(2));
  host_.Delete(5, kObject);
  EXPECT_EQ(DeleteAnswer(5), absl::StatusCode::kNotFound);
}

TEST_F(ObjectDirectoryTest, TwoDeletesWaitTogether) {
  host_.Put(2, kObject);
  host_.Delete(3, kObject);
  host_.Delete(4, kObject);
  host_.Delete(4, kObject);
  EXPECT_THAT(host_.out, IsEmpty());
  host_.Dropped(2, kObject, PutOf(2));
  EXPECT_EQ(DeleteAnswer(3), absl::StatusCode::kOk);
  EXPECT_EQ(DeleteAnswer(4), absl::StatusCode::kOk);
}

TEST_F(ObjectDirectoryTest, DeleteEndsGetsAndPutsThatWait) {
  host_.PutBegins(2, kObject);
  host_.PutBegins(3, kObject);
  host_.Ask(4, kObject);
  host_.Ask(5, kObject, 1, /*lost=*/4);
  host_.Ask(6, kObject, 1, /*lost=*/5);
  host_.Delete(7, kObject);
  EXPECT_EQ(PutAnswer(3), absl::StatusCode::kNotFound);
  EXPECT_THAT(Dropping(), ::testing::Contains(2));
  const std::size_t told = Sent<message::Refusal>(host_.out).size() +
                           Sent<message::Drop>(host_.out).size();
  EXPECT_EQ(told, 4u) << "2, 4, 5 and 6 each once";
}

TEST_F(ObjectDirectoryTest, DeleteEndsGetsOfWhatWasNeverPut) {
  host_.Ask(4, kObject);
  host_.Delete(7, kObject);
  EXPECT_EQ(Sent<message::Refusal>(host_.out).size(), 1u);
  host_.PutBegins(2, kObject);
  EXPECT_EQ(PutAnswer(2), absl::StatusCode::kNotFound);
}

TEST_F(ObjectDirectoryTest, AnUnsealedPutCanBeDeleted) {
  host_.PutBegins(2, kObject);
  host_.Delete(3, kObject);
  EXPECT_THAT(Dropping(), ElementsAre(2));
  host_.Seal(2, kObject);
  EXPECT_THAT(host_.out, IsEmpty()) << "too late";
  host_.Abort(2, kObject);
  host_.Dropped(2, kObject, PutOf(2));
  EXPECT_EQ(DeleteAnswer(3), absl::StatusCode::kOk);
}

TEST_F(ObjectDirectoryTest, ATombstoneStandsForItsAge) {
  host_.Put(2, kObject);
  host_.Delete(2, kObject);
  host_.Dropped(2, kObject, PutOf(2));
  EXPECT_EQ(host_.directory.NextTimeout(), host_.now + kTombstoneAge);
  EXPECT_EQ(host_.directory.record_count(), 0u) << "it is no record";
  host_.PassTime(kTombstoneAge - absl::Seconds(1));
  host_.Put(3, kObject);
  EXPECT_EQ(PutAnswer(3), absl::StatusCode::kNotFound);
  host_.PassTime(absl::Seconds(1));
  EXPECT_EQ(host_.directory.NextTimeout(), std::nullopt);
  host_.Put(3, kObject);
  EXPECT_EQ(PutAnswer(3), absl::StatusCode::kOk);
}

TEST_F(ObjectDirectoryTest, TombstonesAreBoundedInNumber) {
  for (std::uint32_t i = 1; i <= kTombstonesMax + 10; ++i) {
    host_.Put(2, Id(i));
    host_.Delete(2, Id(i));
    host_.Dropped(2, Id(i), PutOf(2));
  }
  ASSERT_TRUE(host_.directory.NextTimeout().has_value());
  EXPECT_LE(*host_.directory.NextTimeout(), host_.now);
  host_.PassTime(absl::ZeroDuration());
  host_.Put(3, Id(11));
  EXPECT_EQ(PutAnswer(3), absl::StatusCode::kNotFound);
  host_.Put(3, Id(10));
  EXPECT_EQ(PutAnswer(3), absl::StatusCode::kOk) << "the oldest went first";
}

// --- Eviction. --------------------------------------------------------------

TEST_F(ObjectDirectoryTest, TheLastCopyNeverGoes) {
  host_.Put(2, kObject);
  EXPECT_FALSE(host_.Evict(2, kObject, PutOf(2)));
  host_.Ask(3, kObject);
  EXPECT_FALSE(host_.Evict(2, kObject, PutOf(2))) << "3 has it in part";
  host_.Complete(3, kObject, PutOf(2));
  EXPECT_TRUE(host_.Evict(2, kObject, PutOf(2)));
  EXPECT_FALSE(host_.Evict(3, kObject, PutOf(2))) << "3 is the last one now";
  host_.Ask(4, kObject);
  EXPECT_EQ(host_.ServerOf(4), 3u) << "2 was struck";
}

TEST_F(ObjectDirectoryTest, ACopyThatServesDoesNotGo) {
  host_.Put(2, kObject);
  host_.Ask(3, kObject);
  host_.Complete(3, kObject, PutOf(2));
  host_.Ask(4, kObject);
  EXPECT_EQ(host_.ServerOf(4), 2u);
  EXPECT_FALSE(host_.Evict(2, kObject, PutOf(2)));
  EXPECT_TRUE(host_.Evict(3, kObject, PutOf(2)));
}

TEST_F(ObjectDirectoryTest, WhatTheRecordDoesNotKnowMayGo) {
  EXPECT_TRUE(host_.Evict(2, kObject, PutOf(2)));
  host_.Put(3, kObject);
  EXPECT_TRUE(host_.Evict(2, kObject, PutOf(2))) << "another generation";
  EXPECT_TRUE(host_.Evict(2, kObject, PutOf(3))) << "not a holder";
  EXPECT_FALSE(host_.Evict(3, kObject, PutOf(3)));
}

// Symptom: a reduction failed, as the node no longer held its source. Cause:
// the copy had been evicted between its arrival and its position's assignment.
//
// Symptom: a Reduce waited for room until its deadline, with a copy of a source
// in the way that nobody needed. Cause: no copy of a watched source could go.
TEST_F(ObjectDirectoryTest, TheCopyThatAReductionWasToldOfStays) {
  host_.Put(2, kObject);
  host_.Ask(3, kObject);
  host_.Complete(3, kObject, PutOf(2));
  host_.Tell(7, message::WatchSources{
                    .target = Id(9),
                    .entries = {{host_.AtShardOf(kObject), kObject}}});
  EXPECT_FALSE(host_.Evict(2, kObject, PutOf(2)));
  EXPECT_TRUE(host_.Evict(3, kObject, PutOf(2)));
  host_.Ask(3, kObject, 2);
  host_.Complete(3, kObject, PutOf(2));
  host_.Tell(7, message::UnwatchSources{
                    .target = Id(9),
                    .entries = {{host_.AtShardOf(kObject), kObject}}});
  EXPECT_TRUE(host_.Evict(2, kObject, PutOf(2)));
}

// --- Lost nodes. ------------------------------------------------------------

TEST_F(ObjectDirectoryTest, AnObjectWithoutACopyIsLost) {
  host_.Put(2, kObject);
  host_.Ask(3, kObject);
  host_.Lose(2);
  const auto drop = OnlySent<message::Drop>(host_.out, Ref(3));
  ASSERT_TRUE(drop.has_value());
  EXPECT_EQ(drop->code, absl::StatusCode::kDataLoss);
}

TEST_F(ObjectDirectoryTest, AnUnsealedObjectOfALostWriterNeverWas) {
  host_.PutBegins(2, kObject);
  host_.PutBegins(4, kObject);
  host_.Ask(3, kObject);
  host_.Lose(2);
  EXPECT_EQ(OnlySent<message::Drop>(host_.out, Ref(3))->code,
            absl::StatusCode::kAborted);
  EXPECT_EQ(PutAnswer(4), absl::StatusCode::kOk);
}

TEST_F(ObjectDirectoryTest, AnotherCopyServesOn) {
  host_.Put(2, kObject);
  host_.Ask(3, kObject);
  host_.Complete(3, kObject, PutOf(2));
  host_.Ask(4, kObject);  // from 2
  host_.Lose(2);
  EXPECT_THAT(Dropping(), IsEmpty());
  host_.Ask(4, kObject, 2, /*lost=*/2, PutOf(2), 5);
  EXPECT_EQ(host_.ServerOf(4), 3u);
}

TEST_F(ObjectDirectoryTest, ALostNodeNoLongerWaits) {
  host_.Ask(3, kObject);
  host_.PutBegins(2, Id(2));
  host_.PutBegins(3, Id(2));
  host_.Lose(3);
  EXPECT_EQ(host_.directory.record_count(), 1u);
  host_.Seal(2, Id(2));
  EXPECT_THAT(host_.out, IsEmpty());
}

TEST_F(ObjectDirectoryTest, ALostHolderNeedNotDrop) {
  host_.Put(2, kObject);
  host_.Delete(3, kObject);
  host_.Lose(2);
  EXPECT_EQ(DeleteAnswer(3), absl::StatusCode::kOk);
}

TEST_F(ObjectDirectoryTest, ALostNodesDeleteIsNotAnswered) {
  host_.Put(2, kObject);
  host_.Delete(3, kObject);
  host_.Lose(3);
  host_.Dropped(2, kObject, PutOf(2));
  EXPECT_THAT(host_.out, IsEmpty());
}

TEST_F(ObjectDirectoryTest, TheRecordsBytesOutliveTheirPutter) {
  host_.PutSmall(2, kObject);
  host_.Lose(2);
  const auto push =
      OnlySent<message::GrantInline>(host_.out, Ref(DirectoryHost::kSelf));
  ASSERT_TRUE(push.has_value()) << "the host's own store keeps them now";
  EXPECT_FALSE(push->ask);
  host_.Ask(3, kObject);
  EXPECT_TRUE(OnlySent<message::GrantInline>(host_.out).has_value());
}

TEST_F(ObjectDirectoryTest, AnotherLifeOfANodeIsNotLost) {
  host_.Put(2, kObject);
  host_.out.clear();
  host_.directory.OnNodeLost(host_.now, {NodeId(2), Incarnation(99)},
                             host_.out);
  EXPECT_THAT(host_.out, IsEmpty());
  host_.Ask(3, kObject);
  EXPECT_EQ(host_.ServerOf(3), 2u);
}

// --- Shards. ----------------------------------------------------------------

TEST_F(ObjectDirectoryTest, OnlyAnEmptyShardCloses) {
  const ShardId shard = kObject.shard();
  host_.Ask(3, kObject);
  EXPECT_FALSE(host_.directory.CloseIfEmpty(shard));
  EXPECT_EQ(host_.directory.HostedEpoch(shard), Epoch(1));
  host_.Withdraw(3, kObject);
  EXPECT_TRUE(host_.directory.CloseIfEmpty(shard));
  EXPECT_EQ(host_.directory.HostedEpoch(shard), std::nullopt);
  EXPECT_TRUE(host_.directory.CloseIfEmpty(shard)) << "closed before";
}

TEST_F(ObjectDirectoryTest, AShardWithATombstoneIsNotEmpty) {
  host_.Put(2, kObject);
  host_.Delete(2, kObject);
  host_.Dropped(2, kObject, PutOf(2));
  EXPECT_FALSE(host_.directory.CloseIfEmpty(kObject.shard()));
  host_.PassTime(kTombstoneAge);
  EXPECT_TRUE(host_.directory.CloseIfEmpty(kObject.shard()));
}

TEST_F(ObjectDirectoryTest, ARecordGoesWithItsLastTrace) {
  for (std::uint32_t i = 1; i <= 100; ++i) {
    host_.Ask(3, Id(i));
    host_.PutBegins(2, Id(i));
    host_.Abort(2, Id(i));
    host_.Withdraw(3, Id(i));
  }
  EXPECT_EQ(host_.directory.record_count(), 0u);
}

// --- The plain schedule. ----------------------------------------------------

TEST(PlainScheduleTest, EverybodyPullsFromCompleteCopiesDrawnAtRandom) {
  DirectoryHost host(Schedule::kPlain);
  host.Put(2, kObject);
  for (std::uint32_t node = 3; node <= 10; ++node) {
    host.Ask(node, kObject);
    EXPECT_EQ(host.ServerOf(node), 2u) << "the only complete one";
  }
  for (std::uint32_t node = 3; node <= 10; ++node) {
    host.Complete(node, kObject, PutOf(2));
  }
  std::set<std::uint32_t> servers;
  for (std::uint32_t node = 11; node <= 60; ++node) {
    host.Ask(node, kObject);
    servers.insert(host.ServerOf(node));
  }
  EXPECT_GT(servers.size(), 4u);
  EXPECT_LE(*servers.rbegin(), 10u) << "never a partial copy";
  EXPECT_EQ(host.directory.CheckInvariants(), "");
}

TEST(PlainScheduleTest, AnObjectThatIsNotCompleteIsWaitedFor) {
  DirectoryHost host(Schedule::kPlain);
  host.PutBegins(2, kObject);
  host.Ask(3, kObject);
  EXPECT_THAT(host.out, IsEmpty());
  host.Seal(2, kObject);
  EXPECT_EQ(host.ServerOf(3), 2u);
}

// --- Everything at once. ----------------------------------------------------

// Whatever nodes say, in whatever order: the invariants hold.
TEST_F(ObjectDirectoryTest, KeepsItsInvariantsUnderRandomMessages) {
  const std::uint64_t seed = 47;
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  Random random(seed);
  std::uint64_t ask = 0;
  for (int step = 0; step < 4'000; ++step) {
    const auto node = static_cast<std::uint32_t>(2 + random.Below(9));
    const ObjectId object = Id(static_cast<std::uint32_t>(random.Below(5)));
    const auto other = static_cast<std::uint32_t>(2 + random.Below(9));
    switch (random.Below(14)) {
      case 0:
        host_.PutBegins(node, object, kLarge, random.Chance(1, 2));
        break;
      case 1:
        host_.PutSmall(node, object);
        break;
      case 2:
        host_.Seal(node, object);
        break;
      case 3:
        host_.Abort(node, object);
        break;
      case 4:
        host_.Delete(node, object, ++ask);
        break;
      case 5:
        host_.Dropped(node, object, PutOf(other));
        break;
      case 6:
        host_.Lose(node);
        break;
      case 7:
        host_.Evict(node, object, PutOf(other));
        break;
      case 8:
        host_.PassTime(absl::Minutes(3));
        break;
      case 9:
        host_.Complete(node, object, PutOf(other));
        break;
      case 10:
        host_.Withdraw(node, object, ask - random.Below(4));
        break;
      default:
        host_.Ask(node, object, ++ask, random.Chance(1, 4) ? other : 0,
                  random.Chance(1, 3) ? PutOf(other) : Generation(),
                  random.Below(3));
    }
    ASSERT_EQ(host_.directory.CheckInvariants(), "") << "step " << step;
  }
}

}  // namespace
}  // namespace hoplite
