// What one node does to one frame of a reduction.
//
// Fold combines frames element by element, with the widest vector
// instructions of the processor it runs on.
//
// Integers: sums and products wrap around on overflow; an average wraps first
// and then is truncated towards zero.
//
// Floating point: min and max give a NaN wherever an operand is one, and hold
// -0 below +0, so the order of the inputs does not matter. Sums and products
// are computed from the first input to the last. f16 and bf16 are computed in
// f32 and rounded once, when the call stores its output, to the nearest, ties
// to even; what is too large becomes infinity.
//
// The error of a sum. Between nodes a partial sum travels in the type of the
// objects, so with f16 and bf16 every call on the way rounds. Let d be the
// largest number of calls between a source and the root, both ends counted, a
// the largest number of additions on such a way (at most the number of
// sources less one), and S the sum of the magnitudes of the sources. Without
// overflow the result differs from the exact sum by at most
//   f16:   ((1 + 2^-11)^d * (1 + 2^-24)^a - 1) * S, about d * S / 2,000
//   bf16:  ((1 + 2^-8)^d * (1 + 2^-24)^a - 1) * S,  about d * S / 256
//   f32:   ((1 + 2^-24)^a - 1) * S
//   f64:   ((1 + 2^-53)^a - 1) * S
// An average is divided before that rounding, which adds one more factor
// (1 + 2^-24), or (1 + 2^-53) for f64.
//
// Not responsible for: which frames meet, and in which order.
//
// Thread safety: thread-safe; calls must not write what others use.

#ifndef HOPLITE_KERNELS_FOLD_H_
#define HOPLITE_KERNELS_FOLD_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "hoplite/base/reduction.h"

namespace hoplite {

struct FoldSpec {
  ReduceOp op;
  DataType type;
  // For kAverage, at the root of a reduction: how many sources went in. 1 at
  // the other nodes, which only add. Other operations ignore it.
  std::uint64_t divisor = 1;
};

// output[i] = inputs[0][i] op inputs[1][i] op ... for every element i.
// kAverage adds, then divides by spec.divisor. Nothing needs to be aligned;
// frames of length 0 are fine.
//
// REQUIRES: Supports(spec.op, spec.type); spec.divisor > 0; at least one
// input; all spans of one length in bytes, a multiple of SizeOf(spec.type).
// `output` is the very memory of one or more inputs, or overlaps none.
void Fold(const FoldSpec& spec, std::span<std::byte> output,
          std::span<const std::span<const std::byte>> inputs);

}  // namespace hoplite

#endif  // HOPLITE_KERNELS_FOLD_H_
