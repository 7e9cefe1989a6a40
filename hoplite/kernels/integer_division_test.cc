#include "hoplite/kernels/integer_division.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "gtest/gtest.h"
#include "hoplite/base/random.h"
#include "hoplite/base/reduction.h"

namespace hoplite {
namespace {

template <typename T>
void CheckQuotients(DataType type, const std::vector<T>& numbers,
                    std::uint64_t divisor) {
  std::vector<T> quotients = numbers;
  DivideIntegers(type, divisor, std::as_writable_bytes(std::span(quotients)));
  __extension__ using Wide = __int128;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_EQ(quotients[i],
              static_cast<T>(Wide{numbers[i]} / static_cast<Wide>(divisor)))
        << "element " << i << ", divisor " << divisor;
  }
}

TEST(IntegerDivisionTest, DividesEveryByteByEveryDivisor) {
  std::vector<std::uint8_t> bytes;
  std::vector<std::int8_t> signed_bytes;
  for (int i = 0; i < 256; ++i) {
    bytes.push_back(static_cast<std::uint8_t>(i));
    signed_bytes.push_back(static_cast<std::int8_t>(i));
  }
  for (std::uint64_t divisor = 1; divisor < 600; ++divisor) {
    CheckQuotients(DataType::kU8, bytes, divisor);
    CheckQuotients(DataType::kI8, signed_bytes, divisor);
  }
}

// Multiples of the divisor and their neighbours, where a rounded reciprocal
// would go wrong first, and the ends of the type.
template <typename T>
void CheckEdges(DataType type) {
  Random random(3);
  for (int bits = 1; bits <= 64; ++bits) {
    for (int round = 0; round < 200; ++round) {
      const std::uint64_t top = std::uint64_t{1} << (bits - 1);
      const std::uint64_t divisor = round == 0 ? top : top + random.Below(top);
      std::vector<T> numbers = {0, 1, static_cast<T>(-1),
                                std::numeric_limits<T>::min(),
                                std::numeric_limits<T>::max()};
      for (int i = 0; i < 20; ++i) {
        const std::uint64_t number = random.Next() >> random.Below(64);
        const std::uint64_t multiple = number - number % divisor;
        for (std::uint64_t edge : {multiple - 1, multiple, multiple + 1}) {
          numbers.push_back(static_cast<T>(edge));
          numbers.push_back(static_cast<T>(0 - edge));
        }
      }
      CheckQuotients(type, numbers, divisor);
    }
  }
}

TEST(IntegerDivisionTest, IsExactAroundMultiples) {
  CheckEdges<std::int32_t>(DataType::kI32);
  CheckEdges<std::uint32_t>(DataType::kU32);
  CheckEdges<std::int64_t>(DataType::kI64);
  CheckEdges<std::uint64_t>(DataType::kU64);
}

TEST(IntegerDivisionTest, NeedsNoAlignment) {
  std::vector<std::byte> memory(1 + 4);
  memory[1] = std::byte{100};
  DivideIntegers(DataType::kI32, 7, std::span(memory).subspan(1));
  EXPECT_EQ(memory[1], std::byte{14});
}

}  // namespace
}  // namespace hoplite
