#include "ray_integration/worker/object_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "hoplite/base/id.h"
#include "hoplite/base/testing/status_matchers.h"
#include "ray_integration/wire/message.h"
#include "ray_integration/wire/values.h"
#include "ray_integration/worker/testing/fake_surroundings.h"

namespace hoplite::task {
namespace {

using message::ObjectPhase;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ObjectTableTest : public ::testing::Test {
 protected:
  ObjectId New() {
    const ObjectId id = table_.NewId();
    table_.Own(id);
    table_.AddHandle(id);
    return id;
  }
  // Of another process.
  ObjectId Borrowed(std::uint64_t counter) {
    const ObjectId id = TestObject(other_, counter);
    table_.Know(InfoOf(other_, id), /*actor=*/false);
    table_.AddHandle(id);
    return id;
  }
  static ValuePtr Small(std::string bytes,
                        std::vector<ReferenceInfo> references = {}) {
    auto value = std::make_shared<ValueInfo>();
    value->size = bytes.size();
    value->bytes = std::move(bytes);
    value->references = std::move(references);
    return value;
  }
  static ValuePtr Large() {
    auto value = std::make_shared<ValueInfo>();
    value->in_store = true;
    value->size = 1 << 20;
    return value;
  }
  bool Exists(const ObjectId& id) { return table_.Find(id) != nullptr; }

  const Endpoint other_ = TestProcessAt(2);
  const Endpoint third_ = TestProcessAt(3, /*node=*/2);
  FakeSurroundings around_;
  ObjectTable table_{around_};
};

TEST_F(ObjectTableTest, IdsAreThisProcesssAndNeverTheSame) {
  const ObjectId first = table_.NewId();
  EXPECT_NE(first, table_.NewId());
  EXPECT_EQ(OwnerOf(first), around_.self().process);
}

TEST_F(ObjectTableTest, AnObjectGoesWithItsLastHandle) {
  const ObjectId id = New();
  table_.AddHandle(id);
  table_.DropHandle(id);
  EXPECT_TRUE(Exists(id));
  table_.DropHandle(id);
  EXPECT_FALSE(Exists(id));
  table_.DropHandle(id);  // harmless
}

TEST_F(ObjectTableTest, EachKindOfHolderKeepsIt) {
  const ObjectId id = New();
  table_.Hold(id);
  table_.OnBorrow(other_, id);
  EXPECT_EQ(around_.Take<message::Borrowed>()[0].second.id, id);
  table_.DropHandle(id);
  EXPECT_TRUE(Exists(id));
  table_.LetGo(id);
  EXPECT_TRUE(Exists(id));
  table_.OnRelease(third_.process, id);  // who does not borrow it
  EXPECT_TRUE(Exists(id));
  table_.OnRelease(other_.process, id);
  EXPECT_FALSE(Exists(id));
}

TEST_F(ObjectTableTest, WhatIsInTheStoreIsDeletedThereAndOnlyThat) {
  const ObjectId large = New();
  const ObjectId small = New();
  const ObjectId pending = New();
  table_.SetReady(large, Large());
  table_.SetReady(small, Small("abc"));
  EXPECT_EQ(table_.small_bytes(), 3u);
  for (const ObjectId& id : {pending, small, large}) table_.DropHandle(id);
  EXPECT_THAT(around_.TakeDeleted(), ElementsAre(large));
  EXPECT_EQ(table_.small_bytes(), 0u);
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(ObjectTableTest, AValueHoldsWhatIsInIt) {
  const ObjectId inner = New();
  const ObjectId outer = New();
  table_.SetReady(outer, Small("", {table_.InfoOf(inner)}));
  table_.DropHandle(inner);
  EXPECT_TRUE(Exists(inner));
  EXPECT_TRUE(table_.IsHeld(inner, 0));
  EXPECT_FALSE(table_.IsHeld(inner, 1));
  table_.DropHandle(outer);
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(ObjectTableTest, AValueThatHoldsOneTwiceLetsItGoTwice) {
  const ObjectId inner = New();
  const ObjectId outer = New();
  const ReferenceInfo info = table_.InfoOf(inner);
  table_.SetReady(outer, Small("", {info, info}));
  table_.DropHandle(inner);
  table_.DropHandle(outer);
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(ObjectTableTest, AChainOf100000ValuesIsFreed) {
  ObjectId last = New();
  table_.SetReady(last, Small("x"));
  for (int i = 1; i < 100'000; ++i) {
    const ObjectId next = New();
    table_.SetReady(next, Small("x", {table_.InfoOf(last)}));
    table_.DropHandle(last);
    last = next;
  }
  EXPECT_EQ(table_.size(), 100'000u);
  table_.DropHandle(last);
  EXPECT_EQ(table_.size(), 0u);
  EXPECT_EQ(table_.small_bytes(), 0u);
}

// As tasks do it whose argument fails.
TEST_F(ObjectTableTest, AChainOf100000FailuresEnds) {
  std::vector<ObjectId> chain;
  for (int i = 0; i < 100'000; ++i) chain.push_back(New());
  for (std::size_t i = 1; i < chain.size(); ++i) {
    table_.WhenSettled(chain[i - 1], [this, next = chain[i]] {
      table_.SetFailed(next, absl::AbortedError("of another"));
    });
  }
  table_.SetFailed(chain.front(), absl::AbortedError("the first"));
  EXPECT_EQ(table_.Find(chain.back())->phase, ObjectPhase::kFailed);
}

TEST_F(ObjectTableTest, FreeingOneInsideAnotherFreesItFromTheOutside) {
  const ObjectId inner = New();
  const ObjectId outer = New();
  table_.SetReady(inner, Large());
  auto value = std::make_shared<ValueInfo>(*Large());
  value->references = {table_.InfoOf(inner)};
  table_.SetReady(outer, value);
  table_.DropHandle(inner);
  table_.DropHandle(outer);
  EXPECT_THAT(around_.TakeDeleted(), ElementsAre(outer, inner));
}

TEST_F(ObjectTableTest, WhoeverLooksAtItWhenItIsFreedDoesNoHarm) {
  const ObjectId id = New();
  table_.Hold(id);
  bool called = false;
  table_.WhenSettled(id, [&] {
    called = true;
    table_.LetGo(id);
  });
  table_.DropHandle(id);
  table_.SetReady(id, Small("x"));
  EXPECT_TRUE(called);
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(ObjectTableTest, ASecondResultChangesNothing) {
  const ObjectId id = New();
  table_.SetReady(id, Small("first"));
  table_.SetReady(id, Small("second"));
  table_.SetFailed(id, absl::AbortedError(""));
  EXPECT_EQ(table_.Find(id)->value->bytes, "first");
  EXPECT_EQ(table_.Find(id)->phase, ObjectPhase::kReady);
  EXPECT_THAT(around_.TakeDeleted(), IsEmpty());
  EXPECT_EQ(table_.small_bytes(), 5u);
}

TEST_F(ObjectTableTest, AFailureDeletesWhatMayBeInTheStore) {
  const ObjectId id = New();
  table_.SetFailed(id, absl::AbortedError("why"));
  EXPECT_THAT(around_.TakeDeleted(), ElementsAre(id));
}

TEST_F(ObjectTableTest, WhatIsReadyIsInTheOrderInWhichItBecameSo) {
  const ObjectId first = New();
  const ObjectId second = New();
  table_.SetReady(second, Small(""));
  table_.SetFailed(first, absl::AbortedError(""));
  EXPECT_LT(table_.Find(second)->order, table_.Find(first)->order);
}

// --- Borrowers. ---

TEST_F(ObjectTableTest, ABorrowerTellsTheOwnerOnceAndReleasesOnce) {
  const ObjectId id = Borrowed(1);
  int known = 0;
  table_.RegisterBorrow(id, [&] { ++known; });
  table_.RegisterBorrow(id, [&] { ++known; });
  const auto borrows = around_.Take<message::Borrow>();
  ASSERT_THAT(borrows, SizeIs(1));
  EXPECT_EQ(borrows[0].first.process, other_.process);
  EXPECT_EQ(borrows[0].first.address, other_.address);
  EXPECT_EQ(known, 0);
  table_.OnBorrowed(id);
  EXPECT_EQ(known, 2);
  table_.RegisterBorrow(id, [&] { ++known; });
  EXPECT_EQ(known, 3);
  EXPECT_THAT(around_.Take<message::Release>(), IsEmpty());
  table_.DropHandle(id);
  EXPECT_EQ(around_.Take<message::Release>()[0].second.id, id);
  EXPECT_EQ(around_.AllTaken(), "");
}

TEST_F(ObjectTableTest, WhoeverHasNotBorrowedReleasesNothing) {
  const ObjectId id = Borrowed(1);
  table_.DropHandle(id);
  EXPECT_FALSE(Exists(id));
  EXPECT_EQ(around_.AllTaken(), "");
}

// An answer waits for this; it must not wait for ever.
TEST_F(ObjectTableTest, ABorrowThatIsReleasedBeforeItIsKnownIsDone) {
  const ObjectId id = Borrowed(1);
  bool known = false;
  table_.RegisterBorrow(id, [&] { known = true; });
  table_.DropHandle(id);
  EXPECT_TRUE(known);
  EXPECT_THAT(around_.Take<message::Borrow>(), SizeIs(1));
  EXPECT_THAT(around_.Take<message::Release>(), SizeIs(1));
  table_.OnBorrowed(id);  // harmless
}

TEST_F(ObjectTableTest, WhatIsBorrowedAgainIsSaidAgain) {
  const ObjectId id = Borrowed(1);
  table_.RegisterBorrow(id, [] {});
  table_.DropHandle(id);
  Borrowed(1);
  table_.RegisterBorrow(id, [] {});
  EXPECT_THAT(around_.Take<message::Borrow>(), SizeIs(2));
}

TEST_F(ObjectTableTest, ABrokenLinkAsksAgain) {
  const ObjectId id = Borrowed(1);
  table_.RegisterBorrow(id, [] {});
  bool settled = false;
  table_.WhenSettled(id, [&] { settled = true; });
  around_.Take<message::Borrow>();
  around_.Take<message::Subscribe>();
  table_.OnLinkClosed(third_.process);
  EXPECT_EQ(around_.AllTaken(), "");
  table_.OnLinkClosed(other_.process);
  EXPECT_THAT(around_.Take<message::Borrow>(), SizeIs(1));
  EXPECT_THAT(around_.Take<message::Subscribe>(), SizeIs(1));
}

TEST_F(ObjectTableTest, AReferenceToWhatThisProcessFreedHasFailed) {
  const ObjectId id = table_.NewId();
  table_.Know({.id = id}, false);
  table_.AddHandle(id);
  EXPECT_THAT(table_.Find(id)->error, StatusIs(absl::StatusCode::kNotFound));
  table_.DropHandle(id);
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(ObjectTableTest, AnActorThatNobodyRefersToIsTold) {
  const ObjectId own = New();
  table_.Find(own)->actor = true;
  const ObjectId borrowed = Borrowed(1);
  table_.Find(borrowed)->actor = true;
  table_.DropHandle(own);
  table_.DropHandle(borrowed);
  EXPECT_THAT(around_.TakeUnreferenced(), ElementsAre(own, borrowed));
}

// --- Subscriptions. ---

TEST_F(ObjectTableTest, ASubscriberIsToldAtOnceOrWhenItIsReady) {
  const ObjectId ready = New();
  const ObjectId pending = New();
  table_.SetReady(ready, Small("a"));
  table_.OnSubscribe(other_, ready);
  table_.OnSubscribe(other_, pending);
  auto states = around_.Take<message::ObjectState>();
  ASSERT_THAT(states, SizeIs(1));
  EXPECT_EQ(states[0].second.id, ready);
  EXPECT_EQ(states[0].second.value.bytes, "a");
  table_.SetFailed(pending, absl::AbortedError("why"));
  states = around_.Take<message::ObjectState>();
  ASSERT_THAT(states, SizeIs(1));
  EXPECT_EQ(states[0].second.phase, ObjectPhase::kFailed);
  EXPECT_EQ(ToStatus(states[0].second.error), absl::AbortedError("why"));
}

TEST_F(ObjectTableTest, ASubscriberOfWhatIsFreedHearsThat) {
  const ObjectId id = table_.NewId();
  table_.OnSubscribe(other_, id);
  const auto states = around_.Take<message::ObjectState>();
  ASSERT_THAT(states, SizeIs(1));
  EXPECT_THAT(ToStatus(states[0].second.error),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("freed")));
}

TEST_F(ObjectTableTest, OneQuestionToTheOwnerServesAllWhoWait) {
  const ObjectId id = Borrowed(1);
  int settled = 0;
  table_.WhenSettled(id, [&] { ++settled; });
  table_.WhenSettled(id, [&] { ++settled; });
  EXPECT_THAT(around_.Take<message::Subscribe>(), SizeIs(1));
  message::ObjectState state{.id = id, .phase = ObjectPhase::kReady};
  state.value = *Small("v");
  table_.OnState(state);
  EXPECT_EQ(settled, 2);
  EXPECT_EQ(table_.Find(id)->value->bytes, "v");
  EXPECT_GT(around_.changes(), 0);
}

TEST_F(ObjectTableTest, WhatIsKnownIsNotLearnedAgain) {
  const ObjectId first = Borrowed(1);
  const ObjectId second = Borrowed(2);
  table_.WhenSettled(first, [] {});
  table_.Learn(first, *Small("told"));
  table_.Learn(second, *Small(""));
  // What the owner says comes late, and tells nothing new.
  message::ObjectState state{.id = first, .phase = ObjectPhase::kReady};
  state.value = *Small("told");
  table_.OnState(state);
  EXPECT_LT(table_.Find(first)->order, table_.Find(second)->order);
}

TEST_F(ObjectTableTest, OnlyTheOwnerKnowsBetterThanTheOwner) {
  const ObjectId id = New();
  message::ObjectState state{.id = id, .phase = ObjectPhase::kFailed};
  state.error = ToInfo(absl::AbortedError("a lie"));
  table_.OnState(state);
  table_.Learn(id, *Small("a lie"));
  EXPECT_EQ(table_.Find(id)->phase, ObjectPhase::kPending);
}

// --- Ends. ---

TEST_F(ObjectTableTest, WhatAnEndedProcessOwnedIsGone) {
  const ObjectId id = Borrowed(1);
  bool known = false;
  bool settled = false;
  table_.RegisterBorrow(id, [&] { known = true; });
  table_.WhenSettled(id, [&] { settled = true; });
  table_.OnProcessEnded(third_.process, "other");
  EXPECT_FALSE(known || settled);
  table_.OnProcessEnded(other_.process, "killed by signal 9");
  EXPECT_TRUE(known);
  EXPECT_TRUE(settled);
  EXPECT_THAT(
      table_.Find(id)->error,
      StatusIs(absl::StatusCode::kDataLoss,
               AllOf(HasSubstr("worker 2"), HasSubstr("killed by signal 9"))));
}

TEST_F(ObjectTableTest, AReferenceThatComesAfterItsOwnersEndIsGoneToo) {
  table_.OnProcessEnded(other_.process, "killed by signal 9");
  const ObjectId id = Borrowed(1);
  bool known = false;
  bool settled = false;
  table_.RegisterBorrow(id, [&] { known = true; });
  table_.WhenSettled(id, [&] { settled = true; });
  EXPECT_TRUE(known);
  EXPECT_TRUE(settled);
  EXPECT_THAT(table_.Find(id)->error, StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(ObjectTableTest, ANodesEndStrikesAllOfItsBorrowers) {
  const ObjectId id = New();
  table_.OnBorrow(TestProcessAt(3, 2), id);
  table_.OnBorrow(TestProcessAt(4, 2), id);
  table_.DropHandle(id);
  table_.OnProcessEnded({.node = TestNodeInfo(3).node}, "another");
  EXPECT_TRUE(Exists(id));
  table_.OnProcessEnded({.node = TestNodeInfo(2).node}, "its node died");
  EXPECT_FALSE(Exists(id));
}

TEST_F(ObjectTableTest, ABorrowerThatHasEndedBorrowsNothingAnyMore) {
  const ObjectId id = New();
  table_.OnProcessEnded(other_.process, "killed");
  table_.AddBorrower(id, other_.process);  // what was under way
  table_.DropHandle(id);
  EXPECT_FALSE(Exists(id));
}

// --- The store. ---

TEST_F(ObjectTableTest, ASmallValueIsPutWhereAReductionNamesIt) {
  const ObjectId ready = New();
  const ObjectId pending = New();
  table_.SetReady(ready, Small("a"));
  table_.WantInStore(ready);
  table_.WantInStore(ready);
  table_.WantInStore(pending);
  table_.SetReady(pending, Small("b"));
  const auto put = around_.TakePut();
  ASSERT_THAT(put, SizeIs(2));
  EXPECT_EQ(put[0].first, ready);
  EXPECT_EQ(put[1].first, pending);
  // It stays until it has been put, and is deleted then.
  table_.DropHandle(ready);
  EXPECT_TRUE(Exists(ready));
  table_.Stored(ready, absl::OkStatus());
  EXPECT_FALSE(Exists(ready));
  EXPECT_THAT(around_.TakeDeleted(), ElementsAre(ready));
  table_.Stored(pending, absl::AlreadyExistsError(""));
  table_.WantInStore(pending);
  EXPECT_THAT(around_.TakePut(), IsEmpty());
}

TEST_F(ObjectTableTest, WhatCouldNotBePutIsTriedAgainWhenItIsWanted) {
  const ObjectId id = New();
  table_.SetReady(id, Small("a"));
  table_.WantInStore(id);
  table_.Stored(id, absl::ResourceExhaustedError("full"));
  table_.WantInStore(id);
  EXPECT_THAT(around_.TakePut(), SizeIs(2));
}

TEST_F(ObjectTableTest, ALargeOrAFailedOneIsNotPut) {
  const ObjectId large = New();
  const ObjectId failed = New();
  table_.SetReady(large, Large());
  table_.WantInStore(large);
  table_.SetFailed(failed, absl::AbortedError(""));
  around_.TakeDeleted();
  table_.WantInStore(failed);
  EXPECT_THAT(around_.TakePut(), IsEmpty());
  EXPECT_THAT(around_.TakeDeleted(), ElementsAre(failed));
}

TEST_F(ObjectTableTest, ItsOwnerPutsWhatIsBorrowed) {
  const ObjectId id = Borrowed(1);
  table_.WantInStore(id);
  EXPECT_EQ(around_.Take<message::Store>()[0].first.process, other_.process);
  EXPECT_THAT(around_.TakePut(), IsEmpty());
}

TEST_F(ObjectTableTest, WhatIsReopenedIsPendingAndLetsGoOfItsContents) {
  const ObjectId inner = New();
  const ObjectId outer = New();
  table_.SetReady(outer, Small("abc", {table_.InfoOf(inner)}));
  table_.DropHandle(inner);
  table_.Reopen(outer);
  EXPECT_FALSE(Exists(inner));
  EXPECT_EQ(table_.Find(outer)->phase, ObjectPhase::kPending);
  EXPECT_EQ(table_.small_bytes(), 0u);
  // Whoever asks now waits, and is told.
  table_.OnSubscribe(other_, outer);
  EXPECT_THAT(around_.Take<message::ObjectState>(), IsEmpty());
  table_.SetReady(outer, Small("again"));
  EXPECT_THAT(around_.Take<message::ObjectState>(), SizeIs(1));
  table_.DropHandle(outer);
  EXPECT_EQ(table_.size(), 0u);
  EXPECT_EQ(table_.small_bytes(), 0u);
}

TEST_F(ObjectTableTest, WhateverThisProcessOwnsKeepsItAlive) {
  Borrowed(1);
  EXPECT_FALSE(table_.OwnsReferenced());
  const ObjectId id = New();
  EXPECT_TRUE(table_.OwnsReferenced());
  table_.DropHandle(id);
  EXPECT_FALSE(table_.OwnsReferenced());
}

}  // namespace
}  // namespace hoplite::task
