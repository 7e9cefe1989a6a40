// What Fold promises, in numbers that a reader can check.

#include "hoplite/kernels/fold.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/base/reduction.h"
#include "hoplite/kernels/scalar_reference.h"

namespace hoplite {
namespace {

using testing::ElementsAre;
using testing::Eq;
using testing::IsNan;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// One element for each of `sources`, folded.
double FoldOne(const FoldSpec& spec, const std::vector<double>& sources) {
  std::vector<Frame> inputs;
  for (double source : sources) {
    inputs.push_back(MakeFrame(spec.type, {source}));
  }
  const std::vector<std::span<const std::byte>> spans(inputs.begin(),
                                                      inputs.end());
  Frame output(SizeOf(spec.type));
  Fold(spec, output, spans);
  return Values(spec.type, output)[0];
}

double FoldOne(ReduceOp op, DataType type, const std::vector<double>& sources) {
  return FoldOne({.op = op, .type = type}, sources);
}

double Average(DataType type, const std::vector<double>& sources) {
  return FoldOne(
      {.op = ReduceOp::kAverage, .type = type, .divisor = sources.size()},
      sources);
}

template <typename T>
T FoldIntegers(ReduceOp op, DataType type, T a, T b) {
  T result;
  const std::span<const std::byte> inputs[] = {std::as_bytes(std::span(&a, 1)),
                                               std::as_bytes(std::span(&b, 1))};
  Fold({.op = op, .type = type}, std::as_writable_bytes(std::span(&result, 1)),
       inputs);
  return result;
}

TEST(FoldTest, ComputesEveryOperation) {
  EXPECT_EQ(FoldOne(ReduceOp::kSum, DataType::kI32, {3, 5, -1}), 7);
  EXPECT_EQ(FoldOne(ReduceOp::kProduct, DataType::kI32, {3, 5, -1}), -15);
  EXPECT_EQ(FoldOne(ReduceOp::kMin, DataType::kI32, {3, 5, -1}), -1);
  EXPECT_EQ(FoldOne(ReduceOp::kMax, DataType::kI32, {3, 5, -1}), 5);
  EXPECT_EQ(FoldOne(ReduceOp::kBitAnd, DataType::kI32, {12, 10}), 8);
  EXPECT_EQ(FoldOne(ReduceOp::kBitOr, DataType::kI32, {12, 10}), 14);
  EXPECT_EQ(FoldOne(ReduceOp::kBitXor, DataType::kI32, {12, 10}), 6);
  EXPECT_EQ(Average(DataType::kF32, {3, 5, -1}), 7.0f / 3.0f);
}

TEST(FoldTest, FoldsNothing) {
  const std::vector<std::span<const std::byte>> inputs(3);
  for (DataType type : AllTypes()) {
    for (ReduceOp op : OpsOf(type)) {
      Fold({.op = op, .type = type, .divisor = 3}, {}, inputs);
    }
  }
}

TEST(FoldTest, SumsAndProductsOfIntegersWrap) {
  using enum ReduceOp;
  EXPECT_EQ(FoldOne(kSum, DataType::kU8, {200, 100}), 44);
  EXPECT_EQ(FoldOne(kSum, DataType::kI8, {127, 1}), -128);
  EXPECT_EQ(FoldOne(kProduct, DataType::kU8, {200, 2}), 144);
  EXPECT_EQ(FoldOne(kProduct, DataType::kI8, {-128, -1}), -128);
  EXPECT_EQ(FoldOne(kSum, DataType::kI32, {INT32_MAX, 1}), INT32_MIN);
  EXPECT_EQ(FoldOne(kProduct, DataType::kI32, {65536, 65537}), 65536);
  EXPECT_EQ(FoldOne(kSum, DataType::kU32, {UINT32_MAX, 2}), 1);
  EXPECT_EQ(FoldOne(kProduct, DataType::kU32, {UINT32_MAX, 2}), 4294967294);
  EXPECT_EQ(FoldIntegers(kSum, DataType::kI64, INT64_MAX, std::int64_t{1}),
            INT64_MIN);
  EXPECT_EQ(FoldIntegers(kProduct, DataType::kI64, INT64_MIN, std::int64_t{-1}),
            INT64_MIN);
  EXPECT_EQ(FoldIntegers(kSum, DataType::kU64, UINT64_MAX, std::uint64_t{2}),
            1u);
  EXPECT_EQ(FoldIntegers(kProduct, DataType::kU64, UINT64_MAX, UINT64_MAX), 1u);
}

TEST(FoldTest, MinAndMaxKnowTheSign) {
  using enum ReduceOp;
  EXPECT_EQ(FoldOne(kMin, DataType::kI8, {127, -128}), -128);
  EXPECT_EQ(FoldOne(kMax, DataType::kI8, {127, -128}), 127);
  EXPECT_EQ(FoldOne(kMin, DataType::kU8, {127, 128}), 127);
  EXPECT_EQ(FoldOne(kMax, DataType::kU8, {127, 128}), 128);
  EXPECT_EQ(FoldOne(kMax, DataType::kU32, {2147483647, 2147483648}),
            2147483648);
  EXPECT_EQ(FoldIntegers(kMin, DataType::kI64, INT64_MAX, INT64_MIN),
            INT64_MIN);
  EXPECT_EQ(FoldIntegers(kMax, DataType::kU64, std::uint64_t{1}, UINT64_MAX),
            UINT64_MAX);
}

TEST(FoldTest, AverageOfIntegersTruncatesTowardsZero) {
  EXPECT_EQ(Average(DataType::kI32, {-4, -3}), -3);
  EXPECT_EQ(Average(DataType::kI32, {4, 3}), 3);
  EXPECT_EQ(Average(DataType::kI32, {-1, 0, 0}), 0);
  EXPECT_EQ(Average(DataType::kI8, {-128, 0}), -64);
  EXPECT_EQ(Average(DataType::kI64, {-10, -1}), -5);
  EXPECT_EQ(Average(DataType::kU64, {10, 1}), 5);
  EXPECT_EQ(Average(DataType::kU32, {UINT32_MAX, 0}), 2147483647);
}

TEST(FoldTest, AverageOfIntegersWrapsBeforeItDivides) {
  EXPECT_EQ(Average(DataType::kU8, {200, 100}), 22);   // 44 / 2
  EXPECT_EQ(Average(DataType::kI8, {100, 100}), -28);  // -56 / 2
  EXPECT_EQ(Average(DataType::kI32, {INT32_MAX, 1}), INT32_MIN / 2);
}

TEST(FoldTest, DivisorOfAnAverageMayExceedTheType) {
  const auto divide = [](DataType type, double sum, std::uint64_t divisor) {
    return FoldOne({.op = ReduceOp::kAverage, .type = type, .divisor = divisor},
                   {sum});
  };
  EXPECT_EQ(divide(DataType::kU8, 255, 256), 0);
  EXPECT_EQ(divide(DataType::kI8, -128, 128), -1);
  EXPECT_EQ(divide(DataType::kI8, -128, 129), 0);
  EXPECT_EQ(divide(DataType::kU32, UINT32_MAX, UINT32_MAX), 1);
  EXPECT_EQ(divide(DataType::kI32, INT32_MIN, std::uint64_t{1} << 31), -1);
  EXPECT_EQ(divide(DataType::kU32, UINT32_MAX, std::uint64_t{1} << 32), 0);
  EXPECT_EQ(divide(DataType::kI64, -0x1p63, std::uint64_t{1} << 63), -1);
  EXPECT_EQ(divide(DataType::kI64, -0x1p63, UINT64_MAX), 0);
}

TEST(FoldTest, OnlyAnAverageDivides) {
  for (DataType type : AllTypes()) {
    const FoldSpec spec{.op = ReduceOp::kSum, .type = type, .divisor = 4};
    EXPECT_EQ(FoldOne(spec, {20, 4}), 24) << ToString(type);
  }
}

TEST(FoldTest, MinAndMaxGiveNanWhereverItStands) {
  for (DataType type :
       {DataType::kF16, DataType::kBF16, DataType::kF32, DataType::kF64}) {
    for (ReduceOp op : {ReduceOp::kMin, ReduceOp::kMax}) {
      EXPECT_THAT(FoldOne(op, type, {kNan, 1, 2}), IsNan());
      EXPECT_THAT(FoldOne(op, type, {1, kNan, 2}), IsNan());
      EXPECT_THAT(FoldOne(op, type, {1, 2, kNan}), IsNan());
      EXPECT_THAT(FoldOne(op, type, {-kInfinity, kNan, kInfinity}), IsNan());
      EXPECT_THAT(FoldOne(op, type, {kNan, -kNan}), IsNan());
    }
  }
}

TEST(FoldTest, MinusZeroIsBelowZero) {
  for (DataType type :
       {DataType::kF16, DataType::kBF16, DataType::kF32, DataType::kF64}) {
    for (const std::vector<double>& zeros :
         {std::vector{0.0, -0.0}, std::vector{-0.0, 0.0}}) {
      EXPECT_TRUE(std::signbit(FoldOne(ReduceOp::kMin, type, zeros)));
      EXPECT_FALSE(std::signbit(FoldOne(ReduceOp::kMax, type, zeros)));
    }
    EXPECT_TRUE(std::signbit(FoldOne(ReduceOp::kSum, type, {-0.0, -0.0})));
  }
}

TEST(FoldTest, InfinitiesOfOppositeSignsHaveNoSum) {
  for (DataType type :
       {DataType::kF16, DataType::kBF16, DataType::kF32, DataType::kF64}) {
    EXPECT_EQ(FoldOne(ReduceOp::kSum, type, {kInfinity, 1}), kInfinity);
    EXPECT_THAT(FoldOne(ReduceOp::kSum, type, {kInfinity, -kInfinity}),
                IsNan());
    EXPECT_EQ(FoldOne(ReduceOp::kMin, type, {kInfinity, -kInfinity}),
              -kInfinity);
  }
}

// Rounded after each addition, either sum would never leave its first term.
TEST(FoldTest, OneCallRoundsHalvesOnce) {
  EXPECT_EQ(FoldOne(ReduceOp::kSum, DataType::kF16, {2048, 1, 1}), 2050);
  EXPECT_EQ(FoldOne(ReduceOp::kSum, DataType::kBF16, {256, 1, 1}), 258);
  EXPECT_EQ(FoldOne(ReduceOp::kSum, DataType::kF16, {2048, 1}), 2048);
  EXPECT_EQ(FoldOne(ReduceOp::kSum, DataType::kBF16, {256, 1}), 256);
}

TEST(FoldTest, TiesOfHalvesGoToEven) {
  EXPECT_EQ(FoldOne(ReduceOp::kSum, DataType::kF16, {2050, 1}), 2052);
  EXPECT_EQ(FoldOne(ReduceOp::kSum, DataType::kBF16, {258, 1}), 260);
  EXPECT_EQ(FoldOne(ReduceOp::kSum, DataType::kF16, {2050, -1}), 2048);
  EXPECT_EQ(FoldOne(ReduceOp::kSum, DataType::kBF16, {-256, -1}), -256);
}

TEST(FoldTest, HalvesOverflowToInfinity) {
  // 65,504 is the largest f16; the next one would be 65,536.
  EXPECT_EQ(FoldOne(ReduceOp::kSum, DataType::kF16, {65504, 15}), 65504);
  EXPECT_EQ(FoldOne(ReduceOp::kSum, DataType::kF16, {65504, 16}), kInfinity);
  EXPECT_EQ(FoldOne(ReduceOp::kSum, DataType::kF16, {-65504, -16}), -kInfinity);
  EXPECT_EQ(FoldOne(ReduceOp::kProduct, DataType::kF16, {65504, 65504}),
            kInfinity);
  const double largest = 0x1.fep127;
  EXPECT_EQ(FoldOne(ReduceOp::kSum, DataType::kBF16, {largest, 0x1p118}),
            largest);
  EXPECT_EQ(FoldOne(ReduceOp::kSum, DataType::kBF16, {largest, 0x1p119}),
            kInfinity);
}

TEST(FoldTest, AverageOfHalvesDividesBeforeItRounds) {
  EXPECT_EQ(Average(DataType::kF16, {60000, 60000}), 60000);
  EXPECT_EQ(Average(DataType::kF16, {2049, 2050, 2051}), 2050);
}

TEST(FoldTest, SubnormalNumbersStay) {
  EXPECT_EQ(FoldOne(ReduceOp::kSum, DataType::kF16, {0x1p-24, 0x1p-24}),
            0x1p-23);
  EXPECT_EQ(FoldOne(ReduceOp::kSum, DataType::kBF16, {0x1p-133, 0x1p-133}),
            0x1p-132);
  EXPECT_EQ(FoldOne(ReduceOp::kSum, DataType::kF32, {0x1p-149, 0x1p-149}),
            0x1p-148);
  EXPECT_EQ(FoldOne(ReduceOp::kProduct, DataType::kF16, {0x1p-15, 0x1p-9}),
            0x1p-24);
  EXPECT_EQ(FoldOne(ReduceOp::kProduct, DataType::kF16, {0x1p-15, 0x1p-10}), 0);
}

TEST(FoldTest, EveryElementHasItsOwnResult) {
  const Frame first = MakeFrame(DataType::kF32, {1, kNan, 3, kInfinity, 5});
  const Frame second = MakeFrame(DataType::kF32, {10, 20, -30, 40, 50});
  const std::span<const std::byte> inputs[] = {first, second};
  Frame output(first.size());
  Fold({.op = ReduceOp::kSum, .type = DataType::kF32}, output, inputs);
  EXPECT_THAT(Values(DataType::kF32, output),
              ElementsAre(Eq(11), IsNan(), Eq(-27), Eq(kInfinity), Eq(55)));
}

TEST(FoldDeathTest, RefusesWhatItsContractExcludes) {
  const FoldSpec spec{.op = ReduceOp::kSum, .type = DataType::kF32};
  Frame frame(16);
  Frame shorter(12);
  Frame odd(15);
  const std::span<const std::byte> same[] = {frame, frame};
  const std::span<const std::byte> mixed[] = {frame, shorter};
  const std::span<const std::byte> odds[] = {odd};
  EXPECT_DEATH(Fold(spec, frame, {}), "inputs.empty");
  EXPECT_DEATH(Fold(spec, frame, mixed), "input.size");
  EXPECT_DEATH(Fold(spec, odd, odds), "SizeOf");
  EXPECT_DEATH(
      Fold({.op = ReduceOp::kBitXor, .type = DataType::kF32}, frame, same),
      "Supports");
  EXPECT_DEATH(
      Fold({.op = ReduceOp::kAverage, .type = DataType::kF32, .divisor = 0},
           frame, same),
      "divisor");
}

}  // namespace
}  // namespace hoplite
