#include "hoplite/kernels/integer_division.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "hoplite/base/check.h"
#include "hoplite/base/reduction.h"

namespace hoplite {
namespace {

// Exact for every dividend below 2^32 and divisor of [2, 2^32): the reciprocal
// is rounded up, by less than one of its last places, and so adds less than
// 2^-32 to the quotient, which is that much or more below the next integer
// (Lemire, Kaser, Kurz: "Faster remainder by direct computation", 2019).
class Reciprocal {
 public:
  explicit Reciprocal(std::uint64_t divisor)
      : reciprocal_(UINT64_MAX / divisor + 1) {}

  std::uint64_t Divide(std::uint64_t dividend) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((Wide{reciprocal_} * dividend) >> 64);
  }

 private:
  std::uint64_t reciprocal_;
};

// Division as the processor has it.
class Quotient {
 public:
  explicit Quotient(std::uint64_t divisor) : divisor_(divisor) {}

  std::uint64_t Divide(std::uint64_t dividend) const {
    return dividend / divisor_;
  }

 private:
  std::uint64_t divisor_;
};

// Divides magnitudes and restores the signs, so that the smallest integer
// needs no care.
template <typename T, typename Divider>
void DivideAll(Divider divider, std::span<std::byte> numbers) {
  for (std::size_t i = 0; i < numbers.size(); i += sizeof(T)) {
    T number;
    std::memcpy(&number, numbers.data() + i, sizeof(number));
    bool negative = false;
    if constexpr (std::is_signed_v<T>) negative = number < 0;
    // Widened with its sign first: -128 becomes 2^64 - 128.
    const auto bits = static_cast<std::uint64_t>(number);
    const std::uint64_t quotient = divider.Divide(negative ? 0 - bits : bits);
    number = static_cast<T>(negative ? 0 - quotient : quotient);
    std::memcpy(numbers.data() + i, &number, sizeof(number));
  }
}

template <typename T>
void DivideAllBy(std::uint64_t divisor, std::span<std::byte> numbers) {
  if constexpr (sizeof(T) == sizeof(std::uint64_t)) {
    DivideAll<T>(Quotient(divisor), numbers);
  } else if (divisor > UINT32_MAX) {
    std::memset(numbers.data(), 0, numbers.size());
  } else {
    DivideAll<T>(Reciprocal(divisor), numbers);
  }
}

}  // namespace

void DivideIntegers(DataType type, std::uint64_t divisor,
                    std::span<std::byte> numbers) {
  HOPLITE_CHECK(divisor > 0);
  HOPLITE_CHECK(!IsFloatingPoint(type));
  if (divisor == 1 || numbers.empty()) return;
  switch (type) {
    case DataType::kU8:
      return DivideAllBy<std::uint8_t>(divisor, numbers);
    case DataType::kI8:
      return DivideAllBy<std::int8_t>(divisor, numbers);
    case DataType::kI32:
      return DivideAllBy<std::int32_t>(divisor, numbers);
    case DataType::kI64:
      return DivideAllBy<std::int64_t>(divisor, numbers);
    case DataType::kU32:
      return DivideAllBy<std::uint32_t>(divisor, numbers);
    case DataType::kU64:
      return DivideAllBy<std::uint64_t>(divisor, numbers);
    case DataType::kF16:
    case DataType::kBF16:
    case DataType::kF32:
    case DataType::kF64:
      break;
  }
  HOPLITE_CHECK(false);
}

}  // namespace hoplite
