#include "hoplite/core/reduce/reduce_member.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hoplite/core/testing/local_node.h"

namespace hoplite {
namespace {

using testing::All;
using ::testing::ElementsAre;
using testing::Id;
using ::testing::IsEmpty;
using testing::LocalNode;
using testing::Only;
using testing::OnlySent;
using testing::PutOf;
using testing::Ref;
using testing::Sent;
using ::testing::SizeIs;
using testing::TargetNumber;

constexpr std::uint64_t kSize = 1000;
constexpr std::uint32_t kSelf = LocalNode::kSelf;
const NodeRef kCoordinator = Ref(7);

// Node 5's part in reductions that node 7 coordinates. The target is Id(100);
// position p has source Id(p), put here, and output generation p + 10.
class ReduceMemberTest : public ::testing::Test {
 protected:
  ReduceMemberTest() : member_(objects_) {}

  static Generation OutputOf(std::uint32_t position) {
    return TargetNumber(position + 10);
  }
  // The source of a position, put and sealed on this node.
  BufferId PutSource(std::uint32_t number, bool sealed = true) {
    BufferId buffer;
    Do([&](NodeContext& context) {
      buffer = node_.buffers.Create(PutOwner{RequestId(number), Id(number)},
                                    kSize, nullptr, context.out);
      node_.buffers.OnCreated(buffer, context.out);
      objects_.InstallPut(context, Id(number), PutOf(kSelf, number), kSize,
                          buffer);
      if (sealed) {
        objects_.SealPut(context, Id(number), PutOf(kSelf, number), true);
      }
      member_.OnObjectHere(context, Id(number));
    });
    return buffer;
  }
  message::Assignment AssignmentOf(std::uint32_t position,
                                   std::vector<message::ReduceInput> inputs,
                                   bool root = false) const {
    return {.at = node_.At(kTarget),
            .target = kTarget,
            .position = position,
            .output = OutputOf(position),
            .source = Id(position),
            .source_generation = PutOf(kSelf, position),
            .inputs = std::move(inputs),
            .op = ReduceOp::kAverage,
            .type = DataType::kF64,
            .size = kSize,
            .frame_bytes = 64,
            .divisor = root ? 3u : 1u,
            .root = root};
  }
  static message::ReduceInput InputOf(std::uint32_t position,
                                      std::uint32_t node) {
    return {position, OutputOf(position), Ref(node)};
  }
  void Assign(const message::Assignment& assignment) {
    Do([&](NodeContext& context) {
      member_.OnAssignment(context, kCoordinator, assignment);
    });
  }
  // The shard answers the ask for a position's source with its bytes.
  void GrantSource(std::uint32_t number) {
    const message::GrantInline grant{
        .at = node_.At(Id(number)),
        .object = Id(number),
        .ask = last_ask_,
        .generation = PutOf(kSelf, number),
        .payload = MakePayload(std::string(kSize, 'x'))};
    Do([&](NodeContext& context) { objects_.OnGrantInline(context, grant); });
  }
  void SourceCreated(std::uint32_t number) {
    Do([&](NodeContext& context) {
      if (node_.buffers.OnCreated(last_buffer_, context.out) == nullptr) return;
      objects_.OnBufferCreated(context, Id(number), last_buffer_);
      member_.OnObjectHere(context, Id(number));
    });
  }
  void SourceRefused(std::uint32_t number, std::uint64_t capacity) {
    Do([&](NodeContext& context) {
      if (!node_.buffers.TakeRefused(last_buffer_).has_value()) return;
      objects_.OnBufferRefused(context, Id(number), capacity);
      if (capacity < kSize) member_.OnObjectTooLarge(context, Id(number));
    });
  }
  void BufferCreated() {
    Do([&](NodeContext& context) {
      const BufferTable::Entry* entry =
          node_.buffers.OnCreated(last_buffer_, context.out);
      if (entry == nullptr) return;
      const BufferOwner owner = entry->owner;
      member_.OnBufferCreated(context, std::get<OutputOwner>(owner));
    });
  }
  void BufferRefused(std::uint64_t capacity) {
    Do([&](NodeContext& context) {
      const auto entry = node_.buffers.TakeRefused(last_buffer_);
      if (!entry.has_value()) return;
      member_.OnBufferRefused(context, std::get<OutputOwner>(entry->owner),
                              capacity);
    });
  }
  void Release() {
    Do([&](NodeContext& context) {
      member_.OnRelease(context, {.target = kTarget});
    });
  }
  void DropTarget(Generation generation) {
    Do([&](NodeContext& context) {
      const message::Drop drop{
          .at = node_.At(kTarget), .object = kTarget, .generation = generation};
      member_.OnDrop(context, drop);
      objects_.OnDrop(context, kCoordinator, drop);
    });
  }
  // As the coordinator ends a reduction that has failed.
  void Fail(Generation generation) {
    Release();
    Commands before = std::exchange(out_, {});
    DropTarget(generation);
    before.insert(before.end(), out_.begin(), out_.end());
    out_ = std::move(before);
  }
  void FoldDone() {
    Do([&](NodeContext& context) { member_.OnFoldDone(context, last_fold_); });
  }
  void Pull(std::uint64_t pull, std::uint32_t position, Generation generation) {
    Do([&](NodeContext& context) {
      member_.OnPull(context, {.pull = PullId(pull),
                               .peer = Ref(8),
                               .key = {kTarget, position},
                               .generation = generation});
    });
  }

  template <typename Act>
  void Do(Act act) {
    out_ = node_.Do(act);
    for (const auto& create : All<command::CreateBuffer>(out_)) {
      last_buffer_ = create.buffer;
    }
    for (const auto& ask : Sent<message::Ask>(out_)) last_ask_ = ask.ask;
    for (const auto& start : All<command::StartFold>(out_)) {
      last_fold_ = start.fold;
    }
  }
  std::optional<LocalObjectStatus> StatusOf(const ObjectId& object) const {
    std::vector<LocalObjectStatus> all;
    objects_.AppendStatus(all);
    for (const LocalObjectStatus& status : all) {
      if (status.object == object) return status;
    }
    return std::nullopt;
  }

  const ObjectId kTarget = Id(100);
  LocalNode node_;
  LocalObjects objects_;
  ReduceMember member_;
  Commands out_;
  BufferId last_buffer_;
  AskNumber last_ask_;
  FoldId last_fold_;
};

// --- Leaves, inner positions, roots. ----------------------------------------

TEST_F(ReduceMemberTest, ALeafsOutputIsItsSource) {
  const BufferId source = PutSource(2);
  Assign(AssignmentOf(2, {}));
  EXPECT_THAT(out_, IsEmpty()) << "nothing to fold, nothing to make";
  EXPECT_EQ(member_.size(), 1u);
  Pull(1, 2, OutputOf(2));
  EXPECT_EQ(Only<command::ServePull>(out_)->buffer, source);
}

TEST_F(ReduceMemberTest, AnInnerPositionFoldsItsSourceWithItsInputs) {
  const BufferId source = PutSource(3);
  Assign(AssignmentOf(3, {InputOf(2, 8), InputOf(4, 9)}));
  EXPECT_EQ(Only<command::CreateBuffer>(out_)->size, kSize);
  BufferCreated();
  const auto fold = Only<command::StartFold>(out_);
  ASSERT_TRUE(fold.has_value());
  EXPECT_EQ(fold->target, kTarget);
  EXPECT_EQ(fold->own, source);
  EXPECT_EQ(fold->output, last_buffer_);
  EXPECT_EQ(fold->op, ReduceOp::kAverage);
  EXPECT_EQ(fold->type, DataType::kF64);
  EXPECT_EQ(fold->divisor, 1u);
  EXPECT_EQ(fold->size, kSize);
  EXPECT_EQ(fold->frame_bytes, 64u);
  ASSERT_THAT(fold->inputs, SizeIs(2));
  EXPECT_EQ(fold->inputs[0].position, 2u);
  EXPECT_EQ(fold->inputs[0].generation, OutputOf(2));
  EXPECT_EQ(fold->inputs[0].member, Ref(8));
  EXPECT_FALSE(fold->inputs[0].local);
  EXPECT_EQ(fold->inputs[1].member, Ref(9));
  FoldDone();
  EXPECT_THAT(out_, IsEmpty()) << "only the root's end is told";
}

TEST_F(ReduceMemberTest, AnOutputIsServedWhileItIsMade) {
  PutSource(3);
  Assign(AssignmentOf(3, {InputOf(2, 8)}));
  BufferCreated();
  Pull(1, 3, OutputOf(3));
  EXPECT_EQ(Only<command::ServePull>(out_)->buffer, last_buffer_);
}

TEST_F(ReduceMemberTest, TheRootsOutputIsTheTarget) {
  PutSource(3);
  Assign(AssignmentOf(3, {InputOf(2, 8)}, /*root=*/true));
  BufferCreated();
  EXPECT_EQ(Only<command::StartFold>(out_)->divisor, 3u);
  ASSERT_TRUE(StatusOf(kTarget).has_value());
  EXPECT_EQ(StatusOf(kTarget)->state, "producing");
  EXPECT_EQ(StatusOf(kTarget)->generation, OutputOf(3));
  FoldDone();
  const auto complete = OnlySent<message::CopyComplete>(out_);
  ASSERT_TRUE(complete.has_value());
  EXPECT_EQ(complete->object, kTarget);
  EXPECT_EQ(complete->generation, OutputOf(3));
  EXPECT_EQ(StatusOf(kTarget)->state, "complete");
}

TEST_F(ReduceMemberTest, ItsStatusTellsWhereInTheTreeEachPositionIs) {
  const BufferId source = PutSource(2);
  Assign(AssignmentOf(2, {}));
  PutSource(3);
  Assign(AssignmentOf(3, {InputOf(2, 8), InputOf(4, 9)}, /*root=*/true));
  BufferCreated();
  std::vector<PositionStatus> all;
  member_.AppendStatus(all);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].target, kTarget);
  EXPECT_EQ(all[0].position, 2u);
  EXPECT_FALSE(all[0].root);
  EXPECT_THAT(all[0].inputs, IsEmpty());
  EXPECT_EQ(all[0].output, source);
  EXPECT_EQ(all[1].position, 3u);
  EXPECT_TRUE(all[1].root);
  EXPECT_THAT(all[1].inputs, ElementsAre(Ref(8), Ref(9)));
  EXPECT_EQ(all[1].output, last_buffer_);
}

TEST_F(ReduceMemberTest, AReductionOfOneIsItsSource) {
  const BufferId source = PutSource(0);
  Assign(AssignmentOf(0, {}, /*root=*/true));
  EXPECT_THAT(All<command::CreateBuffer>(out_), IsEmpty());
  const auto fold = Only<command::StartFold>(out_);
  ASSERT_TRUE(fold.has_value()) << "to learn when the source is complete";
  EXPECT_EQ(fold->own, source);
  EXPECT_EQ(fold->output, source);
  EXPECT_THAT(fold->inputs, IsEmpty());
  FoldDone();
  EXPECT_EQ(StatusOf(kTarget)->state, "complete");
  Release();
  EXPECT_EQ(member_.size(), 0u);
  EXPECT_THAT(All<command::ReleaseBuffer>(out_), IsEmpty())
      << "source and target still hold it";
}

// --- Several positions on one node. -----------------------------------------

TEST_F(ReduceMemberTest, AnInputMadeHereIsNotPulled) {
  const BufferId leaf = PutSource(0);
  PutSource(1);
  Assign(AssignmentOf(0, {}));
  Assign(AssignmentOf(1, {InputOf(0, kSelf)}));
  BufferCreated();
  const auto fold = Only<command::StartFold>(out_);
  ASSERT_TRUE(fold.has_value());
  ASSERT_THAT(fold->inputs, SizeIs(1));
  EXPECT_EQ(fold->inputs[0].local, leaf);
}

TEST_F(ReduceMemberTest, AFoldWaitsForTheInputsThatAreMadeHere) {
  PutSource(1);
  PutSource(0);
  Assign(AssignmentOf(1, {InputOf(0, kSelf)}));
  BufferCreated();
  EXPECT_THAT(All<command::StartFold>(out_), IsEmpty());
  Assign(AssignmentOf(0, {}));
  EXPECT_TRUE(Only<command::StartFold>(out_).has_value());
}

TEST_F(ReduceMemberTest, AWholeChainOnOneNode) {
  for (std::uint32_t p = 0; p < 5; ++p) PutSource(p);
  std::vector<command::StartFold> folds;
  for (std::uint32_t p = 0; p < 5; ++p) {
    Assign(p == 0 ? AssignmentOf(0, {})
                  : AssignmentOf(p, {InputOf(p - 1, kSelf)}, p == 4));
    if (p > 0) BufferCreated();
    for (auto& fold : All<command::StartFold>(out_)) folds.push_back(fold);
  }
  ASSERT_THAT(folds, SizeIs(4));
  for (std::size_t i = 1; i < folds.size(); ++i) {
    EXPECT_EQ(folds[i].inputs[0].local, folds[i - 1].output);
  }
  Fail(OutputOf(4));
  EXPECT_EQ(member_.size(), 0u);
  EXPECT_EQ(All<command::CancelFold>(out_).size(), 4u);
  EXPECT_EQ(All<command::ReleaseBuffer>(out_).size(), 4u)
      << "the leaf's stays with its source";
}

TEST_F(ReduceMemberTest, InputsFromHereAndElsewhereMix) {
  PutSource(0);
  PutSource(1);
  Assign(AssignmentOf(0, {}));
  Assign(AssignmentOf(1, {InputOf(0, kSelf), InputOf(2, 9)}));
  BufferCreated();
  const auto fold = Only<command::StartFold>(out_);
  ASSERT_TRUE(fold.has_value());
  EXPECT_TRUE(fold->inputs[0].local);
  EXPECT_FALSE(fold->inputs[1].local);
}

// --- Sources that are not here yet. -----------------------------------------

// Symptom (seed 10610): a reduction ended with kDataLoss, and nothing was lost.
// Cause: its source stood in the record, and the node that had been pushed its
// bytes, and was named as its holder, had had no room for them.
TEST_F(ReduceMemberTest, ASourceThatIsNotHereIsFetched) {
  Assign(AssignmentOf(3, {InputOf(2, 8)}));
  EXPECT_EQ(OnlySent<message::Ask>(out_)->object, Id(3));
  GrantSource(3);
  SourceRefused(3, 2 * kSize);
  EXPECT_THAT(Sent<message::AssignmentFailed>(out_), IsEmpty());
  EXPECT_EQ(StatusOf(Id(3))->state, "no room");

  Do([&](NodeContext& context) { objects_.AskAgain(context, Id(3)); });
  GrantSource(3);
  const BufferId source = last_buffer_;
  SourceCreated(3);
  BufferCreated();
  EXPECT_EQ(Only<command::StartFold>(out_)->own, source);
}

TEST_F(ReduceMemberTest, ASourceThatNeverFitsFails) {
  Assign(AssignmentOf(3, {InputOf(2, 8)}));
  GrantSource(3);
  SourceRefused(3, kSize / 2);
  const auto failed = OnlySent<message::AssignmentFailed>(out_, kCoordinator);
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->target, kTarget);
  EXPECT_EQ(failed->position, 3u);
  EXPECT_EQ(failed->output, OutputOf(3));
  EXPECT_EQ(failed->code, absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(member_.size(), 0u);
  EXPECT_FALSE(StatusOf(Id(3)).has_value());
}

TEST_F(ReduceMemberTest, ASourcesFetchEndsWithTheReduction) {
  Assign(AssignmentOf(3, {InputOf(2, 8)}));
  Release();
  EXPECT_EQ(OnlySent<message::Withdraw>(out_)->ask, last_ask_);
  EXPECT_FALSE(StatusOf(Id(3)).has_value());
}

TEST_F(ReduceMemberTest, ASourceThatWasDeletedIsLeftToItsReduction) {
  Assign(AssignmentOf(3, {InputOf(2, 8)}));
  Do([&](NodeContext& context) {
    objects_.OnRefusal(context, {.at = node_.At(Id(3)),
                                 .object = Id(3),
                                 .ask = last_ask_,
                                 .code = absl::StatusCode::kNotFound});
  });
  EXPECT_FALSE(StatusOf(Id(3)).has_value());
  EXPECT_EQ(member_.size(), 1u);
  Release();
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(ReduceMemberTest, ASourceOfAnotherSizeFails) {
  PutSource(3);
  message::Assignment assignment = AssignmentOf(3, {InputOf(2, 8)});
  assignment.size = kSize + 8;
  Assign(assignment);
  EXPECT_TRUE(OnlySent<message::AssignmentFailed>(out_).has_value());
  EXPECT_EQ(member_.size(), 0u);
}

// Symptom: a reduction failed that should not have. Cause: its assignment
// overtook the answer to the Put of the source.
TEST_F(ReduceMemberTest, AnAssignmentWaitsForThePutOfItsSource) {
  Assign(AssignmentOf(3, {InputOf(2, 8)}));
  EXPECT_THAT(All<command::CreateBuffer>(out_), IsEmpty());
  const BufferId source = PutSource(3);
  EXPECT_THAT(All<command::CreateBuffer>(out_), SizeIs(2))
      << "the source's and the output's";
  BufferCreated();
  EXPECT_EQ(Only<command::StartFold>(out_)->own, source);
}

TEST_F(ReduceMemberTest, AnAssignmentWaitsForATargetThatIsMadeHere) {
  // The outer reduction's source is Id(100), whose root is here.
  message::Assignment outer = AssignmentOf(0, {InputOf(1, 8)});
  outer.target = Id(200);
  outer.source = kTarget;
  outer.source_generation = OutputOf(3);
  Assign(outer);
  EXPECT_THAT(All<command::CreateBuffer>(out_), IsEmpty());
  PutSource(3);
  Assign(AssignmentOf(3, {InputOf(2, 8)}, /*root=*/true));
  const BufferId inner = last_buffer_;
  BufferCreated();
  const auto create = Only<command::CreateBuffer>(out_);
  ASSERT_TRUE(create.has_value()) << "the outer one's output";
  BufferCreated();
  EXPECT_EQ(Only<command::StartFold>(out_)->own, inner);
}

TEST_F(ReduceMemberTest, AWaitingPositionEndsWithItsReduction) {
  Assign(AssignmentOf(3, {InputOf(2, 8)}));
  Release();
  EXPECT_EQ(member_.size(), 0u);
  PutSource(3);
  EXPECT_THAT(All<command::CreateBuffer>(out_), SizeIs(1)) << "the Put's own";
}

TEST_F(ReduceMemberTest, AStreamedSourceIsFoldedBeforeItsSeal) {
  const BufferId source = PutSource(3, /*sealed=*/false);
  Assign(AssignmentOf(3, {InputOf(2, 8)}));
  BufferCreated();
  EXPECT_EQ(Only<command::StartFold>(out_)->own, source);
}

// Symptom: a reduction failed, or folded what was gone. Cause: its source was
// dropped between the assignment and the fold.
TEST_F(ReduceMemberTest, ASourceIsHeldFromTheAssignmentOn) {
  const BufferId source = PutSource(3);
  Assign(AssignmentOf(3, {InputOf(2, 8)}));
  Do([&](NodeContext& context) {
    objects_.OnDrop(context, Ref(1),
                    {.at = node_.At(Id(3)),
                     .object = Id(3),
                     .generation = PutOf(kSelf, 3)});
  });
  EXPECT_THAT(All<command::ReleaseBuffer>(out_), IsEmpty());
  BufferCreated();
  EXPECT_EQ(Only<command::StartFold>(out_)->own, source);
  Release();
  EXPECT_THAT(All<command::ReleaseBuffer>(out_), SizeIs(2));
  EXPECT_EQ(node_.buffers.size(), 0u);
}

// --- Room. ------------------------------------------------------------------

TEST_F(ReduceMemberTest, AnOutputThatFindsNoRoomWaits) {
  PutSource(3);
  Assign(AssignmentOf(3, {InputOf(2, 8)}));
  BufferRefused(2 * kSize);
  EXPECT_THAT(out_, IsEmpty());
  const OutputOwner owner{{kTarget, 3}, OutputOf(3)};
  EXPECT_EQ(node_.buffers.TakeWaiting(), (std::vector<BufferOwner>{owner}));
  Do([&](NodeContext& context) { member_.TryAgain(context, owner); });
  EXPECT_TRUE(Only<command::CreateBuffer>(out_).has_value());
  Do([&](NodeContext& context) { member_.TryAgain(context, owner); });
  EXPECT_THAT(out_, IsEmpty()) << "it is being tried";
  BufferCreated();
  EXPECT_TRUE(Only<command::StartFold>(out_).has_value());
}

TEST_F(ReduceMemberTest, AnOutputThatNeverFitsFails) {
  PutSource(3);
  Assign(AssignmentOf(3, {InputOf(2, 8)}));
  BufferRefused(kSize - 1);
  const auto failed = OnlySent<message::AssignmentFailed>(out_);
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->code, absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(member_.size(), 0u);
  EXPECT_FALSE(node_.buffers.anyone_waits());
}

TEST_F(ReduceMemberTest, AReleaseEndsTheWaitForRoom) {
  PutSource(3);
  Assign(AssignmentOf(3, {InputOf(2, 8)}));
  BufferRefused(2 * kSize);
  Release();
  EXPECT_FALSE(node_.buffers.anyone_waits());
  Do([&](NodeContext& context) {
    member_.TryAgain(context, {{kTarget, 3}, OutputOf(3)});
  });
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(ReduceMemberTest, AReleaseMayComeBeforeTheBuffer) {
  PutSource(3);
  Assign(AssignmentOf(3, {InputOf(2, 8)}, /*root=*/true));
  Release();
  EXPECT_THAT(All<command::ReleaseBuffer>(out_), IsEmpty());
  BufferCreated();
  EXPECT_EQ(Only<command::ReleaseBuffer>(out_)->buffer, last_buffer_);
  EXPECT_FALSE(StatusOf(kTarget).has_value());
}

// --- Pulls. -----------------------------------------------------------------

TEST_F(ReduceMemberTest, APullIsKeptUntilTheAssignmentComes) {
  PutSource(2);
  Pull(1, 2, OutputOf(2));
  EXPECT_THAT(out_, IsEmpty());
  Assign(AssignmentOf(2, {}));
  EXPECT_EQ(Only<command::ServePull>(out_)->pull, PullId(1));
}

TEST_F(ReduceMemberTest, APullIsKeptUntilTheOutputHasRoom) {
  PutSource(3);
  Assign(AssignmentOf(3, {InputOf(2, 8)}));
  Pull(1, 3, OutputOf(3));
  EXPECT_THAT(out_, IsEmpty());
  BufferCreated();
  EXPECT_EQ(Only<command::ServePull>(out_)->pull, PullId(1));
}

TEST_F(ReduceMemberTest, AnOlderOutputIsRefusedAndANewerOneAwaited) {
  PutSource(2);
  Assign(AssignmentOf(2, {}));
  Pull(1, 2, TargetNumber(1));
  EXPECT_EQ(Only<command::RefusePull>(out_)->pull, PullId(1));
  Pull(2, 2, TargetNumber(99));
  EXPECT_THAT(out_, IsEmpty());
  message::Assignment newer = AssignmentOf(2, {});
  newer.output = TargetNumber(99);
  Assign(newer);
  EXPECT_EQ(Only<command::ServePull>(out_)->pull, PullId(2));
}

TEST_F(ReduceMemberTest, PullsEndWithTheReduction) {
  PutSource(2);
  Assign(AssignmentOf(2, {}));
  Pull(1, 2, OutputOf(2));
  Pull(2, 9, OutputOf(9));  // a position that never comes
  Release();
  EXPECT_THAT(All<command::RefusePull>(out_), SizeIs(2));
  for (std::uint64_t pull : {1, 2}) {
    Do([&](NodeContext&) { member_.OnPullEnded(PullId(pull)); });
    EXPECT_THAT(out_, IsEmpty());
  }
}

TEST_F(ReduceMemberTest, APullThatEndedIsNotServedLater) {
  PutSource(2);
  Pull(1, 2, OutputOf(2));
  Do([&](NodeContext&) { member_.OnPullEnded(PullId(1)); });
  Assign(AssignmentOf(2, {}));
  EXPECT_THAT(All<command::ServePull>(out_), IsEmpty());
}

// --- Repeats, and ends. -----------------------------------------------------

TEST_F(ReduceMemberTest, ARepeatedAssignmentChangesNothing) {
  PutSource(3);
  const message::Assignment assignment = AssignmentOf(3, {InputOf(2, 8)});
  Assign(assignment);
  Assign(assignment);
  EXPECT_THAT(out_, IsEmpty());
  BufferCreated();
  Assign(assignment);
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_EQ(member_.size(), 1u);
}

TEST_F(ReduceMemberTest, ALateAssignmentChangesNothing) {
  PutSource(3);
  Assign(AssignmentOf(3, {InputOf(2, 8)}));
  message::Assignment late = AssignmentOf(3, {InputOf(2, 9)});
  late.output = TargetNumber(1);
  Assign(late);
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(ReduceMemberTest, ANewerAssignmentStartsAgain) {
  PutSource(3);
  Assign(AssignmentOf(3, {InputOf(2, 8)}));
  BufferCreated();
  const FoldId fold = last_fold_;
  const BufferId output = last_buffer_;
  Pull(1, 3, OutputOf(3));
  message::Assignment newer = AssignmentOf(3, {InputOf(2, 9)});
  newer.output = TargetNumber(99);
  Assign(newer);
  EXPECT_EQ(Only<command::CancelFold>(out_)->fold, fold);
  EXPECT_EQ(Only<command::RefusePull>(out_)->pull, PullId(1));
  EXPECT_EQ(Only<command::ReleaseBuffer>(out_)->buffer, output);
  EXPECT_NE(Only<command::CreateBuffer>(out_)->buffer, output);
  Do([&](NodeContext& context) { member_.OnFoldDone(context, fold); });
  EXPECT_THAT(out_, IsEmpty()) << "the end of what was cancelled";
}

TEST_F(ReduceMemberTest, AFoldThatFailsIsReportedWithWhoFailedIt) {
  PutSource(3);
  Assign(AssignmentOf(3, {InputOf(2, 8)}));
  BufferCreated();
  Do([&](NodeContext& context) {
    member_.OnFoldFailed(context, {last_fold_, Ref(8)});
  });
  const auto failed = OnlySent<message::AssignmentFailed>(out_);
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->code, absl::StatusCode::kUnavailable);
  EXPECT_EQ(failed->lost, Ref(8));
  Do([&](NodeContext& context) {
    member_.OnFoldFailed(context, {last_fold_, Ref(8)});
  });
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(ReduceMemberTest, OutputsAreKeptUntilTheReductionHasEnded) {
  PutSource(3);
  Assign(AssignmentOf(3, {InputOf(2, 8)}));
  BufferCreated();
  FoldDone();
  Pull(1, 3, OutputOf(3));
  EXPECT_TRUE(Only<command::ServePull>(out_).has_value());
  Release();
  EXPECT_EQ(Only<command::ReleaseBuffer>(out_)->buffer, last_buffer_);
  Release();
  EXPECT_THAT(out_, IsEmpty()) << "repeated";
}

// Symptom: on the root's node a Get of the target ended at its deadline. Cause:
// another node had reported all bytes, and the reduction's end cancelled the
// fold before this node had heard that it was done.
TEST_F(ReduceMemberTest, TheRootGoesOnUntilItsFoldIsDone) {
  PutSource(3);
  Assign(AssignmentOf(3, {InputOf(2, 8)}, /*root=*/true));
  BufferCreated();
  Release();
  EXPECT_THAT(All<command::CancelFold>(out_), IsEmpty());
  FoldDone();
  EXPECT_EQ(StatusOf(kTarget)->state, "complete");
  EXPECT_EQ(member_.size(), 0u);
}

TEST_F(ReduceMemberTest, AReleasedRootThatFailsIsOver) {
  PutSource(3);
  Assign(AssignmentOf(3, {InputOf(2, 8)}, /*root=*/true));
  BufferCreated();
  Release();
  Do([&](NodeContext& context) {
    member_.OnFoldFailed(context, {last_fold_, Ref(8)});
  });
  EXPECT_THAT(Sent<message::AssignmentFailed>(out_), IsEmpty());
  EXPECT_EQ(member_.size(), 0u);
}

// Symptom (seed 5978): a fold of a target that was deleted waited for its input
// for ever. Cause: its reduction had started again and waited for a source, so
// the target was dropped long before the Release, which waited for the Drop.
TEST_F(ReduceMemberTest, ARootWhoseTargetWasDroppedEndsWithItsReduction) {
  PutSource(3);
  Assign(AssignmentOf(3, {InputOf(2, 8)}, /*root=*/true));
  BufferCreated();
  DropTarget(OutputOf(3));
  EXPECT_THAT(All<command::CancelFold>(out_), IsEmpty())
      << "it may be assigned anew";
  Release();
  EXPECT_EQ(Only<command::CancelFold>(out_)->fold, last_fold_);
  EXPECT_EQ(member_.size(), 0u);
}

// Symptom (seed 14999): as above, and the target was left "producing". Cause:
// the Drop came while the root waited for its buffer, and held nothing that
// could be dropped. With the buffer it made what nobody wanted any more.
TEST_F(ReduceMemberTest,
       ARootWhoseTargetWasDroppedBeforeItHadRoomMakesNothing) {
  PutSource(3);
  Assign(AssignmentOf(3, {InputOf(2, 8)}, /*root=*/true));
  DropTarget(OutputOf(3));
  BufferCreated();
  EXPECT_THAT(All<command::StartFold>(out_), IsEmpty());
  EXPECT_FALSE(StatusOf(kTarget).has_value());
  Release();
  EXPECT_THAT(All<command::ReleaseBuffer>(out_), SizeIs(1)) << "the output";
  EXPECT_EQ(member_.size(), 0u);
}

TEST_F(ReduceMemberTest, NorDoesOneWhoseSourceComesAfterTheDrop) {
  Assign(AssignmentOf(3, {}, /*root=*/true));
  DropTarget(OutputOf(3));
  GrantSource(3);
  SourceCreated(3);
  EXPECT_THAT(All<command::StartFold>(out_), IsEmpty());
  EXPECT_FALSE(StatusOf(kTarget).has_value());
}

TEST_F(ReduceMemberTest, ARootMakesTheNextGenerationOfADroppedTarget) {
  PutSource(3);
  Assign(AssignmentOf(3, {InputOf(2, 8)}, /*root=*/true));
  DropTarget(OutputOf(3));
  DropTarget(OutputOf(2));
  message::Assignment next = AssignmentOf(3, {InputOf(2, 8)}, /*root=*/true);
  next.output = OutputOf(4);
  Assign(next);
  BufferCreated();
  EXPECT_THAT(All<command::StartFold>(out_), SizeIs(1));
  EXPECT_EQ(StatusOf(kTarget)->generation, OutputOf(4));
  DropTarget(OutputOf(3));
  EXPECT_EQ(StatusOf(kTarget)->state, "producing") << "an earlier one's Drop";
}

TEST_F(ReduceMemberTest, AFailedReductionsRootIsCancelled) {
  PutSource(3);
  Assign(AssignmentOf(3, {InputOf(2, 8)}, /*root=*/true));
  BufferCreated();
  Fail(OutputOf(3));
  EXPECT_EQ(Only<command::CancelFold>(out_)->fold, last_fold_);
  EXPECT_TRUE(Only<command::ReleaseBuffer>(out_)->failed);
  EXPECT_EQ(member_.size(), 0u);
  EXPECT_FALSE(StatusOf(kTarget).has_value());
}

TEST_F(ReduceMemberTest, ATargetOfNoBytesIsCompleteAtOnce) {
  Do([&](NodeContext& context) {
    const BufferId buffer = node_.buffers.Create(PutOwner{RequestId(3), Id(3)},
                                                 0, nullptr, context.out);
    node_.buffers.OnCreated(buffer, context.out);
    objects_.InstallPut(context, Id(3), PutOf(kSelf, 3), 0, buffer);
  });
  message::Assignment assignment = AssignmentOf(3, {InputOf(2, 8)}, true);
  assignment.size = 0;
  Assign(assignment);
  BufferCreated();
  EXPECT_THAT(All<command::StartFold>(out_), IsEmpty());
  EXPECT_TRUE(OnlySent<message::CopyComplete>(out_).has_value());
  EXPECT_EQ(StatusOf(kTarget)->state, "complete");
}

TEST_F(ReduceMemberTest, OfTwoReductionsOnlyTheNamedOneIsReleased) {
  PutSource(2);
  Assign(AssignmentOf(2, {}));
  message::Assignment other = AssignmentOf(2, {});
  other.target = Id(101);
  Assign(other);
  EXPECT_EQ(member_.size(), 2u);
  Release();
  EXPECT_EQ(member_.size(), 1u);
}

}  // namespace
}  // namespace hoplite
