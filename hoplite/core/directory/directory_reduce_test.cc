// Reductions as the directory sees them: targets' records, news of sources.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hoplite/core/directory/object_directory.h"
#include "hoplite/core/testing/directory_host.h"

namespace hoplite {
namespace {

using testing::All;
using testing::DirectoryHost;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Id;
using ::testing::IsEmpty;
using testing::Only;
using testing::OnlySent;
using testing::PutOf;
using testing::Ref;
using testing::Sent;
using ::testing::SizeIs;

using message::SourceState;

constexpr std::uint64_t kLarge = DirectoryHost::kLarge;
constexpr std::uint32_t kSelf = DirectoryHost::kSelf;
const ObjectId kTarget = Id(100);

// Sources are Id(1), Id(2), …; the caller is node 50. All shards are on node 1,
// so that the coordinator hears its own news.
class DirectoryReduceTest : public ::testing::Test {
 protected:
  ~DirectoryReduceTest() override {
    EXPECT_EQ(host_.directory.CheckInvariants(), "");
  }
  message::ReduceAsk AskOf(std::vector<ObjectId> sources, std::uint32_t count,
                           const ObjectId& target = kTarget) const {
    return {.target = target,
            .request = RequestId(9),
            .sources = std::move(sources),
            .count = count};
  }
  void Reduce(const message::ReduceAsk& ask, std::uint32_t caller = 50) {
    host_.Tell(caller, ask);
    host_.Settle();
    Remember();
  }
  // A reduction of the first `count` objects.
  void ReduceAll(std::uint32_t count) {
    std::vector<ObjectId> sources;
    for (std::uint32_t i = 1; i <= count; ++i) sources.push_back(Id(i));
    Reduce(AskOf(std::move(sources), count));
  }
  void Put(std::uint32_t node, const ObjectId& object,
           std::uint64_t size = kLarge) {
    host_.Put(node, object, size);
    host_.Settle();
    Remember();
  }
  void PutSmall(std::uint32_t node, const ObjectId& object) {
    host_.PutSmall(node, object, "four");
    host_.Settle();
    Remember();
  }
  void Folded(const std::string& bytes = "sum!",
              const ObjectId& target = kTarget) {
    host_.out.clear();
    host_.directory.OnFolded(host_.now,
                             {.target = target,
                              .generation = fold_generation_,
                              .payload = MakePayload(bytes)},
                             host_.out);
    host_.Settle();
    Remember();
  }
  void RootCompletes(const ObjectId& target = kTarget) {
    host_.Complete(root_.node.value(), target, root_generation_);
    host_.Settle();
  }
  std::optional<message::ReduceAnswer> Answer() const {
    return OnlySent<message::ReduceAnswer>(host_.out, Ref(50));
  }
  void Remember() {
    for (const auto& send : All<command::Send>(host_.out)) {
      const auto* assignment = std::get_if<message::Assignment>(&send.message);
      if (assignment == nullptr || !assignment->root) continue;
      root_ = send.to;
      root_generation_ = assignment->output;
    }
    for (const auto& fold : All<command::FoldPayloads>(host_.out)) {
      fold_generation_ = fold.generation;
    }
  }

  DirectoryHost host_;
  NodeRef root_;
  Generation root_generation_;
  Generation fold_generation_;
};

// --- Requests. --------------------------------------------------------------

TEST_F(DirectoryReduceTest, AReductionWatchesItsSources) {
  host_.Tell(50, AskOf({Id(1), Id(2)}, 2));
  const auto watch = OnlySent<message::WatchSources>(host_.out, Ref(kSelf));
  ASSERT_TRUE(watch.has_value());
  EXPECT_EQ(watch->target, kTarget);
  EXPECT_THAT(watch->entries, SizeIs(2));
  EXPECT_EQ(host_.directory.reductions_under_way(), 1u);
}

TEST_F(DirectoryReduceTest, WhatCannotBeReducedIsRefusedAtOnce) {
  const std::vector<ObjectId> two = {Id(1), Id(2)};
  message::ReduceAsk bits = AskOf(two, 2);
  bits.op = ReduceOp::kBitXor;
  struct Case {
    const char* name;
    message::ReduceAsk ask;
    const char* reason;
  };
  const Case cases[] = {
      {"none", AskOf(two, 0), "count is 0"},
      {"too many", AskOf(two, 3), "count is 3, of 2 sources"},
      {"no sources", AskOf({}, 0), "count is 0"},
      {"twice", AskOf({Id(1), Id(1)}, 2), "named twice"},
      {"itself", AskOf({Id(1), kTarget}, 2), "target is one of its sources"},
      {"bits of floats", bits, "bxor is not defined for f32"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Reduce(c.ask);
    ASSERT_TRUE(Answer().has_value());
    EXPECT_EQ(Answer()->code, absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Answer()->reason, HasSubstr(c.reason));
    EXPECT_THAT(host_.out, SizeIs(1));
  }
  EXPECT_EQ(host_.directory.reductions_under_way(), 0u);
  EXPECT_EQ(host_.directory.record_count(), 0u);
}

TEST_F(DirectoryReduceTest, ACircleOfTwoIsRefused) {
  Reduce(AskOf({Id(1), Id(2)}, 2, Id(3)));
  Reduce(AskOf({Id(3), Id(4)}, 2, Id(1)));
  ASSERT_TRUE(Answer().has_value());
  EXPECT_EQ(Answer()->code, absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Answer()->reason, HasSubstr("itself reduced from the target"));
}

TEST_F(DirectoryReduceTest, TheSameRequestJoins) {
  ReduceAll(2);
  message::ReduceAsk again = AskOf({Id(2), Id(1)}, 2);
  again.request = RequestId(4);
  Reduce(again, 51);
  EXPECT_THAT(host_.out, IsEmpty());
  Put(2, Id(1));
  Put(3, Id(2));
  RootCompletes();
  EXPECT_TRUE(Answer().has_value());
  EXPECT_EQ(OnlySent<message::ReduceAnswer>(host_.out, Ref(51))->request,
            RequestId(4));
}

TEST_F(DirectoryReduceTest, AnotherRequestForTheTargetIsRefused) {
  ReduceAll(2);
  Reduce(AskOf({Id(1), Id(3)}, 2));
  EXPECT_EQ(Answer()->code, absl::StatusCode::kAlreadyExists);
  Put(2, Id(50));
  Reduce(AskOf({Id(1)}, 1, Id(50)));
  EXPECT_EQ(Answer()->code, absl::StatusCode::kAlreadyExists)
      << "the target was put";
}

TEST_F(DirectoryReduceTest, ATargetCannotBePut) {
  ReduceAll(2);
  Put(7, kTarget);
  EXPECT_EQ(OnlySent<message::PutAnswer>(host_.out)->code,
            absl::StatusCode::kAlreadyExists);
}

// --- News. ------------------------------------------------------------------

class NewsTest : public DirectoryReduceTest {
 protected:
  // Node 7 coordinates; what it hears of Id(1).
  void Watch() {
    host_.Tell(
        7, message::WatchSources{.target = kTarget,
                                 .entries = {{host_.AtShardOf(Id(1)), Id(1)}}});
  }
  std::optional<message::SourceEntry> News() const {
    const auto news = OnlySent<message::SourceNews>(host_.out, Ref(7));
    if (!news.has_value() || news->entries.size() != 1) return std::nullopt;
    EXPECT_EQ(news->target, kTarget);
    return news->entries[0];
  }
};

TEST_F(NewsTest, ASourceIsReadyWhenItIsSealed) {
  Watch();
  EXPECT_EQ(News(), std::nullopt);
  host_.PutBegins(2, Id(1));
  EXPECT_EQ(News(), std::nullopt);
  host_.Seal(2, Id(1));
  ASSERT_TRUE(News().has_value());
  EXPECT_EQ(News()->state, SourceState::kFinal);
  EXPECT_EQ(News()->object, Id(1));
  EXPECT_EQ(News()->generation, PutOf(2));
  EXPECT_EQ(News()->size, kLarge);
  EXPECT_EQ(News()->holder, Ref(2));
  EXPECT_EQ(News()->payload, nullptr);
}

TEST_F(NewsTest, AStreamIsReadyBeforeItsSealAndFinalAfterIt) {
  Watch();
  host_.PutStream(2, Id(1));
  EXPECT_EQ(News()->state, SourceState::kReady);
  host_.Seal(2, Id(1));
  EXPECT_EQ(News()->state, SourceState::kFinal);
}

TEST_F(NewsTest, WhoWatchesLateHearsAtOnce) {
  host_.Put(2, Id(1));
  Watch();
  EXPECT_EQ(News()->state, SourceState::kFinal);
}

TEST_F(NewsTest, ASmallSourceComesWithItsBytes) {
  Watch();
  host_.PutSmall(2, Id(1));
  ASSERT_TRUE(News().has_value());
  ASSERT_NE(News()->payload, nullptr);
  EXPECT_EQ(*News()->payload, "small");
}

TEST_F(NewsTest, ADeletedSourceIsGone) {
  host_.Put(2, Id(1));
  Watch();
  host_.Delete(3, Id(1));
  EXPECT_EQ(News()->state, SourceState::kGone);
  Watch();
  EXPECT_EQ(News()->state, SourceState::kGone) << "while the tombstone stands";
}

// A Reduce waited for ever for a source that its maker had given up before it
// was put: Delete said that there was no such object, and told nobody.
TEST_F(NewsTest, ASourceThatIsDeletedBeforeItIsPutIsGone) {
  Watch();
  host_.Delete(3, Id(1));
  EXPECT_EQ(News()->state, SourceState::kGone);
}

TEST_F(NewsTest, AnAbortedSourceNeverWas) {
  Watch();
  host_.PutStream(2, Id(1));
  host_.Abort(2, Id(1));
  EXPECT_EQ(News()->state, SourceState::kUnready);
}

TEST_F(NewsTest, ALostSourceMayBePutAgain) {
  host_.Put(2, Id(1));
  Watch();
  host_.Lose(2);
  EXPECT_EQ(News()->state, SourceState::kUnready);
}

TEST_F(NewsTest, AHolderThatIsToBeAvoidedIsNotNamed) {
  const auto watch = [&](std::vector<NodeRef> avoid) {
    host_.Tell(7, message::WatchSources{
                      .target = kTarget,
                      .entries = {{host_.AtShardOf(Id(1)), Id(1), avoid}}});
  };
  host_.Put(2, Id(1));
  watch({Ref(2)});
  EXPECT_EQ(News()->state, SourceState::kUnready) << "it is answered";
  host_.Ask(3, Id(1));
  host_.Complete(3, Id(1), PutOf(2));
  watch({Ref(2)});
  EXPECT_EQ(News()->holder, Ref(3));
  EXPECT_TRUE(host_.Evict(2, Id(1), PutOf(2))) << "nobody counts on it";
  EXPECT_FALSE(host_.Evict(3, Id(1), PutOf(2)));
}

TEST_F(NewsTest, TheHolderIsOneThatLives) {
  host_.Put(2, Id(1));
  host_.Ask(3, Id(1));
  host_.Complete(3, Id(1), PutOf(2));
  EXPECT_TRUE(host_.Evict(2, Id(1), PutOf(2)));
  Watch();
  EXPECT_EQ(News()->holder, Ref(3));
}

// Symptom: a reduction ended with kDataLoss, and the source's bytes stood in
// its record. Cause: nobody held them, as the host's own store had no room.
TEST_F(NewsTest, WhatOnlyTheRecordHasIsHeldByItsHost) {
  host_.PutSmall(2, Id(1));
  host_.Lose(2);
  EXPECT_TRUE(OnlySent<message::GrantInline>(host_.out).has_value());
  Watch();
  EXPECT_EQ(News()->holder, Ref(DirectoryHost::kSelf));
  host_.Tell(DirectoryHost::kSelf, message::Withdraw{.object = Id(1)});
  Watch();
  EXPECT_EQ(News()->state, SourceState::kFinal);
  EXPECT_EQ(News()->holder, Ref(DirectoryHost::kSelf));
}

TEST_F(NewsTest, TheHolderThatWasToldFirstStays) {
  Watch();
  host_.PutStream(3, Id(1));
  EXPECT_EQ(News()->holder, Ref(3));
  host_.Abort(3, Id(1));
  host_.PutStream(2, Id(1));
  EXPECT_EQ(News()->holder, Ref(2));
  host_.Seal(2, Id(1));
  host_.Ask(3, Id(1));
  host_.Complete(3, Id(1), PutOf(2));
  Watch();
  EXPECT_FALSE(host_.Evict(2, Id(1), PutOf(2)));
  EXPECT_TRUE(host_.Evict(3, Id(1), PutOf(2)));
}

TEST_F(NewsTest, WhoEndsItsWatchHearsNoMore) {
  Watch();
  host_.Tell(
      7, message::UnwatchSources{.target = kTarget,
                                 .entries = {{host_.AtShardOf(Id(1)), Id(1)}}});
  EXPECT_EQ(host_.directory.record_count(), 0u);
  host_.Put(2, Id(1));
  EXPECT_EQ(News(), std::nullopt);
}

TEST_F(NewsTest, WatchingTwiceIsWatchingOnce) {
  Watch();
  Watch();
  host_.Put(2, Id(1));
  EXPECT_TRUE(News().has_value());
}

TEST_F(NewsTest, ALostCoordinatorHearsNoMore) {
  Watch();
  host_.Lose(7);
  EXPECT_EQ(host_.directory.record_count(), 0u);
}

// A batch of messages is bounded: many payloads go as several.
TEST_F(NewsTest, ManySmallSourcesComeInSeveralMessages) {
  message::WatchSources watch{.target = kTarget};
  for (std::uint32_t i = 1; i <= 40; ++i) {
    host_.PutSmall(2, Id(i), std::string(kInlineBytesMax, 'x'));
    watch.entries.push_back({host_.AtShardOf(Id(i)), Id(i)});
  }
  host_.Tell(7, watch);
  std::size_t entries = 0;
  for (const auto& news : Sent<message::SourceNews>(host_.out)) {
    entries += news.entries.size();
    EXPECT_LE(news.entries.size() * kInlineBytesMax, std::uint64_t{1} << 20);
  }
  EXPECT_EQ(entries, 40u);
}

// --- The target's record. ---------------------------------------------------

TEST_F(DirectoryReduceTest, GetsAreGrantedWhenTheRootIsAssigned) {
  ReduceAll(2);
  host_.Ask(8, kTarget);
  Put(2, Id(1));
  EXPECT_EQ(host_.ServerOf(8), 0u);
  Put(3, Id(2));
  const auto grant = OnlySent<message::Grant>(host_.out, Ref(8));
  ASSERT_TRUE(grant.has_value());
  EXPECT_EQ(grant->server, Ref(3));
  EXPECT_EQ(grant->generation, root_generation_);
  EXPECT_EQ(grant->size, kLarge);
  EXPECT_FALSE(grant->final);
}

TEST_F(DirectoryReduceTest, FinalIsToldToAllWhoHaveIt) {
  ReduceAll(2);
  host_.Ask(8, kTarget);
  host_.Ask(9, kTarget);
  Put(2, Id(1));
  Put(3, Id(2));
  RootCompletes();
  for (std::uint32_t node : {3, 8, 9}) {
    const auto final = OnlySent<message::Final>(host_.out, Ref(node));
    ASSERT_TRUE(final.has_value()) << node;
    EXPECT_EQ(final->generation, root_generation_);
  }
  ASSERT_TRUE(Answer().has_value());
  EXPECT_THAT(Answer()->sources, ElementsAre(Id(1), Id(2)));
  EXPECT_EQ(host_.directory.reductions_under_way(), 0u);
  host_.Ask(10, kTarget);
  EXPECT_TRUE(OnlySent<message::Grant>(host_.out, Ref(10))->final);
}

TEST_F(DirectoryReduceTest, AnyCompleteCopyMakesItFinal) {
  ReduceAll(1);
  host_.Ask(8, kTarget);
  Put(2, Id(1));
  host_.Complete(8, kTarget, root_generation_);
  EXPECT_TRUE(Answer().has_value());
}

TEST_F(DirectoryReduceTest, AGetOnTheRootsNodeWaitsForItsOwnTarget) {
  ReduceAll(2);
  host_.Ask(3, kTarget);
  Put(2, Id(1));
  Put(3, Id(2));
  EXPECT_EQ(host_.ServerOf(3), 0u);
  host_.Ask(8, kTarget);
  host_.Complete(8, kTarget, root_generation_);
  EXPECT_EQ(host_.ServerOf(3), 0u) << "not even from a complete copy";
  RootCompletes();
  EXPECT_THAT(Sent<message::Grant>(host_.out), IsEmpty());
}

// Symptom: a Get on the root's node ended at its deadline and not with the
// reduction's error. Cause: its ask had been struck when the root was assigned.
TEST_F(DirectoryReduceTest, AGetOnTheRootsNodeHearsOfAFailure) {
  ReduceAll(2);
  host_.Ask(3, kTarget);
  Put(2, Id(1));
  Put(3, Id(2));
  host_.Delete(9, kTarget);
  const auto refusal = OnlySent<message::Refusal>(host_.out, Ref(3));
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->code, absl::StatusCode::kNotFound);
}

TEST_F(DirectoryReduceTest, AnAskOfTheRootAfterItsAssignmentWaitsToo) {
  ReduceAll(1);
  Put(2, Id(1));
  host_.Ask(2, kTarget);
  EXPECT_THAT(host_.out, IsEmpty());
  host_.Delete(9, kTarget);
  EXPECT_EQ(OnlySent<message::Refusal>(host_.out, Ref(2))->code,
            absl::StatusCode::kNotFound);
}

// Symptom: the root's node kept an unfinished target for ever. Cause: the
// reduction failed with the very news that had assigned the root.
TEST_F(DirectoryReduceTest, ARootThatIsAssignedAndFailsAtOnceIsTold) {
  Put(2, Id(1));
  Put(3, Id(2), kLarge / 2);
  Reduce(AskOf({Id(1), Id(2)}, 1));
  EXPECT_EQ(Answer()->code, absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Sent<message::Release>(host_.out, Ref(2)), SizeIs(1));
  const auto drop = OnlySent<message::Drop>(host_.out, Ref(2));
  ASSERT_TRUE(drop.has_value());
  EXPECT_EQ(drop->object, kTarget);
  EXPECT_EQ(drop->generation, root_generation_);
}

// --- Small targets. ---------------------------------------------------------

TEST_F(DirectoryReduceTest, ASmallTargetIsInlineAndFinalAtOnce) {
  ReduceAll(2);
  host_.Ask(8, kTarget, 3);
  PutSmall(2, Id(1));
  PutSmall(3, Id(2));
  ASSERT_TRUE(fold_generation_);
  Folded();
  const auto grant = OnlySent<message::GrantInline>(host_.out, Ref(8));
  ASSERT_TRUE(grant.has_value());
  EXPECT_EQ(*grant->payload, "sum!");
  EXPECT_EQ(grant->ask, AskNumber(3));
  EXPECT_EQ(Answer()->code, absl::StatusCode::kOk);
}

TEST_F(DirectoryReduceTest, TheHostsStoreKeepsASmallTarget) {
  ReduceAll(1);
  PutSmall(2, Id(1));
  Folded();
  const auto push = OnlySent<message::GrantInline>(host_.out, Ref(kSelf));
  ASSERT_TRUE(push.has_value());
  EXPECT_FALSE(push->ask);
  host_.Complete(kSelf, kTarget, fold_generation_);
  host_.Delete(50, kTarget);
  EXPECT_THAT(Sent<message::Drop>(host_.out, Ref(kSelf)), SizeIs(1));
}

TEST_F(DirectoryReduceTest, AFoldOfAnEndedReductionIsIgnored) {
  ReduceAll(1);
  PutSmall(2, Id(1));
  host_.Delete(50, kTarget);
  Folded();
  EXPECT_THAT(host_.out, IsEmpty());
}

// --- Nested reductions. -----------------------------------------------------

TEST_F(DirectoryReduceTest, ATargetIsASourceWhenItsRootIsAssigned) {
  const ObjectId outer = Id(200);
  Reduce(AskOf({kTarget, Id(3)}, 2, outer));
  ReduceAll(2);
  Put(2, Id(1));
  Put(4, Id(3));
  const NodeRef outer_leaf =
      OnlySent<message::Assignment>(host_.out).has_value() ? Ref(4) : NodeRef();
  EXPECT_EQ(outer_leaf, Ref(4)) << "the only one that has arrived";
  Put(3, Id(2));  // the inner root
  const auto assignments = Sent<message::Assignment>(host_.out);
  ASSERT_THAT(assignments, SizeIs(2)) << "the inner root and the outer one";
  EXPECT_EQ(assignments[1].target, outer);
  EXPECT_EQ(assignments[1].source, kTarget);
  EXPECT_EQ(assignments[1].source_generation, assignments[0].output);
}

TEST_F(DirectoryReduceTest, AnOuterTargetIsFinalAfterTheInnerOne) {
  const ObjectId outer = Id(200);
  Reduce(AskOf({kTarget}, 1, outer), 51);
  ReduceAll(1);
  Put(2, Id(1));
  const Generation outer_generation = root_generation_;
  const auto assignments = Sent<message::Assignment>(host_.out);
  ASSERT_THAT(assignments, SizeIs(2));
  const Generation inner_generation = assignments[0].output;
  host_.Complete(2, outer, outer_generation);
  host_.Settle();
  EXPECT_THAT(Sent<message::ReduceAnswer>(host_.out), IsEmpty());
  host_.Complete(2, kTarget, inner_generation);
  host_.Settle();
  std::vector<ObjectId> targets;
  for (const auto& answer : Sent<message::ReduceAnswer>(host_.out)) {
    targets.push_back(answer.target);
  }
  EXPECT_THAT(targets, ElementsAre(kTarget, outer));
}

TEST_F(DirectoryReduceTest, SmallTargetsNest) {
  const ObjectId outer = Id(200);
  Reduce(AskOf({kTarget, Id(3)}, 2, outer), 51);
  ReduceAll(2);
  PutSmall(2, Id(3));
  PutSmall(2, Id(1));
  PutSmall(2, Id(2));
  Folded();
  const auto fold = Only<command::FoldPayloads>(host_.out);
  ASSERT_TRUE(fold.has_value());
  EXPECT_EQ(fold->target, outer);
  Folded("all!", outer);
  EXPECT_THAT(Sent<message::ReduceAnswer>(host_.out, Ref(51)), SizeIs(1));
}

TEST_F(DirectoryReduceTest, AFailedInnerReductionFailsTheOuterOne) {
  Reduce(AskOf({kTarget}, 1, Id(200)), 51);
  ReduceAll(1);
  Put(2, Id(1), 1001);
  EXPECT_EQ(Answer()->code, absl::StatusCode::kInvalidArgument);
  const auto outer = OnlySent<message::ReduceAnswer>(host_.out, Ref(51));
  ASSERT_TRUE(outer.has_value());
  EXPECT_EQ(outer->code, absl::StatusCode::kNotFound);
}

// --- Ends. ------------------------------------------------------------------

TEST_F(DirectoryReduceTest, DeletingTheTargetEndsTheReduction) {
  ReduceAll(2);
  host_.Ask(8, kTarget);
  Put(2, Id(1));
  host_.Delete(9, kTarget);
  EXPECT_EQ(Answer()->code, absl::StatusCode::kNotFound);
  EXPECT_EQ(OnlySent<message::Refusal>(host_.out, Ref(8))->code,
            absl::StatusCode::kNotFound);
  EXPECT_THAT(Sent<message::Release>(host_.out, Ref(2)), SizeIs(1));
  EXPECT_EQ(OnlySent<message::DeleteAnswer>(host_.out, Ref(9))->code,
            absl::StatusCode::kOk)
      << "nobody holds any of it";
  EXPECT_EQ(host_.directory.reductions_under_way(), 0u);
}

TEST_F(DirectoryReduceTest, DeletingATargetUnderWayWaitsForTheRoot) {
  ReduceAll(1);
  Put(2, Id(1));
  host_.Delete(9, kTarget);
  EXPECT_THAT(Sent<message::Drop>(host_.out, Ref(2)), SizeIs(1));
  EXPECT_THAT(Sent<message::DeleteAnswer>(host_.out), IsEmpty());
  host_.Dropped(2, kTarget, root_generation_);
  EXPECT_THAT(Sent<message::DeleteAnswer>(host_.out), SizeIs(1));
}

TEST_F(DirectoryReduceTest, ADeletedTargetIsNotReducedAgain) {
  ReduceAll(1);
  host_.Delete(9, kTarget);
  ReduceAll(1);
  EXPECT_EQ(Answer()->code, absl::StatusCode::kNotFound);
}

TEST_F(DirectoryReduceTest, AGetAfterAFailureHearsOfIt) {
  ReduceAll(1);
  Put(2, Id(1), 1001);
  host_.Ask(8, kTarget);
  const auto refusal = OnlySent<message::Refusal>(host_.out, Ref(8));
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->code, absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refusal->reason, HasSubstr("no multiple"));
}

TEST_F(DirectoryReduceTest, AfterAFailureTheIdIsFree) {
  ReduceAll(1);
  Put(2, Id(1), 1001);
  Put(3, kTarget);
  EXPECT_EQ(OnlySent<message::PutAnswer>(host_.out)->code,
            absl::StatusCode::kOk);
}

TEST_F(DirectoryReduceTest, NewsAfterAFailureChangesNothing) {
  ReduceAll(2);
  Put(2, Id(1), 1001);
  host_.Tell(kSelf, message::SourceNews{.target = kTarget,
                                        .entries = {{.object = Id(2)}}});
  EXPECT_THAT(host_.out, IsEmpty());
}

TEST_F(DirectoryReduceTest, AFinalTargetThatIsLostSaysSoToLaterGets) {
  ReduceAll(1);
  Put(2, Id(1));
  RootCompletes();
  host_.Lose(2);
  host_.Ask(8, kTarget);
  const auto refusal = OnlySent<message::Refusal>(host_.out, Ref(8));
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->code, absl::StatusCode::kDataLoss);
}

// --- Losses. ----------------------------------------------------------------

TEST_F(DirectoryReduceTest, WhereNobodyElseCanFillAPositionItEnds) {
  ReduceAll(1);
  host_.Ask(8, kTarget);
  Put(2, Id(1));
  host_.Tell(2, message::AssignmentFailed{
                    .target = kTarget,
                    .position = 0,
                    .output = root_generation_,
                    .code = absl::StatusCode::kResourceExhausted});
  EXPECT_EQ(OnlySent<message::Drop>(host_.out, Ref(8))->code,
            absl::StatusCode::kAborted);
  host_.Settle();
  EXPECT_EQ(Answer()->code, absl::StatusCode::kResourceExhausted);
  host_.Ask(8, kTarget);
  EXPECT_EQ(OnlySent<message::Refusal>(host_.out, Ref(8))->code,
            absl::StatusCode::kResourceExhausted);
}

TEST_F(DirectoryReduceTest, ReadersDropTheTargetOfALostRoot) {
  Reduce(AskOf({Id(1), Id(2), Id(3)}, 2));
  host_.Ask(8, kTarget, 1);
  for (std::uint32_t i = 1; i <= 3; ++i) Put(i + 1, Id(i));
  const Generation old = root_generation_;
  ASSERT_EQ(root_, Ref(3));
  host_.Lose(3);
  const auto drop = OnlySent<message::Drop>(host_.out, Ref(8));
  ASSERT_TRUE(drop.has_value());
  EXPECT_EQ(drop->code, absl::StatusCode::kAborted);
  EXPECT_EQ(drop->generation, old);
  host_.Settle();
  Remember();
  EXPECT_EQ(root_, Ref(4)) << "the spare's node";
  EXPECT_LT(old, root_generation_);
  host_.Ask(8, kTarget, 2);
  const auto grant = OnlySent<message::Grant>(host_.out, Ref(8));
  ASSERT_TRUE(grant.has_value());
  EXPECT_EQ(grant->generation, root_generation_);
  EXPECT_EQ(grant->server, Ref(4));
  host_.Complete(8, kTarget, old);
  EXPECT_EQ(Answer(), std::nullopt) << "of other bytes";
  RootCompletes();
  EXPECT_THAT(Answer()->sources, ElementsAre(Id(1), Id(3)));
}

TEST_F(DirectoryReduceTest, WhoHasLostALivingInputIsToldAfterAWhile) {
  ReduceAll(2);
  Put(2, Id(1));
  Put(3, Id(2));
  const Generation old = root_generation_;
  host_.Tell(3,
             message::AssignmentFailed{.target = kTarget,
                                       .position = 1,
                                       .output = old,
                                       .code = absl::StatusCode::kUnavailable,
                                       .lost = Ref(2)});
  EXPECT_THAT(host_.out, IsEmpty());
  EXPECT_EQ(host_.directory.NextTimeout(), host_.now + kLostServerAvoided);
  host_.PassTime(kLostServerAvoided);
  Remember();
  EXPECT_LT(old, root_generation_);
  EXPECT_EQ(host_.directory.NextTimeout(), std::nullopt);
}

TEST_F(DirectoryReduceTest, AShardThatMovesIsWatchedAnew) {
  ReduceAll(2);
  host_.shard_map.Apply({.at = {Id(1).shard(), Epoch(2)}, .host = Ref(7)});
  host_.out.clear();
  host_.directory.WatchAgain(Id(1).shard(), host_.out);
  const auto watch = OnlySent<message::WatchSources>(host_.out, Ref(7));
  ASSERT_TRUE(watch.has_value());
  EXPECT_THAT(watch->entries, SizeIs(1));
}

// Nothing grows: puts, reduces and deletes leave what tombstones need, and
// those go with time.
TEST_F(DirectoryReduceTest, EndedReductionsLeaveNothing) {
  for (std::uint32_t round = 0; round < 50; ++round) {
    const ObjectId target = Id(1000 + round);
    const ObjectId source = Id(2000 + round);
    Reduce(AskOf({source}, 1, target));
    if (round % 2 == 0) {
      PutSmall(2, source);
      Folded("sum!", target);
    } else {
      Put(2, source);
      RootCompletes(target);
    }
    for (const ObjectId& object : {source, target}) {
      host_.Delete(2, object);
      for (const auto& drop : Sent<message::Drop>(host_.out)) {
        for (std::uint32_t node : {kSelf, 2u}) {
          host_.Dropped(node, object, drop.generation);
        }
      }
    }
  }
  host_.PassTime(kTombstoneAge);
  EXPECT_EQ(host_.directory.record_count(), 0u);
  EXPECT_EQ(host_.directory.reductions_under_way(), 0u);
  EXPECT_EQ(host_.directory.NextTimeout(), std::nullopt);
}

}  // namespace
}  // namespace hoplite
