// What a reduction computes: the operation and the type of its elements.
//
// Thread safety: values; as safe as int.

#ifndef HOPLITE_BASE_REDUCTION_H_
#define HOPLITE_BASE_REDUCTION_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace hoplite {

enum class ReduceOp : std::uint8_t {
  kSum,
  kProduct,
  kMin,
  kMax,
  kAverage,
  kBitAnd,  // integers only, like the two below
  kBitOr,
  kBitXor,
};
inline constexpr std::size_t kReduceOpCount = 8;

enum class DataType : std::uint8_t {
  kU8,
  kI8,
  kI32,
  kI64,
  kU32,
  kU64,
  kF16,
  kBF16,
  kF32,
  kF64,
};
inline constexpr std::size_t kDataTypeCount = 10;

// Bytes of one element.
std::size_t SizeOf(DataType type);
bool IsFloatingPoint(DataType type);
// False for a bitwise operation on a floating-point type.
bool Supports(ReduceOp op, DataType type);

// "sum", "prod", "min", "max", "avg", "band", "bor", "bxor".
absl::string_view ToString(ReduceOp op);
// "u8", "i8", "i32", "i64", "u32", "u64", "f16", "bf16", "f32", "f64".
absl::string_view ToString(DataType type);
// The inverse; nullopt for any other name.
std::optional<ReduceOp> ParseReduceOp(absl::string_view name);
std::optional<DataType> ParseDataType(absl::string_view name);

}  // namespace hoplite

#endif  // HOPLITE_BASE_REDUCTION_H_
