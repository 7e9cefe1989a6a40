#include "hoplite/base/reduction.h"

#include <array>

#include "hoplite/base/check.h"

namespace hoplite {
namespace {

constexpr std::array<const char*, kReduceOpCount> kOpNames = {
    "sum", "prod", "min", "max", "avg", "band", "bor", "bxor"};
constexpr std::array<const char*, kDataTypeCount> kTypeNames = {
    "u8", "i8", "i32", "i64", "u32", "u64", "f16", "bf16", "f32", "f64"};
constexpr std::array<std::size_t, kDataTypeCount> kTypeSizes = {1, 1, 4, 8, 4,
                                                                8, 2, 2, 4, 8};

template <typename Enum, std::size_t kCount>
std::optional<Enum> Parse(const std::array<const char*, kCount>& names,
                          absl::string_view name) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (name == names[i]) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

std::size_t SizeOf(DataType type) {
  const auto index = static_cast<std::size_t>(type);
  HOPLITE_CHECK(index < kDataTypeCount);
  return kTypeSizes[index];
}

bool IsFloatingPoint(DataType type) {
  return type == DataType::kF16 || type == DataType::kBF16 ||
         type == DataType::kF32 || type == DataType::kF64;
}

bool Supports(ReduceOp op, DataType type) {
  const bool bitwise = op == ReduceOp::kBitAnd || op == ReduceOp::kBitOr ||
                       op == ReduceOp::kBitXor;
  return !bitwise || !IsFloatingPoint(type);
}

absl::string_view ToString(ReduceOp op) {
  const auto index = static_cast<std::size_t>(op);
  HOPLITE_CHECK(index < kReduceOpCount);
  return kOpNames[index];
}

absl::string_view ToString(DataType type) {
  const auto index = static_cast<std::size_t>(type);
  HOPLITE_CHECK(index < kDataTypeCount);
  return kTypeNames[index];
}

std::optional<ReduceOp> ParseReduceOp(absl::string_view name) {
  return Parse<ReduceOp>(kOpNames, name);
}

std::optional<DataType> ParseDataType(absl::string_view name) {
  return Parse<DataType>(kTypeNames, name);
}

}  // namespace hoplite
