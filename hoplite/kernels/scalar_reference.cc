#include "hoplite/kernels/scalar_reference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "hoplite/base/check.h"
#include "hoplite/base/random.h"
#include "hoplite/base/reduction.h"
#include "hoplite/kernels/fold.h"
#include "hoplite/kernels/vector_fold.h"

namespace hoplite {
namespace {

struct HalfFormat {
  int precision;          // bits of a significand, the hidden one included
  int smallest_exponent;  // of the smallest subnormal
  std::uint16_t infinity;
};

HalfFormat FormatOf(DataType type) {
  if (type == DataType::kF16) return {11, -24, 0x7c00};
  HOPLITE_CHECK(type == DataType::kBF16);
  return {8, -133, 0x7f80};
}

template <typename T>
T Get(std::span<const std::byte> frame, std::size_t index) {
  T value;
  std::memcpy(&value, frame.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void Put(T value, Frame& frame) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  frame.insert(frame.end(), bytes, bytes + sizeof(value));
}

// Calls `action` with a zero of the C++ type; 16-bit ones as their bits.
template <typename Action>
void WithType(DataType type, Action action) {
  switch (type) {
    case DataType::kU8:
      return action(std::uint8_t{});
    case DataType::kI8:
      return action(std::int8_t{});
    case DataType::kI32:
      return action(std::int32_t{});
    case DataType::kI64:
      return action(std::int64_t{});
    case DataType::kU32:
      return action(std::uint32_t{});
    case DataType::kU64:
      return action(std::uint64_t{});
    case DataType::kF16:
    case DataType::kBF16:
      return action(std::uint16_t{});
    case DataType::kF32:
      return action(float{});
    case DataType::kF64:
      return action(double{});
  }
}

template <typename T>
T Smaller(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) {
      return std::numeric_limits<T>::quiet_NaN();
    }
    if (a == b) return std::signbit(a) ? a : b;
  }
  return b < a ? b : a;
}

template <typename T>
T Greater(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) {
      return std::numeric_limits<T>::quiet_NaN();
    }
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a < b ? b : a;
}

template <typename T>
T CombineIntegers(ReduceOp op, T a, T b) {
  const auto x = static_cast<std::uint64_t>(a);
  const auto y = static_cast<std::uint64_t>(b);
  if (op == ReduceOp::kProduct) return static_cast<T>(x * y);
  if (op == ReduceOp::kBitAnd) return static_cast<T>(x & y);
  if (op == ReduceOp::kBitOr) return static_cast<T>(x | y);
  if (op == ReduceOp::kBitXor) return static_cast<T>(x ^ y);
  return static_cast<T>(x + y);
}

template <typename T>
T Combine(ReduceOp op, T a, T b) {
  if (op == ReduceOp::kMin) return Smaller(a, b);
  if (op == ReduceOp::kMax) return Greater(a, b);
  if constexpr (std::is_floating_point_v<T>) {
    return op == ReduceOp::kProduct ? a * b : a + b;
  } else {
    return CombineIntegers(op, a, b);
  }
}

template <typename T>
T DivideBy(T total, std::uint64_t divisor) {
  if constexpr (std::is_floating_point_v<T>) {
    return total / static_cast<T>(divisor);
  } else {
    // No dividend here needs more than 65 bits, nor does any divisor.
    __extension__ using Wide = __int128;
    return static_cast<T>(Wide{total} / static_cast<Wide>(divisor));
  }
}

template <typename T, typename Read>
T FoldElement(const FoldSpec& spec, std::size_t inputs, Read read) {
  T total = read(std::size_t{0});
  for (std::size_t k = 1; k < inputs; ++k) {
    total = Combine<T>(spec.op, total, read(k));
  }
  return spec.op == ReduceOp::kAverage ? DivideBy(total, spec.divisor) : total;
}

bool IsHalf(DataType type) {
  return type == DataType::kF16 || type == DataType::kBF16;
}

}  // namespace

std::uint16_t EncodeHalf(DataType type, double value) {
  const HalfFormat format = FormatOf(type);
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return format.infinity | 1;
  if (std::isinf(value)) return sign | format.infinity;
  if (value == 0) return sign;
  // The value in units of its last place.
  const int exponent = std::max(std::ilogb(value) + 1 - format.precision,
                                format.smallest_exponent);
  const double units = std::nearbyint(std::ldexp(std::fabs(value), -exponent));
  const std::int64_t bits = (std::int64_t{exponent - format.smallest_exponent}
                             << (format.precision - 1)) +
                            static_cast<std::int64_t>(units);
  if (bits >= format.infinity) return sign | format.infinity;
  return sign | static_cast<std::uint16_t>(bits);
}

double DecodeHalf(DataType type, std::uint16_t bits) {
  const HalfFormat format = FormatOf(type);
  const std::uint16_t magnitude = bits & 0x7fff;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (magnitude > format.infinity) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (magnitude == format.infinity) {
    return sign * std::numeric_limits<double>::infinity();
  }
  const int hidden = 1 << (format.precision - 1);
  const int exponent = magnitude / hidden;
  const int fraction = magnitude % hidden;
  if (exponent == 0) {
    return sign * std::ldexp(fraction, format.smallest_exponent);
  }
  return sign *
         std::ldexp(fraction + hidden, format.smallest_exponent + exponent - 1);
}

void Append(DataType type, double value, Frame& frame) {
  if (IsHalf(type)) return Put(EncodeHalf(type, value), frame);
  WithType(type,
           [&](auto zero) { Put(static_cast<decltype(zero)>(value), frame); });
}

Frame MakeFrame(DataType type, const std::vector<double>& values) {
  Frame frame;
  for (double value : values) Append(type, value, frame);
  return frame;
}

std::vector<double> Values(DataType type, std::span<const std::byte> frame) {
  std::vector<double> values;
  for (std::size_t i = 0; i < frame.size() / SizeOf(type); ++i) {
    WithType(type, [&](auto zero) {
      const auto element = Get<decltype(zero)>(frame, i);
      values.push_back(IsHalf(type) ? DecodeHalf(type, element)
                                    : static_cast<double>(element));
    });
  }
  return values;
}

Frame ReferenceFold(const FoldSpec& spec, const std::vector<Frame>& inputs) {
  Frame output;
  const std::size_t elements = inputs[0].size() / SizeOf(spec.type);
  for (std::size_t i = 0; i < elements; ++i) {
    WithType(spec.type, [&](auto zero) {
      using T = decltype(zero);
      if (IsHalf(spec.type)) {
        const float total =
            FoldElement<float>(spec, inputs.size(), [&](std::size_t k) {
              const auto bits = Get<std::uint16_t>(inputs[k], i);
              return static_cast<float>(DecodeHalf(spec.type, bits));
            });
        Put(EncodeHalf(spec.type, total), output);
      } else {
        Put(FoldElement<T>(spec, inputs.size(),
                           [&](std::size_t k) { return Get<T>(inputs[k], i); }),
            output);
      }
    });
  }
  return output;
}

Frame FoldFrames(InstructionSet set, const FoldSpec& spec,
                 const std::vector<Frame>& inputs) {
  Frame output(inputs[0].size());
  const std::vector<std::span<const std::byte>> spans(inputs.begin(),
                                                      inputs.end());
  VectorFold(set, {.op = spec.op,
                   .type = spec.type,
                   .divisor = spec.divisor,
                   .output = output,
                   .inputs = spans});
  return output;
}

bool SameElements(DataType type, std::span<const std::byte> a,
                  std::span<const std::byte> b) {
  if (a.size() != b.size()) return false;
  const std::size_t width = SizeOf(type);
  const std::vector<double> a_values = Values(type, a);
  const std::vector<double> b_values = Values(type, b);
  for (std::size_t i = 0; i < a_values.size(); ++i) {
    if (std::isnan(a_values[i]) && std::isnan(b_values[i])) continue;
    if (std::memcmp(a.data() + i * width, b.data() + i * width, width) != 0) {
      return false;
    }
  }
  return true;
}

Frame RandomFrame(DataType type, std::size_t elements, Random& random) {
  Frame frame;
  for (std::size_t i = 0; i < elements; ++i) {
    const std::uint64_t bits = random.Next();
    if (IsFloatingPoint(type)) {
      // [-2, 2), in steps that f64 alone can hold.
      Append(type, std::ldexp(static_cast<double>(bits >> 11), -51) - 2, frame);
    } else {
      WithType(type, [&](auto zero) {
        Put(static_cast<decltype(zero)>(bits), frame);
      });
    }
  }
  return frame;
}

std::vector<ReduceOp> OpsOf(DataType type) {
  std::vector<ReduceOp> ops;
  for (std::size_t i = 0; i < kReduceOpCount; ++i) {
    const auto op = static_cast<ReduceOp>(i);
    if (Supports(op, type)) ops.push_back(op);
  }
  return ops;
}

std::vector<DataType> AllTypes() {
  std::vector<DataType> types;
  for (std::size_t i = 0; i < kDataTypeCount; ++i) {
    types.push_back(static_cast<DataType>(i));
  }
  return types;
}

std::vector<InstructionSet> AvailableSets() {
  std::vector<InstructionSet> sets;
  for (InstructionSet set : {InstructionSet::kBaseline, InstructionSet::kAvx2,
                             InstructionSet::kAvx512}) {
    if (IsAvailable(set)) sets.push_back(set);
  }
  return sets;
}

}  // namespace hoplite
