// What ReduceCoordinator does when something is lost.
//
// Method: a chain, in which source i has position i - 1, its parent is the
// next one, and the last is the root. Node 100 + i holds source i.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "hoplite/core/reduce/reduce_coordinator.h"
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
using testing::OnlySent;
using testing::PutOf;
using testing::Ref;
using testing::Sent;
using ::testing::SizeIs;

using State = ReduceCoordinator::State;

constexpr std::uint64_t kLarge = 64 << 20;
const ObjectId kTarget = Id(1000);

class ReduceMendingTest : public ::testing::Test {
 protected:
  // Sources 1 … count, all there.
  void Start(std::uint32_t sources, std::uint32_t count) {
    message::ReduceAsk ask{
        .target = kTarget, .request = RequestId(9), .count = count};
    for (std::uint32_t i = 1; i <= sources; ++i) ask.sources.push_back(Id(i));
    reduction_.emplace(ShardRef{kTarget.shard(), Epoch(3)}, ask);
    Do([&](auto& context) {
      reduction_->AddCaller(Ref(50), RequestId(9), context);
    });
    for (std::uint32_t i = 1; i <= count; ++i) News(Entry(i));
    EXPECT_THAT(assignments_, SizeIs(count));
  }
  template <typename Act>
  void Do(Act act) {
    out_.clear();
    told_.clear();
    ReduceContext context{
        .self = Ref(1),
        .shard_map = shard_map_,
        .link = {.latency = absl::Microseconds(1), .bytes_per_second = 125e6},
        .lost = lost_,
        .generation_counter = counter_,
        .out = out_};
    act(context);
    for (const auto& send : All<command::Send>(out_)) {
      EXPECT_FALSE(lost_.Contains(send.to)) << "to a dead node";
      const auto* assigned = std::get_if<message::Assignment>(&send.message);
      if (assigned == nullptr) continue;
      told_.push_back(assigned->position);
      EXPECT_LT(assignments_[assigned->position].output, assigned->output);
      assignments_[assigned->position] = *assigned;
      members_[assigned->position] = send.to;
    }
    CheckInputs();
  }
  // Whatever was assigned names its inputs as they are, or is to be told.
  void CheckInputs() const {
    for (std::uint32_t at : told_) {
      for (const message::ReduceInput& input : assignments_.at(at).inputs) {
        if (!assignments_.contains(input.position)) continue;
        EXPECT_GE(input.generation, assignments_.at(input.position).output);
      }
    }
  }
  static message::SourceEntry Entry(std::uint32_t source,
                                    std::uint32_t holder = 0) {
    const std::uint32_t first = 100 + source;
    return {.object = Id(source),
            .state = message::SourceState::kFinal,
            .generation = PutOf(first),
            .size = kLarge,
            .holder = Ref(holder == 0 ? first : holder)};
  }
  void News(const message::SourceEntry& entry) {
    Do([&](auto& context) { reduction_->OnNews(entry, context); });
  }
  void Arrives(std::uint32_t source) { News(Entry(source)); }
  void Unready(std::uint32_t source) {
    News({.object = Id(source), .state = message::SourceState::kUnready});
  }
  void Dies(std::uint32_t node, bool target_held = false) {
    lost_.Add(Ref(node));
    Do([&](auto& context) {
      reduction_->OnNodeLost(Ref(node), target_held, context);
    });
  }
  // The position's member says so; true where it is to be told later.
  bool Reports(std::uint32_t position, std::uint32_t lost,
               absl::StatusCode code = absl::StatusCode::kUnavailable) {
    bool later = false;
    Do([&](auto& context) {
      later = reduction_->OnAssignmentFailed(
          members_[position],
          {.target = kTarget,
           .position = position,
           .output = assignments_[position].output,
           .code = code,
           .lost = lost == 0 ? NodeRef() : Ref(lost)},
          context);
    });
    return later;
  }
  // The node is dead, its only copy of the source too, and that is known.
  void DiesWithSource(std::uint32_t source) {
    const std::uint32_t position = source - 1;
    Dies(100 + source);
    if (position + 1 < assignments_.size()) Reports(position + 1, 100 + source);
    Unready(source);
  }
  std::vector<ObjectId> FinalSet() {
    Do([&](auto& context) {
      reduction_->OnTargetComplete(reduction_->target_generation(), context);
    });
    const auto answer = OnlySent<message::ReduceAnswer>(out_, Ref(50));
    return answer.has_value() ? answer->sources : std::vector<ObjectId>();
  }
  std::optional<message::ReduceAnswer> Answer() const {
    return OnlySent<message::ReduceAnswer>(out_, Ref(50));
  }

  ShardMap shard_map_ = AllShardsOn(Ref(1));
  LostNodes lost_;
  std::uint64_t counter_ = 0;
  std::optional<ReduceCoordinator> reduction_;
  Commands out_;
  std::vector<std::uint32_t> told_;  // positions assigned by the last event
  std::map<std::uint32_t, message::Assignment> assignments_;  // the latest
  std::map<std::uint32_t, NodeRef> members_;
};

// --- Who takes a lost position. ---------------------------------------------

TEST_F(ReduceMendingTest, ASpareTakesTheLostPosition) {
  Start(5, 4);
  Arrives(5);
  const Generation leaf = assignments_[0].output;
  const Generation target = reduction_->target_generation();
  EXPECT_TRUE(Reports(2, 102)) << "a suspicion";
  EXPECT_THAT(told_, IsEmpty());
  Dies(102);
  const auto ask = OnlySent<message::WatchSources>(out_);
  ASSERT_TRUE(ask.has_value()) << "is there another copy?";
  EXPECT_EQ(ask->entries[0].object, Id(2));
  EXPECT_THAT(ask->entries[0].avoid, ElementsAre(Ref(102)));
  Unready(2);
  EXPECT_EQ(members_[1], Ref(105));
  EXPECT_EQ(assignments_[1].source, Id(5));
  EXPECT_EQ(assignments_[1].inputs[0].generation, leaf) << "it is kept";
  EXPECT_EQ(assignments_[0].output, leaf);
  EXPECT_EQ(assignments_[2].inputs[0].member, Ref(105));
  EXPECT_EQ(assignments_[3].inputs[0].generation, assignments_[2].output);
  EXPECT_LT(target, reduction_->target_generation());
  EXPECT_THAT(FinalSet(), ElementsAre(Id(1), Id(3), Id(4), Id(5)));
}

TEST_F(ReduceMendingTest, TheDeathMayBeKnownBeforeTheReport) {
  Start(5, 4);
  Arrives(5);
  Dies(102);
  Unready(2);
  EXPECT_THAT(told_, IsEmpty()) << "its parent may have all of it";
  EXPECT_FALSE(Reports(2, 102));
  EXPECT_THAT(told_, ElementsAre(1, 2, 3));
  EXPECT_EQ(members_[1], Ref(105));
}

TEST_F(ReduceMendingTest, AnotherCopyComesBeforeASpare) {
  Start(5, 4);
  Arrives(5);
  Dies(102);
  Reports(2, 102);
  News(Entry(2, 202));
  EXPECT_EQ(members_[1], Ref(202));
  EXPECT_EQ(assignments_[1].source, Id(2));
  EXPECT_THAT(FinalSet(), ElementsAre(Id(1), Id(2), Id(3), Id(4)));
}

TEST_F(ReduceMendingTest, WithoutSparesItWaitsForTheNextArrival) {
  Start(5, 4);
  DiesWithSource(2);
  EXPECT_EQ(reduction_->state(), State::kRunning);
  const Generation root = assignments_[3].output;
  Arrives(5);
  EXPECT_THAT(told_, ElementsAre(1, 2));
  EXPECT_EQ(assignments_[3].output, root) << "it waits for its input already";
  EXPECT_EQ(assignments_[3].inputs[0].generation, assignments_[2].output);
  EXPECT_THAT(FinalSet(), ElementsAre(Id(1), Id(3), Id(4), Id(5)));
}

TEST_F(ReduceMendingTest, ASourceThatIsPutAgainCountsOnce) {
  Start(5, 4);
  DiesWithSource(2);
  message::SourceEntry again = Entry(2, 302);
  again.generation = PutOf(302);
  News(again);
  EXPECT_EQ(members_[1], Ref(302));
  EXPECT_EQ(assignments_[1].source_generation, PutOf(302));
  News(again);
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_THAT(FinalSet(), ElementsAre(Id(1), Id(2), Id(3), Id(4)));
}

TEST_F(ReduceMendingTest, WhoIsPutAgainAfterASpareTookItsPlaceIsASpare) {
  Start(5, 4);
  Arrives(5);
  DiesWithSource(2);
  message::SourceEntry again = Entry(2, 302);
  again.generation = PutOf(302);
  News(again);
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_THAT(FinalSet(), ElementsAre(Id(1), Id(3), Id(4), Id(5)));
}

TEST_F(ReduceMendingTest, ASpareThatIsLostIsNotTaken) {
  Start(6, 4);
  Arrives(5);
  Arrives(6);
  Dies(105);
  DiesWithSource(2);
  EXPECT_EQ(assignments_[1].source, Id(6));
}

TEST_F(ReduceMendingTest, AHolderThatIsKnownToBeDeadIsNotTaken) {
  Start(5, 4);
  lost_.Add(Ref(105));
  Arrives(5);  // its shard has not heard yet
  EXPECT_THAT(OnlySent<message::WatchSources>(out_)->entries[0].avoid,
              ElementsAre(Ref(105)));
  DiesWithSource(2);
  EXPECT_THAT(told_, IsEmpty()) << "nobody has taken the position";
  News(Entry(5, 205));
  EXPECT_EQ(members_[1], Ref(205));
}

// --- What starts again, and what does not. ----------------------------------

TEST_F(ReduceMendingTest, WhatTheParentHasInFullIsNotMadeAgain) {
  Start(5, 4);
  Arrives(5);
  Dies(101);
  Unready(1);
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_THAT(FinalSet(), ElementsAre(Id(1), Id(2), Id(3), Id(4)));
}

TEST_F(ReduceMendingTest, UnlessTheParentStartsAgain) {
  Start(6, 4);
  Arrives(5);
  Arrives(6);
  Dies(101);
  Unready(1);
  DiesWithSource(2);
  EXPECT_THAT(told_, ElementsAre(1, 2));
  EXPECT_EQ(members_[1], Ref(106)) << "its own came first, and is not there";
  EXPECT_EQ(members_[0], Ref(105));
  EXPECT_THAT(FinalSet(), ElementsAre(Id(3), Id(4), Id(5), Id(6)));
}

TEST_F(ReduceMendingTest, ALostRootIsReplacedAtOnce) {
  Start(4, 3);
  Arrives(4);
  const Generation target = reduction_->target_generation();
  Dies(103);
  EXPECT_EQ(reduction_->root(), std::nullopt);
  EXPECT_FALSE(reduction_->target_generation());
  Unready(3);
  EXPECT_THAT(told_, ElementsAre(2));
  EXPECT_EQ(reduction_->root(), Ref(104));
  EXPECT_LT(target, reduction_->target_generation());
  Do([&](auto& context) { reduction_->OnTargetComplete(target, context); });
  EXPECT_EQ(reduction_->state(), State::kRunning) << "of other bytes";
}

TEST_F(ReduceMendingTest, AWholeTargetElsewhereNeedsItsRootNoMore) {
  reduction_.emplace(ShardRef{kTarget.shard(), Epoch(3)},
                     message::ReduceAsk{.target = kTarget,
                                        .request = RequestId(9),
                                        .sources = {Id(1)},
                                        .count = 1});
  // The target cannot be final before its source is.
  message::SourceEntry nested = Entry(1);
  nested.state = message::SourceState::kReady;
  News(nested);
  FinalSet();
  Dies(101, /*target_held=*/true);
  EXPECT_EQ(reduction_->state(), State::kRunning);
  EXPECT_TRUE(reduction_->target_generation());
  nested.state = message::SourceState::kFinal;
  News(nested);
  EXPECT_EQ(reduction_->state(), State::kFinal);
}

TEST_F(ReduceMendingTest, ANestedTargetsNewGenerationIsAChangeOfSource) {
  Start(5, 4);
  message::SourceEntry nested = Entry(5);
  nested.state = message::SourceState::kReady;
  News(nested);
  DiesWithSource(1);
  EXPECT_EQ(members_[0], Ref(105));
  nested.generation = PutOf(205);
  nested.holder = Ref(205);
  News(nested);
  EXPECT_THAT(told_, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(members_[0], Ref(205));
  const auto release = OnlySent<message::Release>(out_, Ref(105));
  ASSERT_TRUE(release.has_value());
  EXPECT_EQ(release->position, 0u);
  EXPECT_TRUE(release->output);
}

TEST_F(ReduceMendingTest, AStreamThatIsGivenUpLeavesTheSet) {
  Start(5, 4);
  message::SourceEntry stream = Entry(5);
  stream.state = message::SourceState::kReady;
  News(stream);
  DiesWithSource(1);
  ASSERT_EQ(members_[0], Ref(105));
  Unready(5);
  EXPECT_TRUE(OnlySent<message::Release>(out_, Ref(105)).has_value());
  EXPECT_EQ(reduction_->state(), State::kRunning);
  News(Entry(1, 201));
  EXPECT_EQ(members_[0], Ref(201));
}

// --- More than one loss. ----------------------------------------------------

TEST_F(ReduceMendingTest, TheReplacementMayBeLostToo) {
  Start(6, 4);
  Arrives(5);
  Arrives(6);
  DiesWithSource(2);
  ASSERT_EQ(members_[1], Ref(105));
  Dies(105);
  Reports(2, 105);
  Unready(5);
  EXPECT_EQ(members_[1], Ref(106));
  EXPECT_THAT(FinalSet(), ElementsAre(Id(1), Id(3), Id(4), Id(6)));
}

TEST_F(ReduceMendingTest, TwoMayBeLostAtOnce) {
  Start(6, 4);
  Arrives(5);
  Arrives(6);
  Dies(101);
  Dies(103);
  Reports(3, 103);
  Reports(1, 101);
  Unready(3);
  Unready(1);
  EXPECT_THAT(FinalSet(), ElementsAre(Id(2), Id(4), Id(5), Id(6)));
  EXPECT_EQ(assignments_[3].inputs[0].generation, assignments_[2].output);
  EXPECT_EQ(assignments_[1].inputs[0].generation, assignments_[0].output);
}

TEST_F(ReduceMendingTest, ALostCallerEndsNothing) {
  Start(4, 4);
  Do([&](auto& context) {
    reduction_->AddCaller(Ref(60), RequestId(3), context);
  });
  Dies(50);
  EXPECT_THAT(FinalSet(), IsEmpty());
  EXPECT_TRUE(OnlySent<message::ReduceAnswer>(out_, Ref(60)).has_value());
  EXPECT_EQ(reduction_->state(), State::kFinal);
}

// --- Members that live, and cannot. -----------------------------------------

TEST_F(ReduceMendingTest, WhoHasLostALivingInputIsToldAfterAWhile) {
  Start(4, 4);
  const Generation leaf = assignments_[0].output;
  const Generation stuck = assignments_[1].output;
  EXPECT_TRUE(Reports(1, 101));
  EXPECT_THAT(out_, IsEmpty());
  Do([&](auto& context) { reduction_->Retry(1, stuck, context); });
  EXPECT_THAT(told_, ElementsAre(1, 2, 3));
  EXPECT_EQ(assignments_[1].inputs[0].generation, leaf);
  Do([&](auto& context) { reduction_->Retry(1, stuck, context); });
  EXPECT_THAT(out_, IsEmpty()) << "late";
}

TEST_F(ReduceMendingTest, WhoHasNoRoomIsReplacedByAnotherCopysNode) {
  Start(5, 4);
  Arrives(5);
  Reports(1, 0, absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(OnlySent<message::WatchSources>(out_)->entries[0].avoid,
              ElementsAre(Ref(102)));
  News(Entry(2, 202));
  EXPECT_EQ(members_[1], Ref(202));
}

TEST_F(ReduceMendingTest, OrByASpare) {
  Start(5, 4);
  Arrives(5);
  Reports(1, 0, absl::StatusCode::kResourceExhausted);
  Unready(2);
  EXPECT_EQ(members_[1], Ref(105));
}

TEST_F(ReduceMendingTest, WhereNobodyElseMayComeItIsAnError) {
  Start(4, 4);
  Reports(1, 0, absl::StatusCode::kResourceExhausted);
  Unready(2);
  ASSERT_TRUE(Answer().has_value());
  EXPECT_EQ(Answer()->code, absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Answer()->reason, HasSubstr("node 102"));
}

TEST_F(ReduceMendingTest, WhoNoLongerHoldsItsSourceIsReplaced) {
  Start(5, 4);
  Arrives(5);
  Reports(1, 0, absl::StatusCode::kNotFound);
  Unready(2);
  EXPECT_EQ(members_[1], Ref(105));
  EXPECT_EQ(reduction_->state(), State::kRunning);
}

// Seen by reading: a member whose Release was lost with its stream kept the
// position, and its buffers, for good, as the reduction's end tells only those
// who fill one.
TEST_F(ReduceMendingTest, WhoMayHaveMissedThatAPositionIsAnothersIsToldAgain) {
  Start(5, 4);
  Arrives(5);
  const Generation missed = assignments_[1].output;
  Reports(1, 0, absl::StatusCode::kNotFound);
  Unready(2);
  ASSERT_EQ(members_[1], Ref(105));
  Do([&](auto& context) { reduction_->AssignAgain(Ref(102), context); });
  bool told = false;
  for (const auto& release : Sent<message::Release>(out_, Ref(102))) {
    EXPECT_EQ(release.target, kTarget);
    told |= release.position == 1 && release.output >= missed;
  }
  EXPECT_TRUE(told);
  EXPECT_THAT(told_, IsEmpty()) << "it fills none";
}

TEST_F(ReduceMendingTest, WhoMayHaveMissedItsAssignmentIsAssignedItAgain) {
  Start(4, 4);
  const message::Assignment missed = std::exchange(assignments_, {})[1];
  Do([&](auto& context) { reduction_->AssignAgain(Ref(102), context); });
  EXPECT_THAT(told_, ElementsAre(1));
  EXPECT_EQ(assignments_[1], missed);
  for (const auto& release : Sent<message::Release>(out_, Ref(102))) {
    EXPECT_NE(release.position, 1u);
  }
}

TEST_F(ReduceMendingTest, ALateReportIsIgnored) {
  Start(4, 4);
  Do([&](auto& context) {
    message::AssignmentFailed failed{
        .target = kTarget, .position = 1, .output = testing::TargetNumber(99)};
    EXPECT_FALSE(reduction_->OnAssignmentFailed(Ref(102), failed, context));
    failed.output = assignments_[1].output;
    EXPECT_FALSE(reduction_->OnAssignmentFailed(Ref(77), failed, context));
    failed.position = 9;
    EXPECT_FALSE(reduction_->OnAssignmentFailed(Ref(102), failed, context));
  });
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(ReduceMendingTest, AnyOtherNodeMayBeLost) {
  Start(4, 4);
  Dies(7);
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(ReduceMendingTest, TheDeadAreNotReleased) {
  Start(4, 4);
  Dies(101);
  Unready(1);
  FinalSet();
  EXPECT_THAT(Sent<message::Release>(out_), SizeIs(3));
}

}  // namespace
}  // namespace hoplite
