#include "hoplite/base/reduction.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace hoplite {
namespace {

std::vector<DataType> AllTypes() {
  std::vector<DataType> types;
  for (std::size_t i = 0; i < kDataTypeCount; ++i) {
    types.push_back(static_cast<DataType>(i));
  }
  return types;
}

TEST(ReductionTest, NamesGoThereAndBack) {
  for (std::size_t i = 0; i < kReduceOpCount; ++i) {
    const auto op = static_cast<ReduceOp>(i);
    EXPECT_EQ(ParseReduceOp(ToString(op)), op) << ToString(op);
  }
  for (DataType type : AllTypes()) {
    EXPECT_EQ(ParseDataType(ToString(type)), type) << ToString(type);
  }
}

TEST(ReductionTest, TheNamesAreThoseOfTheCommandLine) {
  EXPECT_EQ(ToString(ReduceOp::kSum), "sum");
  EXPECT_EQ(ToString(ReduceOp::kProduct), "prod");
  EXPECT_EQ(ToString(ReduceOp::kAverage), "avg");
  EXPECT_EQ(ToString(ReduceOp::kBitXor), "bxor");
  EXPECT_EQ(ToString(DataType::kU8), "u8");
  EXPECT_EQ(ToString(DataType::kBF16), "bf16");
  EXPECT_EQ(ToString(DataType::kF64), "f64");
}

TEST(ReductionTest, OtherNamesAreRefused) {
  for (absl::string_view name : {"", "Sum", "sums", "f", "f128", " sum"}) {
    EXPECT_EQ(ParseReduceOp(name), std::nullopt) << name;
    EXPECT_EQ(ParseDataType(name), std::nullopt) << name;
  }
}

// "u8", "bf16", "f64": the digits of a name are its bits.
TEST(ReductionTest, TheSizeIsInTheName) {
  for (DataType type : AllTypes()) {
    const absl::string_view name = ToString(type);
    const absl::string_view digits =
        name.substr(name.find_first_of("0123456789"));
    EXPECT_EQ(SizeOf(type) * 8, std::stoul(std::string(digits))) << name;
    EXPECT_EQ(IsFloatingPoint(type), name.find('f') != name.npos) << name;
  }
}

TEST(ReductionTest, BitwiseOperationsAreForIntegersOnly) {
  for (DataType type : AllTypes()) {
    for (ReduceOp op :
         {ReduceOp::kBitAnd, ReduceOp::kBitOr, ReduceOp::kBitXor}) {
      EXPECT_EQ(Supports(op, type), !IsFloatingPoint(type))
          << ToString(op) << " of " << ToString(type);
    }
    for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kProduct, ReduceOp::kMin,
                        ReduceOp::kMax, ReduceOp::kAverage}) {
      EXPECT_TRUE(Supports(op, type))
          << ToString(op) << " of " << ToString(type);
    }
  }
}

TEST(ReductionDeathTest, ATypeThatDoesNotExistIsAMistake) {
  EXPECT_DEATH(SizeOf(static_cast<DataType>(kDataTypeCount)), "CHECK failed");
  EXPECT_DEATH(ToString(static_cast<ReduceOp>(kReduceOpCount)), "CHECK failed");
}

}  // namespace
}  // namespace hoplite
