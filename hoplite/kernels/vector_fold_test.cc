// Every instruction set computes what the scalar reference computes, for every
// operation and type, wherever the frames lie and whatever their length.
//
// What others ran into: open-mpi/ompi#7954 (an aligned load from an unaligned
// pointer crashed), pytorch/pytorch#119345 (misaligned bf16), openucx/ucc
// PR#1312 (a size that is no multiple of 16 bytes). Frames start where a
// message happens to put them, so all of these are ordinary here.

#include "hoplite/kernels/vector_fold.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "hoplite/base/random.h"
#include "hoplite/base/reduction.h"
#include "hoplite/kernels/fold.h"
#include "hoplite/kernels/scalar_reference.h"

namespace hoplite {
namespace {

constexpr std::size_t kOffsets = 64;
constexpr std::size_t kMaxElements = 257;
constexpr std::size_t kMaxInputs = 5;
constexpr std::uint64_t kSeed = 20240601;
constexpr std::byte kGuard{0xa5};

std::string SetName(InstructionSet set) {
  if (set == InstructionSet::kAvx512) return "avx512";
  return set == InstructionSet::kAvx2 ? "avx2" : "baseline";
}

class VectorFoldTest
    : public testing::TestWithParam<std::tuple<InstructionSet, DataType>> {
 protected:
  InstructionSet set() const { return std::get<0>(GetParam()); }
  DataType type() const { return std::get<1>(GetParam()); }
  // An average is taken as the root takes it.
  FoldSpec SpecOf(ReduceOp op, std::size_t inputs) const {
    return {.op = op,
            .type = type(),
            .divisor = op == ReduceOp::kAverage ? inputs : 1};
  }
  std::vector<Frame> RandomInputs(std::size_t count, std::size_t elements) {
    std::vector<Frame> inputs;
    for (std::size_t k = 0; k < count; ++k) {
      inputs.push_back(RandomFrame(type(), elements, random_));
    }
    return inputs;
  }
  void CheckAllLengths(ReduceOp op, const std::vector<Frame>& inputs);

  Random random_{kSeed};
};

// `inputs` at every offset, no two at the same one, cut to every length.
void VectorFoldTest::CheckAllLengths(ReduceOp op,
                                     const std::vector<Frame>& inputs) {
  const FoldSpec spec = SpecOf(op, inputs.size());
  const Frame expected = ReferenceFold(spec, inputs);
  const std::size_t width = SizeOf(type());
  std::vector<Frame> memory(inputs.size(),
                            Frame(kOffsets + kMaxElements * width));
  Frame output(kOffsets + kMaxElements * width + kOffsets);
  std::vector<std::span<const std::byte>> spans(inputs.size());
  for (std::size_t offset = 0; offset < kOffsets; ++offset) {
    std::vector<const std::byte*> starts;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      std::byte* start = memory[k].data() + (offset + 13 * k) % kOffsets;
      std::memcpy(start, inputs[k].data(), inputs[k].size());
      starts.push_back(start);
    }
    std::byte* target = output.data() + (offset * 29 + 7) % kOffsets;
    for (std::size_t length = 0; length <= kMaxElements; ++length) {
      const std::size_t size = length * width;
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        spans[k] = {starts[k], size};
      }
      std::memset(target, static_cast<int>(kGuard), size + 8);
      VectorFold(set(), {.op = spec.op,
                         .type = spec.type,
                         .divisor = spec.divisor,
                         .output = {target, size},
                         .inputs = spans});
      ASSERT_EQ(std::memcmp(target, expected.data(), size), 0)
          << "op " << ToString(op) << ", " << inputs.size()
          << " inputs, offset " << offset << ", " << length << " elements";
      for (std::size_t i = 0; i < 8; ++i) {
        ASSERT_EQ(target[size + i], kGuard) << "wrote past the end";
      }
    }
  }
}

TEST_P(VectorFoldTest, EqualsTheReferenceAtEveryOffsetAndLength) {
  for (ReduceOp op : OpsOf(type())) {
    for (std::size_t count = 1; count <= kMaxInputs; ++count) {
      CheckAllLengths(op, RandomInputs(count, kMaxElements));
      if (HasFatalFailure()) return;
    }
  }
}

// Each frame is an allocation of its own, of its exact length: a sanitizer
// sees a read or a write that leaves it.
TEST_P(VectorFoldTest, TouchesNothingBeyondItsFrames) {
  for (ReduceOp op : OpsOf(type())) {
    for (std::size_t length = 0; length <= kMaxElements; ++length) {
      const std::vector<Frame> inputs = RandomInputs(3, length);
      const FoldSpec spec = SpecOf(op, 3);
      ASSERT_EQ(FoldFrames(set(), spec, inputs), ReferenceFold(spec, inputs))
          << "op " << ToString(op) << ", " << length << " elements";
    }
  }
}

TEST_P(VectorFoldTest, OutputMayBeAnyOfTheInputs) {
  for (ReduceOp op : OpsOf(type())) {
    for (std::size_t place = 0; place < 3; ++place) {
      std::vector<Frame> inputs = RandomInputs(3, kMaxElements);
      const FoldSpec spec = SpecOf(op, 3);
      const Frame expected = ReferenceFold(spec, inputs);
      const std::vector<std::span<const std::byte>> spans(inputs.begin(),
                                                          inputs.end());
      VectorFold(set(), {.op = spec.op,
                         .type = spec.type,
                         .divisor = spec.divisor,
                         .output = inputs[place],
                         .inputs = spans});
      ASSERT_EQ(inputs[place], expected)
          << "op " << ToString(op) << ", output is input " << place;
    }
  }
}

// Infinities, both zeros, the extremes and the smallest numbers, each with
// each, in vectors and in the rest after them.
TEST_P(VectorFoldTest, SpecialValuesMeetEachOther) {
  std::vector<double> special = {0, 1, 2, 3, 100, 127};
  if (type() != DataType::kU8 && type() != DataType::kU32 &&
      type() != DataType::kU64) {
    special.insert(special.end(), {-1, -2, -3, -100, -127, -128});
  }
  if (IsFloatingPoint(type())) {
    const double infinity = std::numeric_limits<double>::infinity();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (double value : {0.0, infinity, nan, 0x1p-24, 0x1p-15, 65504.0,
                         0x1.fep127, 0x1.fffffep127, 0x1p-149, 0x1p-133,
                         0x1.fffffffffffffp1023, 0x1p-1074, 1.0 / 3}) {
      special.insert(special.end(), {value, -value});
    }
  }
  std::vector<double> left, right;
  for (double a : special) {
    for (double b : special) {
      left.push_back(a);
      right.push_back(b);
    }
  }
  const std::vector<Frame> inputs = {MakeFrame(type(), left),
                                     MakeFrame(type(), right)};
  for (ReduceOp op : OpsOf(type())) {
    const FoldSpec spec = SpecOf(op, 2);
    EXPECT_TRUE(SameElements(type(), FoldFrames(set(), spec, inputs),
                             ReferenceFold(spec, inputs)))
        << "op " << ToString(op);
  }
}

using FloatingPointFoldTest = VectorFoldTest;

TEST_P(FloatingPointFoldTest, NanPropagatesFromEveryPlace) {
  constexpr std::size_t kElements = 67;
  const std::size_t width = SizeOf(type());
  const Frame nan =
      MakeFrame(type(), {std::numeric_limits<double>::quiet_NaN()});
  for (ReduceOp op : OpsOf(type())) {
    for (std::size_t count = 1; count <= kMaxInputs; ++count) {
      const std::vector<Frame> inputs = RandomInputs(count, kElements);
      const FoldSpec spec = SpecOf(op, count);
      const Frame clean = ReferenceFold(spec, inputs);
      for (std::size_t k = 0; k < count; ++k) {
        for (std::size_t i = 0; i < kElements; ++i) {
          std::vector<Frame> poisoned = inputs;
          Frame expected = clean;
          std::memcpy(poisoned[k].data() + i * width, nan.data(), width);
          std::memcpy(expected.data() + i * width, nan.data(), width);
          ASSERT_TRUE(
              SameElements(type(), FoldFrames(set(), spec, poisoned), expected))
              << "op " << ToString(op) << ", NaN in element " << i
              << " of input " << k << " of " << count;
        }
      }
    }
  }
}

std::string NameOf(
    const testing::TestParamInfo<VectorFoldTest::ParamType>& info) {
  return absl::StrCat(SetName(std::get<0>(info.param)), "_",
                      ToString(std::get<1>(info.param)));
}

INSTANTIATE_TEST_SUITE_P(Kernels, VectorFoldTest,
                         testing::Combine(testing::ValuesIn(AvailableSets()),
                                          testing::ValuesIn(AllTypes())),
                         NameOf);

INSTANTIATE_TEST_SUITE_P(
    Kernels, FloatingPointFoldTest,
    testing::Combine(testing::ValuesIn(AvailableSets()),
                     testing::Values(DataType::kF16, DataType::kBF16,
                                     DataType::kF32, DataType::kF64)),
    NameOf);

using HalfFoldTest = VectorFoldTest;

Frame EveryPattern() {
  Frame frame(std::size_t{2} << 16);
  for (std::uint32_t bits = 0; bits < 1u << 16; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    std::memcpy(frame.data() + 2 * bits, &half, 2);
  }
  return frame;
}

TEST_P(HalfFoldTest, OneInputComesBackUnchanged) {
  const Frame input = EveryPattern();
  for (ReduceOp op : OpsOf(type())) {
    const Frame output = FoldFrames(set(), {.op = op, .type = type()}, {input});
    EXPECT_TRUE(SameElements(type(), input, output)) << ToString(op);
  }
}

// Every number with a random one, of any size: sums and products need every
// case of the rounding, subnormals and overflow included.
TEST_P(HalfFoldTest, RoundsToTheNearestAndTiesToEven) {
  const Frame left = EveryPattern();
  for (int round = 0; round < 8; ++round) {
    Frame right(left.size());
    for (std::byte& byte : right) byte = static_cast<std::byte>(random_.Next());
    for (ReduceOp op :
         {ReduceOp::kSum, ReduceOp::kProduct, ReduceOp::kAverage}) {
      const FoldSpec spec{.op = op,
                          .type = type(),
                          .divisor = op == ReduceOp::kAverage ? 3u : 1u};
      ASSERT_TRUE(SameElements(type(), FoldFrames(set(), spec, {left, right}),
                               ReferenceFold(spec, {left, right})))
          << ToString(op);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, HalfFoldTest,
                         testing::Combine(testing::ValuesIn(AvailableSets()),
                                          testing::Values(DataType::kF16,
                                                          DataType::kBF16)),
                         NameOf);

TEST(InstructionSetTest, TheBestOneIsAvailable) {
  EXPECT_TRUE(IsAvailable(InstructionSet::kBaseline));
  EXPECT_TRUE(IsAvailable(BestInstructionSet()));
}

}  // namespace
}  // namespace hoplite
