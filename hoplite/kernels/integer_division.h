// Division of many integers by one, truncated towards zero.
//
// What makes an average of a sum of integers. One multiplication for each
// element of up to 32 bits, since the divisor's reciprocal is computed once.
//
// Thread safety: thread-safe; calls must not write what others use.

#ifndef HOPLITE_KERNELS_INTEGER_DIVISION_H_
#define HOPLITE_KERNELS_INTEGER_DIVISION_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "hoplite/base/reduction.h"

namespace hoplite {

// Replaces each element by its quotient. `numbers` may have any alignment; a
// divisor that the type cannot hold is as good as any other.
//
// REQUIRES: an integer type; divisor > 0; numbers.size() is a multiple of
// SizeOf(type).
void DivideIntegers(DataType type, std::uint64_t divisor,
                    std::span<std::byte> numbers);

}  // namespace hoplite

#endif  // HOPLITE_KERNELS_INTEGER_DIVISION_H_
