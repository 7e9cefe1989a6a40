#include "hoplite/core/reduce/reduce_coordinator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hoplite/core/reduce/tree_shape.h"
#include "hoplite/core/testing/commands.h"
#include "hoplite/core/testing/values.h"

namespace hoplite {
namespace {

using testing::All;
using testing::AllShardsOn;
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

using State = ReduceCoordinator::State;

constexpr std::uint64_t kLarge = 64 << 20;
const ObjectId kTarget = Id(1000);

// A reduction of Id(1) … Id(n); node 100 + i holds source i. The caller is
// node 50.
class ReduceCoordinatorTest : public ::testing::Test {
 protected:
  void Start(std::uint32_t sources, std::uint32_t count,
             ReduceOp op = ReduceOp::kSum) {
    ask_ = {.target = kTarget,
            .request = RequestId(9),
            .count = count,
            .op = op,
            .type = DataType::kF32};
    for (std::uint32_t i = 1; i <= sources; ++i) ask_.sources.push_back(Id(i));
    reduction_.emplace(ShardRef{kTarget.shard(), Epoch(3)}, ask_);
    Do([&](auto& context) {
      reduction_->AddCaller(Ref(50), RequestId(9), context);
    });
  }
  template <typename Act>
  void Do(Act act) {
    out_.clear();
    ReduceCoordinator::Context context{.self = Ref(1),
                                       .shard_map = shard_map_,
                                       .link = link_,
                                       .lost = lost_,
                                       .generation_counter = counter_,
                                       .out = out_};
    act(context);
    for (const auto& send : All<command::Send>(out_)) {
      const auto* assigned = std::get_if<message::Assignment>(&send.message);
      if (assigned == nullptr) continue;
      EXPECT_FALSE(assignments_.contains(assigned->position)) << "given twice";
      assignments_[assigned->position] = *assigned;
      members_[assigned->position] = send.to;
    }
  }
  static message::SourceEntry Entry(
      std::uint32_t source, std::uint64_t size = kLarge,
      message::SourceState state = message::SourceState::kFinal) {
    return {.object = Id(source),
            .state = state,
            .generation = PutOf(100 + source),
            .size = size,
            .holder = Ref(100 + source)};
  }
  static message::SourceEntry Small(std::uint32_t source,
                                    const std::string& bytes = "four") {
    message::SourceEntry entry = Entry(source, bytes.size());
    entry.payload = MakePayload(bytes);
    return entry;
  }
  void News(const message::SourceEntry& entry) {
    Do([&](auto& context) { reduction_->OnNews(entry, context); });
  }
  void Arrives(std::uint32_t source) { News(Entry(source)); }
  void Gone(std::uint32_t source) {
    News({.object = Id(source), .state = message::SourceState::kGone});
  }
  void Unready(std::uint32_t source) {
    News({.object = Id(source), .state = message::SourceState::kUnready});
  }
  void TargetComplete() {
    Do([&](auto& context) {
      reduction_->OnTargetComplete(reduction_->target_generation(), context);
    });
  }
  void Folded() {
    Do([&](auto& context) { reduction_->OnFolded(context); });
  }
  std::optional<message::ReduceAnswer> Answer() const {
    return OnlySent<message::ReduceAnswer>(out_, Ref(50));
  }
  // The sources that went in, by their numbers, in the order of the positions.
  std::vector<std::uint32_t> Assigned() const {
    std::vector<std::uint32_t> sources;
    for (const auto& [position, assignment] : assignments_) {
      std::uint32_t source = 1;
      while (Id(source) != assignment.source) ++source;
      sources.push_back(source);
    }
    return sources;
  }

  ShardMap shard_map_ = AllShardsOn(Ref(1));
  LinkEstimate link_{.latency = absl::Microseconds(100),
                     .bytes_per_second = 125e6};
  LostNodes lost_;
  std::uint64_t counter_ = 0;
  message::ReduceAsk ask_;
  std::optional<ReduceCoordinator> reduction_;
  Commands out_;
  std::map<std::uint32_t, message::Assignment> assignments_;
  std::map<std::uint32_t, NodeRef> members_;
};

// --- Watching. --------------------------------------------------------------

TEST_F(ReduceCoordinatorTest, WatchesEverySourceAtItsShardsHost) {
  shard_map_.Apply({.at = {Id(2).shard(), Epoch(2)}, .host = Ref(7)});
  Start(3, 3);
  Do([&](auto& context) { reduction_->Watch(context); });
  const auto at_7 = OnlySent<message::WatchSources>(out_, Ref(7));
  ASSERT_TRUE(at_7.has_value());
  EXPECT_EQ(at_7->target, kTarget);
  ASSERT_THAT(at_7->entries, SizeIs(1));
  EXPECT_EQ(at_7->entries[0].object, Id(2));
  EXPECT_EQ(at_7->entries[0].at.epoch, Epoch(2));
  EXPECT_THAT(OnlySent<message::WatchSources>(out_, Ref(1))->entries,
              SizeIs(2));
}

TEST_F(ReduceCoordinatorTest, WatchesOneShardAgain) {
  Start(3, 3);
  Do([&](auto& context) { reduction_->Watch(context, Id(2).shard()); });
  const auto watch = OnlySent<message::WatchSources>(out_);
  ASSERT_TRUE(watch.has_value());
  EXPECT_EQ(watch->entries[0].object, Id(2));
}

TEST_F(ReduceCoordinatorTest, UnwatchesAtTheEnd) {
  Start(3, 1);
  Arrives(1);
  TargetComplete();
  const auto unwatch = OnlySent<message::UnwatchSources>(out_);
  ASSERT_TRUE(unwatch.has_value());
  EXPECT_THAT(unwatch->entries, SizeIs(3));
}

// --- The same request, and others. ------------------------------------------

TEST_F(ReduceCoordinatorTest, KnowsItsOwnRequest) {
  Start(3, 2);
  message::ReduceAsk same = ask_;
  std::ranges::reverse(same.sources);
  same.request = RequestId(77);
  EXPECT_TRUE(reduction_->IsSameRequest(same)) << "in whatever order";
  message::ReduceAsk other = ask_;
  other.count = 3;
  EXPECT_FALSE(reduction_->IsSameRequest(other));
  other = ask_;
  other.op = ReduceOp::kMax;
  EXPECT_FALSE(reduction_->IsSameRequest(other));
  other = ask_;
  other.type = DataType::kF64;
  EXPECT_FALSE(reduction_->IsSameRequest(other));
  other = ask_;
  other.sources[0] = Id(99);
  EXPECT_FALSE(reduction_->IsSameRequest(other));
  other = ask_;
  other.sources[0] = other.sources[1];
  EXPECT_FALSE(reduction_->IsSameRequest(other)) << "one named twice";
  EXPECT_TRUE(reduction_->HasSource(Id(2)));
  EXPECT_FALSE(reduction_->HasSource(Id(4)));
}

TEST_F(ReduceCoordinatorTest, EveryCallerIsAnsweredOnce) {
  Start(1, 1);
  Do([&](auto& context) {
    reduction_->AddCaller(Ref(50), RequestId(9), context);  // repeated
    reduction_->AddCaller(Ref(51), RequestId(9), context);
  });
  EXPECT_THAT(out_, IsEmpty());
  Arrives(1);
  TargetComplete();
  EXPECT_THAT(Sent<message::ReduceAnswer>(out_, Ref(50)), SizeIs(1));
  EXPECT_THAT(Sent<message::ReduceAnswer>(out_, Ref(51)), SizeIs(1));
}

TEST_F(ReduceCoordinatorTest, WhoAsksAfterTheEndIsAnsweredAtOnce) {
  Start(3, 2);
  Arrives(3);
  Arrives(1);
  TargetComplete();
  Do([&](auto& context) {
    reduction_->AddCaller(Ref(60), RequestId(4), context);
  });
  const auto answer = OnlySent<message::ReduceAnswer>(out_, Ref(60));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->request, RequestId(4));
  EXPECT_EQ(answer->code, absl::StatusCode::kOk);
  EXPECT_THAT(answer->sources, ElementsAre(Id(1), Id(3)));
}

TEST_F(ReduceCoordinatorTest, ALostCallerIsNotAnswered) {
  Start(1, 1);
  Do([&](auto& context) { reduction_->OnNodeLost(Ref(50), false, context); });
  Arrives(1);
  TargetComplete();
  EXPECT_EQ(Answer(), std::nullopt);
  EXPECT_EQ(reduction_->state(), State::kFinal);
}

// --- The tree. --------------------------------------------------------------

TEST_F(ReduceCoordinatorTest, AChainIsFilledInTheOrderOfArrival) {
  Start(4, 4);
  for (std::uint32_t source : {3, 1, 4, 2}) Arrives(source);
  EXPECT_EQ(Assigned(), (std::vector<std::uint32_t>{3, 1, 4, 2}));
  for (std::uint32_t p = 0; p < 4; ++p) {
    const message::Assignment& assignment = assignments_[p];
    EXPECT_EQ(assignment.target, kTarget);
    EXPECT_EQ(assignment.at.epoch, Epoch(3));
    EXPECT_EQ(assignment.size, kLarge);
    EXPECT_EQ(assignment.root, p == 3);
    EXPECT_EQ(assignment.inputs.size(), p == 0 ? 0u : 1u);
    if (p == 0) continue;
    EXPECT_EQ(assignment.inputs[0].position, p - 1);
    EXPECT_EQ(assignment.inputs[0].generation, assignments_[p - 1].output);
    EXPECT_EQ(assignment.inputs[0].member, members_[p - 1]);
  }
  EXPECT_EQ(reduction_->root(), Ref(102));
  EXPECT_EQ(reduction_->target_generation(), assignments_[3].output);
}

TEST_F(ReduceCoordinatorTest, APartialSumStartsWithTwo) {
  Start(4, 4);
  Arrives(1);
  EXPECT_EQ(Assigned(), (std::vector<std::uint32_t>{1}));
  Arrives(2);
  EXPECT_EQ(Assigned(), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(reduction_->root(), std::nullopt);
}

TEST_F(ReduceCoordinatorTest, OneSourceIsARootOfItsOwn) {
  Start(1, 1);
  Arrives(1);
  ASSERT_THAT(assignments_, SizeIs(1));
  EXPECT_TRUE(assignments_[0].root);
  EXPECT_THAT(assignments_[0].inputs, IsEmpty());
  EXPECT_EQ(reduction_->root(), Ref(101));
}

// With latency that costs more than the bytes: trees of every degree.
TEST_F(ReduceCoordinatorTest, EveryShapeIsAssignedAsAWhole) {
  for (absl::Duration latency :
       {absl::ZeroDuration(), absl::Milliseconds(20), absl::Seconds(10)}) {
    link_.latency = latency;
    for (std::uint32_t count = 1; count <= 40; count += 3) {
      assignments_.clear();
      Start(count, count);
      for (std::uint32_t source = 1; source <= count; ++source) {
        News(Entry(source, 1 << 20));
      }
      const std::uint32_t degree = PlanReduce(1 << 20, count, link_).degree;
      SCOPED_TRACE(absl::StrCat(count, " sources, degree ", degree));
      const TreeShape shape(count, degree);
      ASSERT_THAT(assignments_, SizeIs(count));
      std::set<ObjectId> sources;
      for (const auto& [position, assignment] : assignments_) {
        sources.insert(assignment.source);
        EXPECT_EQ(assignment.root, position == shape.root());
        std::vector<std::uint32_t> inputs;
        for (const auto& input : assignment.inputs) {
          inputs.push_back(input.position);
          EXPECT_EQ(input.generation, assignments_[input.position].output);
        }
        EXPECT_EQ(inputs, shape.Children(position));
      }
      EXPECT_THAT(sources, SizeIs(count));
    }
  }
}

TEST_F(ReduceCoordinatorTest, AParentIsAssignedWithItsLastChild) {
  link_.latency = absl::Seconds(10);  // a star
  Start(4, 4);
  for (std::uint32_t source = 1; source <= 3; ++source) Arrives(source);
  EXPECT_EQ(Assigned(), (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(reduction_->root(), std::nullopt);
  Arrives(4);
  EXPECT_EQ(Assigned(), (std::vector<std::uint32_t>{1, 4, 2, 3}))
      << "the last to arrive is the root, whose number is 1";
  EXPECT_TRUE(assignments_[1].root);
}

// So that the caller's Get of the target finds it on its own node.
TEST_F(ReduceCoordinatorTest, TheCallersOwnSourceTakesTheRoot) {
  Start(4, 4);
  message::SourceEntry own = Entry(1);
  own.holder = Ref(50);
  News(own);
  for (std::uint32_t source = 2; source <= 4; ++source) Arrives(source);
  EXPECT_EQ(Assigned(), (std::vector<std::uint32_t>{2, 3, 4, 1}));
  EXPECT_EQ(reduction_->root(), Ref(50));
}

TEST_F(ReduceCoordinatorTest, OnlyOneOfTheCallersSourcesTakesTheRoot) {
  Start(3, 3);
  for (std::uint32_t source = 1; source <= 3; ++source) {
    message::SourceEntry own = Entry(source);
    own.holder = Ref(50);
    News(own);
  }
  EXPECT_EQ(Assigned(), (std::vector<std::uint32_t>{2, 3, 1}));
}

// Symptom: a message to no node. Cause: positions that nobody fills yet.
TEST_F(ReduceCoordinatorTest,
       AFailureBeforeAllHaveArrivedReleasesThoseThatHave) {
  Start(4, 4);
  Arrives(1);
  Arrives(2);
  Do([&](auto& context) {
    reduction_->Fail(absl::StatusCode::kNotFound, "it was deleted", context);
  });
  for (const auto& send : All<command::Send>(out_)) EXPECT_TRUE(send.to);
  EXPECT_THAT(Sent<message::Release>(out_), SizeIs(2));
}

TEST_F(ReduceCoordinatorTest, OutputsHaveGenerationsOfTheShard) {
  Start(5, 5);
  for (std::uint32_t source = 1; source <= 5; ++source) Arrives(source);
  std::set<Generation> outputs;
  for (const auto& [position, assignment] : assignments_) {
    EXPECT_TRUE(assignment.output.is_target());
    EXPECT_EQ(assignment.output.era, 3u);
    EXPECT_EQ(assignment.source_generation, PutOf(100 + Assigned()[position]));
    outputs.insert(assignment.output);
  }
  EXPECT_THAT(outputs, SizeIs(5));
}

TEST_F(ReduceCoordinatorTest, OnlyTheRootOfAnAverageDivides) {
  Start(3, 3, ReduceOp::kAverage);
  for (std::uint32_t source = 1; source <= 3; ++source) Arrives(source);
  EXPECT_EQ(assignments_[0].divisor, 1u);
  EXPECT_EQ(assignments_[1].divisor, 1u);
  EXPECT_EQ(assignments_[2].divisor, 3u);
  EXPECT_EQ(assignments_[2].op, ReduceOp::kAverage);
}

TEST_F(ReduceCoordinatorTest, SeveralSourcesMayBeOnOneNode) {
  Start(3, 3);
  for (std::uint32_t source = 1; source <= 3; ++source) {
    message::SourceEntry entry = Entry(source);
    entry.holder = Ref(7);
    News(entry);
  }
  EXPECT_EQ(members_[0], Ref(7));
  EXPECT_EQ(members_[2], Ref(7));
  EXPECT_EQ(assignments_[1].inputs[0].member, Ref(7));
  TargetComplete();
  EXPECT_THAT(Sent<message::Release>(out_), SizeIs(1)) << "one a node";
}

// --- count < sources. -------------------------------------------------------

TEST_F(ReduceCoordinatorTest, TheFirstToArriveGoIn) {
  Start(5, 3);
  for (std::uint32_t source : {5, 2, 4, 1, 3}) Arrives(source);
  EXPECT_EQ(Assigned(), (std::vector<std::uint32_t>{5, 2, 4}));
  TargetComplete();
  ASSERT_TRUE(Answer().has_value());
  EXPECT_THAT(Answer()->sources, ElementsAre(Id(2), Id(4), Id(5)));
}

TEST_F(ReduceCoordinatorTest, ASourceArrivesOnce) {
  Start(3, 2);
  Arrives(1);
  Arrives(1);
  EXPECT_EQ(Assigned(), (std::vector<std::uint32_t>{1}));
  Arrives(2);
  EXPECT_EQ(Assigned(), (std::vector<std::uint32_t>{1, 2}));
}

TEST_F(ReduceCoordinatorTest, NewsOfAStrangeObjectIsIgnored) {
  Start(2, 2);
  News(Entry(77));
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_EQ(reduction_->state(), State::kRunning);
}

// --- The end. ---------------------------------------------------------------

TEST_F(ReduceCoordinatorTest, TheTargetIsFinalWhenItIsComplete) {
  Start(3, 3);
  for (std::uint32_t source = 1; source <= 3; ++source) Arrives(source);
  EXPECT_EQ(reduction_->state(), State::kRunning);
  TargetComplete();
  EXPECT_EQ(reduction_->state(), State::kFinal);
  EXPECT_EQ(Answer()->code, absl::StatusCode::kOk);
  EXPECT_EQ(Answer()->target, kTarget);
  EXPECT_EQ(Answer()->request, RequestId(9));
  EXPECT_THAT(Sent<message::Release>(out_), SizeIs(3));
  TargetComplete();
  EXPECT_THAT(out_, IsEmpty()) << "repeated";
}

TEST_F(ReduceCoordinatorTest, ACompleteCopyOfOtherBytesDoesNotCount) {
  Start(1, 1);
  Arrives(1);
  Do([&](auto& context) {
    reduction_->OnTargetComplete(testing::TargetNumber(99), context);
  });
  EXPECT_EQ(reduction_->state(), State::kRunning);
}

TEST_F(ReduceCoordinatorTest, NoTargetIsFinalBeforeItsSources) {
  Start(2, 2);
  News(Entry(1, kLarge, message::SourceState::kReady));
  Arrives(2);
  TargetComplete();
  EXPECT_EQ(reduction_->state(), State::kRunning);
  EXPECT_EQ(Answer(), std::nullopt);
  Arrives(1);
  EXPECT_EQ(reduction_->state(), State::kFinal);
  EXPECT_TRUE(Answer().has_value());
}

TEST_F(ReduceCoordinatorTest, ASpareNeedNotBeFinal) {
  Start(3, 1);
  Arrives(1);
  News(Entry(2, kLarge, message::SourceState::kReady));
  TargetComplete();
  EXPECT_EQ(reduction_->state(), State::kFinal);
}

TEST_F(ReduceCoordinatorTest, NothingStartsAgainAfterTheEnd) {
  Start(2, 1);
  Arrives(1);
  TargetComplete();
  Gone(1);
  Arrives(2);
  Unready(1);
  Do([&](auto& context) { reduction_->OnNodeLost(Ref(101), false, context); });
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_EQ(reduction_->state(), State::kFinal);
}

TEST_F(ReduceCoordinatorTest, AFinalTargetMayBeLost) {
  Start(1, 1);
  Arrives(1);
  TargetComplete();
  reduction_->OnTargetLost("its last copy is gone");
  Do([&](auto& context) {
    reduction_->AddCaller(Ref(60), RequestId(4), context);
  });
  const auto answer = OnlySent<message::ReduceAnswer>(out_);
  EXPECT_EQ(answer->code, absl::StatusCode::kDataLoss);
  EXPECT_EQ(answer->reason, "its last copy is gone");
  EXPECT_THAT(answer->sources, IsEmpty());
}

// --- Small sources. ---------------------------------------------------------

TEST_F(ReduceCoordinatorTest, SmallSourcesAreFoldedHere) {
  Start(3, 3, ReduceOp::kAverage);
  News(Small(2, "bbbb"));
  News(Small(1, "aaaa"));
  EXPECT_THAT(out_, IsEmpty());
  News(Small(3, "cccc"));
  const auto fold = Only<command::FoldPayloads>(out_);
  ASSERT_TRUE(fold.has_value());
  EXPECT_EQ(fold->target, kTarget);
  EXPECT_EQ(fold->generation, reduction_->target_generation());
  EXPECT_EQ(fold->op, ReduceOp::kAverage);
  EXPECT_EQ(fold->divisor, 3u);
  ASSERT_THAT(fold->payloads, SizeIs(3));
  EXPECT_EQ(*fold->payloads[0], "bbbb") << "in the order of arrival";
  EXPECT_THAT(assignments_, IsEmpty());
  EXPECT_EQ(reduction_->root(), std::nullopt);
  Folded();
  EXPECT_EQ(reduction_->state(), State::kFinal);
  EXPECT_THAT(Answer()->sources, ElementsAre(Id(1), Id(2), Id(3)));
}

TEST_F(ReduceCoordinatorTest, ObjectsOfNoBytesAreFoldedToo) {
  Start(2, 2);
  News(Small(1, ""));
  News(Small(2, ""));
  EXPECT_THAT(Only<command::FoldPayloads>(out_)->payloads, SizeIs(2));
}

TEST_F(ReduceCoordinatorTest, OneThatIsNotInlineMakesATree) {
  Start(3, 3);
  News(Small(1));
  News(Small(2));
  News(Entry(3, 4));
  EXPECT_THAT(All<command::FoldPayloads>(out_), IsEmpty());
  EXPECT_THAT(assignments_, SizeIs(3));
  EXPECT_EQ(members_[0], Ref(101));
}

TEST_F(ReduceCoordinatorTest, AnInlineSetNeedsItsSourcesNoMore) {
  Start(2, 2);
  News(Small(1));
  Gone(1);
  EXPECT_EQ(reduction_->state(), State::kRunning);
  News(Small(2));
  EXPECT_THAT(Only<command::FoldPayloads>(out_)->payloads, SizeIs(2));
}

// Symptom: a reduction waited for ever. Cause: a source whose bytes it had was
// deleted; then one came that was not inline, and the deleted one was given a
// position in the tree.
TEST_F(ReduceCoordinatorTest, ATreeCannotStartWithWhatIsGone) {
  Start(3, 3);
  News(Small(1));
  Gone(1);
  News(Entry(2, 4));
  EXPECT_EQ(reduction_->state(), State::kFailed);
  EXPECT_EQ(Answer()->code, absl::StatusCode::kNotFound);
  EXPECT_THAT(Answer()->reason, HasSubstr(Id(1).ToHex()));
}

TEST_F(ReduceCoordinatorTest, WhatNoNodeHoldsWaitsForAHolder) {
  Start(2, 2);
  message::SourceEntry entry = Small(1);
  entry.holder = NodeRef();
  News(entry);
  EXPECT_EQ(reduction_->state(), State::kRunning);
  News(Entry(2, 4));
  EXPECT_EQ(OnlySent<message::WatchSources>(out_)->entries[0].object, Id(1));
  EXPECT_THAT(assignments_, IsEmpty());
  entry.holder = Ref(7);
  News(entry);
  EXPECT_EQ(members_[0], Ref(7));
  EXPECT_THAT(assignments_, SizeIs(2));
}

// --- Sources that go. -------------------------------------------------------

TEST_F(ReduceCoordinatorTest, ASourceDeletedBeforeItArrivedIsMissed) {
  Start(3, 2);
  Gone(1);
  EXPECT_EQ(reduction_->state(), State::kRunning) << "two are left";
  Gone(1);
  EXPECT_EQ(reduction_->state(), State::kRunning) << "repeated";
  Gone(2);
  EXPECT_EQ(reduction_->state(), State::kFailed);
  ASSERT_TRUE(Answer().has_value());
  EXPECT_EQ(Answer()->code, absl::StatusCode::kNotFound);
  EXPECT_THAT(Answer()->reason, HasSubstr("1 of the 3 sources remain"));
}

// Its member holds it to the end.
TEST_F(ReduceCoordinatorTest, ASourceInTheSetMayBeDeleted) {
  Start(2, 2);
  Arrives(1);
  Gone(1);
  EXPECT_THAT(out_, IsEmpty());
  Arrives(2);
  TargetComplete();
  EXPECT_THAT(Answer()->sources, ElementsAre(Id(1), Id(2)));
}

TEST_F(ReduceCoordinatorTest, ASpareThatGoesIsNoLoss) {
  Start(3, 1);
  Arrives(1);
  Arrives(2);
  Gone(2);
  Gone(3);
  EXPECT_EQ(reduction_->state(), State::kRunning);
  TargetComplete();
  EXPECT_EQ(reduction_->state(), State::kFinal);
}

TEST_F(ReduceCoordinatorTest, WhatNeverWasMayComeYet) {
  Start(2, 2);
  Unready(1);
  EXPECT_EQ(reduction_->state(), State::kRunning);
  Arrives(2);
  Arrives(1);
  EXPECT_EQ(Assigned(), (std::vector<std::uint32_t>{2, 1}));
}

TEST_F(ReduceCoordinatorTest, ASourceMayComeBackUntilTooManyHaveGone) {
  Start(3, 2);
  Gone(1);
  Arrives(1);
  Gone(2);
  Arrives(3);
  EXPECT_EQ(Assigned(), (std::vector<std::uint32_t>{1, 3}));
}

TEST_F(ReduceCoordinatorTest, ASourceInTheSetDoesNotArriveAgain) {
  Start(2, 2);
  Arrives(1);
  message::SourceEntry again = Entry(1);
  again.generation = PutOf(7);
  News(again);
  EXPECT_THAT(out_, IsEmpty());
  Arrives(2);
  EXPECT_EQ(assignments_[0].source_generation, PutOf(101));
}

// --- Sizes and types. -------------------------------------------------------

TEST_F(ReduceCoordinatorTest, SourcesOfDifferentSizesAreRefusedByName) {
  Start(3, 3);
  Arrives(2);
  News(Entry(3, kLarge / 2));
  ASSERT_TRUE(Answer().has_value());
  EXPECT_EQ(Answer()->code, absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Answer()->reason, HasSubstr(Id(2).ToHex()));
  EXPECT_THAT(Answer()->reason, HasSubstr(Id(3).ToHex()));
  EXPECT_THAT(Answer()->sources, IsEmpty());
}

TEST_F(ReduceCoordinatorTest, ASizeThatIsNoMultipleOfTheTypeIsRefused) {
  Start(2, 2);
  News(Entry(1, 1001));
  EXPECT_EQ(Answer()->code, absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Answer()->reason, HasSubstr("4 bytes of type f32"));
  EXPECT_THAT(Answer()->reason, HasSubstr(Id(1).ToHex()));
}

TEST_F(ReduceCoordinatorTest, AnErrorIsToldOnce) {
  Start(1, 1);
  Do([&](auto& context) {
    reduction_->Fail(absl::StatusCode::kNotFound, "it was deleted", context);
  });
  EXPECT_EQ(Answer()->reason, "it was deleted");
  Do([&](auto& context) {
    reduction_->Fail(absl::StatusCode::kInternal, "again", context);
  });
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_EQ(reduction_->code(), absl::StatusCode::kNotFound);
}

// --- Cost. ------------------------------------------------------------------

// As many sources as one request may name; quadratic work would not end.
TEST_F(ReduceCoordinatorTest, ThousandsOfSmallSourcesArriveInLinearTime) {
  Start(16384, 16384);
  std::size_t folds = 0;
  for (std::uint32_t source = 1; source <= 16384; ++source) {
    News(Small(source));
    folds += All<command::FoldPayloads>(out_).size();
  }
  EXPECT_EQ(folds, 1u);
}

}  // namespace
}  // namespace hoplite
