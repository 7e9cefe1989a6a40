// A fold with the instructions of the caller's choice.
//
// The arithmetic of hoplite/kernels/fold.h, which is what to call: it checks
// its arguments and takes the best instructions that the processor has. This
// is apart so that tests reach every set.
//
// The loops are written once, in vector_fold.inc, and compiled for each set
// by function attributes: the program starts on any processor, without
// compiler flags of its own.
//
// Thread safety: thread-safe; calls must not write what others use.

#ifndef HOPLITE_KERNELS_VECTOR_FOLD_H_
#define HOPLITE_KERNELS_VECTOR_FOLD_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "hoplite/base/reduction.h"

namespace hoplite {

enum class InstructionSet {
  kBaseline,  // what the compiler assumes; on x86, SSE2
  kAvx2,      // with F16C
  kAvx512,    // F, BW, DQ and VL
};

// Whether this processor, and the system on it, can execute the set.
bool IsAvailable(InstructionSet set);

// The widest available set. Costs nothing after the first call.
InstructionSet BestInstructionSet();

struct VectorFoldArguments {
  ReduceOp op;
  DataType type;
  std::uint64_t divisor;  // 1 unless `op` is an average
  std::span<std::byte> output;
  std::span<const std::span<const std::byte>> inputs;
};

// Does what Fold (hoplite/kernels/fold.h) says.
//
// REQUIRES: what Fold requires, and IsAvailable(set).
void VectorFold(InstructionSet set, const VectorFoldArguments& arguments);

}  // namespace hoplite

#endif  // HOPLITE_KERNELS_VECTOR_FOLD_H_
