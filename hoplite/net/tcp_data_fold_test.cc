// Folds over loopback against the kernel applied to whole objects.

#include "hoplite/net/tcp_data_fold.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "hoplite/core/command.h"
#include "hoplite/kernels/fold.h"
#include "hoplite/net/tcp_data_testing.h"

namespace hoplite {
namespace {

constexpr std::uint64_t kFrame = 4096;
const ObjectId kTarget = TestObject(1);

PullKey Output(std::uint32_t position) {
  return {.object = kTarget, .position = position};
}

// Random small numbers of the type, so that nothing overflows.
BufferPtr NewNumbers(DataType type, std::uint64_t size, std::uint64_t seed) {
  const BufferPtr raw = NewFilledBuffer(size, seed);
  const BufferPtr numbers = NewBuffer(size);
  for (std::uint64_t i = 0; i < size; i += SizeOf(type)) {
    const float value = static_cast<float>(raw->bytes()[i]) / 64.0f - 2.0f;
    if (type == DataType::kF32) {
      std::memcpy(&numbers->data()[i], &value, sizeof(value));
    } else {
      const auto high =
          static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
      std::memcpy(&numbers->data()[i], &high, sizeof(high));
    }
  }
  numbers->Advance(size);
  return numbers;
}

BufferPtr Folded(const FoldSpec& spec, const std::vector<BufferPtr>& inputs) {
  std::vector<std::span<const std::byte>> spans;
  for (const BufferPtr& input : inputs) spans.push_back(input->bytes());
  const BufferPtr result = NewBuffer(inputs[0]->size());
  Fold(spec, result->data(), spans);
  result->Advance(result->size());
  return result;
}

struct FoldOptions {
  DataType type = DataType::kF32;
  ReduceOp op = ReduceOp::kSum;
  std::uint64_t divisor = 1;
  std::uint64_t frame_bytes = kFrame;
};

command::StartFold MakeFold(std::uint64_t id, const BufferPtr& output,
                            const FoldOptions& options = {}) {
  command::StartFold order;
  order.fold = FoldId(id);
  order.target = kTarget;
  order.op = options.op;
  order.type = options.type;
  order.divisor = options.divisor;
  order.size = output->size();
  order.frame_bytes = options.frame_bytes;
  return order;
}

void AddRemote(command::StartFold& order, std::uint32_t position,
               const DataNode& node) {
  order.inputs.push_back({.position = position,
                          .generation = TestGeneration(1),
                          .member = node.ref(),
                          .local = BufferId()});
}

// nullopt: done.
std::optional<event::FoldFailed> WaitForFold(DataNode& node, FoldId fold) {
  std::optional<event::FoldFailed> failed;
  EXPECT_TRUE(node.WaitFor([&](const Event& event) {
    if (const auto* done = std::get_if<event::FoldDone>(&event)) {
      return done->fold == fold;
    }
    const auto* failure = std::get_if<event::FoldFailed>(&event);
    if (failure == nullptr || failure->fold != fold) return false;
    failed = *failure;
    return true;
  }));
  return failed;
}

struct Cluster {
  explicit Cluster(std::uint32_t count) {
    for (std::uint32_t i = 1; i <= count; ++i) {
      nodes.push_back(std::make_unique<DataNode>(i));
      all.push_back(nodes.back().get());
    }
    Introduce(all);
  }
  DataNode& operator[](std::size_t i) { return *nodes[i]; }

  std::vector<std::unique_ptr<DataNode>> nodes;
  std::vector<DataNode*> all;
};

class FoldSizeTest : public testing::TestWithParam<std::uint64_t> {};

TEST_P(FoldSizeTest, AChainAddsWhatItsMembersHave) {
  const std::uint64_t size = GetParam();
  Cluster cluster(5);
  std::vector<BufferPtr> sources;
  std::vector<BufferPtr> outputs;
  for (std::uint32_t i = 0; i < 5; ++i) {
    sources.push_back(NewNumbers(DataType::kF32, size, i));
    outputs.push_back(i == 0 ? sources[0] : NewBuffer(size));
    cluster[i].Offer(Output(i), outputs[i]);
  }
  // From the root down, so that every fold begins before its input is there.
  for (std::uint32_t i = 4; i >= 1; --i) {
    command::StartFold order = MakeFold(i, outputs[i]);
    AddRemote(order, i - 1, cluster[i - 1]);
    cluster[i].plane().StartFold(order, outputs[i], sources[i], {nullptr});
  }
  BufferPtr expected = sources[0];
  const FoldSpec spec{ReduceOp::kSum, DataType::kF32};
  for (std::uint32_t i = 1; i < 5; ++i) {
    EXPECT_FALSE(WaitForFold(cluster[i], FoldId(i)));
    expected = Folded(spec, {sources[i], expected});
    EXPECT_TRUE(outputs[i]->complete());
    EXPECT_TRUE(SameBytes(*expected, *outputs[i])) << "position " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, FoldSizeTest,
                         testing::Values(4, kFrame - 4, kFrame, kFrame + 4,
                                         100 * kFrame + 8, 3 << 20));

TEST(TcpDataFoldTest, AStarOfBf16RoundsOnce) {
  constexpr std::uint64_t kSize = 50 * kFrame + 2;
  constexpr std::uint32_t kRemote = 8;
  Cluster cluster(kRemote + 1);
  const BufferPtr own = NewNumbers(DataType::kBF16, kSize, 100);
  const BufferPtr output = NewBuffer(kSize);
  command::StartFold order = MakeFold(1, output, {.type = DataType::kBF16});
  std::vector<BufferPtr> inputs = {own};
  std::vector<BufferPtr> locals;
  for (std::uint32_t i = 1; i <= kRemote + 3; ++i) {
    inputs.push_back(NewNumbers(DataType::kBF16, kSize, i));
    if (i <= kRemote) {
      cluster[i].Offer(Output(i), inputs.back());
      AddRemote(order, i, cluster[i]);
      locals.push_back(nullptr);
    } else {
      AddRemote(order, i, cluster[0]);
      locals.push_back(inputs.back());
    }
  }
  cluster[0].plane().StartFold(order, output, own, locals);
  EXPECT_FALSE(WaitForFold(cluster[0], FoldId(1)));
  const BufferPtr expected = Folded({ReduceOp::kSum, DataType::kBF16}, inputs);
  EXPECT_TRUE(SameBytes(*expected, *output));
}

TEST(TcpDataFoldTest, LocalInputsAreFollowedAndTheRootDivides) {
  constexpr std::uint64_t kSize = 3 << 20;  // more than one turn's worth
  Cluster cluster(1);
  const BufferPtr own = NewNumbers(DataType::kF32, kSize, 1);
  const BufferPtr whole = NewNumbers(DataType::kF32, kSize, 2);
  const BufferPtr growing = NewBuffer(kSize);
  const BufferPtr output = NewBuffer(kSize);
  command::StartFold order =
      MakeFold(1, output, {.op = ReduceOp::kAverage, .divisor = 2});
  AddRemote(order, 1, cluster[0]);
  cluster[0].plane().StartFold(order, output, own, {growing});
  for (std::uint64_t at = 0; at < kSize; at += kSize / 4) {
    std::copy_n(whole->bytes().begin() + at, kSize / 4,
                growing->data().begin() + at);
    growing->Advance(at + kSize / 4);
    EXPECT_TRUE(output->WaitFor(at + kSize / 4, absl::Now() + kPatience).ok());
  }
  EXPECT_FALSE(WaitForFold(cluster[0], FoldId(1)));
  const BufferPtr expected =
      Folded({ReduceOp::kAverage, DataType::kF32, 2}, {own, whole});
  EXPECT_TRUE(SameBytes(*expected, *output));
}

TEST(TcpDataFoldTest, AnEmptyFoldIsDone) {
  Cluster cluster(1);
  const BufferPtr output = NewBuffer(0);
  cluster[0].plane().StartFold(MakeFold(1, output), output, NewBuffer(0), {});
  EXPECT_FALSE(WaitForFold(cluster[0], FoldId(1)));
}

TEST(TcpDataFoldTest, AnInputThatIsAheadWaitsInItsWindow) {
  constexpr std::uint64_t kSize = 16 << 20;
  constexpr std::uint64_t kWindow = 64 << 10;  // of frames of 4 KiB
  Cluster cluster(3);
  const BufferPtr own = NewNumbers(DataType::kF32, kSize, 1);
  const BufferPtr fast = NewNumbers(DataType::kF32, kSize, 2);
  const BufferPtr slow = NewNumbers(DataType::kF32, kSize, 3);
  const BufferPtr growing = NewBuffer(kSize);
  std::copy(slow->bytes().begin(), slow->bytes().end(),
            growing->data().begin());
  const BufferPtr output = NewBuffer(kSize);
  cluster[1].Offer(Output(1), fast);
  cluster[2].Offer(Output(2), growing);
  command::StartFold order = MakeFold(1, output);
  AddRemote(order, 1, cluster[1]);
  AddRemote(order, 2, cluster[2]);
  cluster[0].plane().StartFold(order, output, own, {nullptr, nullptr});
  growing->Advance(10 * kFrame + 5);
  ASSERT_TRUE(output->WaitFor(10 * kFrame, absl::Now() + kPatience).ok());
  EXPECT_LE(cluster[0].plane().counters().payload_bytes_received,
            kWindow + 20 * kFrame);
  EXPECT_EQ(output->watermark(), 10 * kFrame);
  growing->Advance(kSize);
  EXPECT_FALSE(WaitForFold(cluster[0], FoldId(1)));
  const BufferPtr expected =
      Folded({ReduceOp::kSum, DataType::kF32}, {own, fast, slow});
  EXPECT_TRUE(SameBytes(*expected, *output));
}

TEST(TcpDataFoldTest, AnInputMayHaveFramesOfAnotherSize) {
  for (const std::uint64_t frame : {2u << 10, 64u << 10, 1u << 20}) {
    SCOPED_TRACE(frame);
    constexpr std::uint64_t kSize = (5 << 20) + 12;
    Cluster cluster(2);
    const BufferPtr own = NewNumbers(DataType::kF32, kSize, 1);
    const BufferPtr input = NewNumbers(DataType::kF32, kSize, 2);
    ASSERT_TRUE(input->SetFrameBytes(frame));
    const BufferPtr output = NewBuffer(kSize);
    cluster[1].Offer(Output(1), input);
    command::StartFold order = MakeFold(1, output);
    AddRemote(order, 1, cluster[1]);
    cluster[0].plane().StartFold(order, output, own, {nullptr});
    EXPECT_FALSE(WaitForFold(cluster[0], FoldId(1)));
    const BufferPtr expected =
        Folded({ReduceOp::kSum, DataType::kF32}, {own, input});
    EXPECT_TRUE(SameBytes(*expected, *output));
    EXPECT_EQ(output->frame_bytes(), kFrame);
  }
}

class FoldFailureTest : public testing::Test {
 protected:
  FoldFailureTest() {
    cluster_[1].Offer(Output(1), NewNumbers(DataType::kF32, kSize, 1));
    order_ = MakeFold(1, output_);
    AddRemote(order_, 1, cluster_[1]);
    AddRemote(order_, 2, cluster_[2]);
  }
  void Start(BufferPtr own) {
    cluster_[0].plane().StartFold(order_, output_, std::move(own),
                                  {nullptr, nullptr});
  }
  // Exactly one end, whatever else comes.
  NodeRef Lost() {
    const auto failed = WaitForFold(cluster_[0], FoldId(1));
    EXPECT_TRUE(failed.has_value());
    cluster_[0].plane().CancelFold(FoldId(1));
    cluster_[0].plane().Shutdown();
    EXPECT_EQ(cluster_[0].Count<event::FoldFailed>(), 1u);
    EXPECT_EQ(cluster_[0].Count<event::FoldDone>(), 0u);
    return failed.has_value() ? failed->lost : NodeRef();
  }

  static constexpr std::uint64_t kSize = 1 << 20;
  Cluster cluster_{3};
  BufferPtr output_ = NewBuffer(kSize);
  command::StartFold order_;
};

TEST_F(FoldFailureTest, ARefusedInputIsNamed) {
  cluster_[2].Offer(Output(2), nullptr);
  Start(NewNumbers(DataType::kF32, kSize, 2));
  EXPECT_EQ(Lost(), cluster_[2].ref());
}

TEST_F(FoldFailureTest, AMemberThatGoesAwayIsNamed) {
  const BufferPtr part = NewBuffer(kSize);
  part->Advance(10 * kFrame);
  cluster_[2].Offer(Output(2), part);
  Start(NewNumbers(DataType::kF32, kSize, 2));
  ASSERT_TRUE(output_->WaitFor(10 * kFrame, absl::Now() + kPatience).ok());
  cluster_[2].plane().Shutdown();
  EXPECT_EQ(Lost(), cluster_[2].ref());
}

TEST_F(FoldFailureTest, AForgottenMemberIsNamed) {
  Start(NewNumbers(DataType::kF32, kSize, 2));
  cluster_[0].plane().Forget(cluster_[2].ref());
  EXPECT_EQ(Lost(), cluster_[2].ref());
}

TEST_F(FoldFailureTest, AnOwnBufferThatFailsNamesThisNode) {
  cluster_[2].Offer(Output(2), NewNumbers(DataType::kF32, kSize, 3));
  const BufferPtr own = NewBuffer(kSize);
  own->Advance(kFrame + 1);
  Start(own);
  ASSERT_TRUE(output_->WaitFor(kFrame, absl::Now() + kPatience).ok());
  own->Fail(absl::CancelledError("the writer is gone"));
  EXPECT_EQ(Lost(), cluster_[0].ref());
}

TEST_F(FoldFailureTest, ACancelledFoldEndsAndBlamesNobody) {
  Start(NewNumbers(DataType::kF32, kSize, 2));
  ASSERT_TRUE(cluster_[1].WaitFor([](const Event& event) {
    return std::holds_alternative<event::PullRequested>(event);
  }));
  cluster_[0].plane().CancelFold(FoldId(1));
  EXPECT_EQ(Lost(), NodeRef());
  EXPECT_TRUE(cluster_[1].WaitFor([](const Event& event) {
    return std::holds_alternative<event::PullEnded>(event);
  }));
}

}  // namespace
}  // namespace hoplite
