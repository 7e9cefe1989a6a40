// What Fold should compute, one element after the other, for its tests.
//
// Written from the definitions of the formats, without the tricks of the
// kernels: 16-bit floating point is decoded and rounded by ldexp and
// nearbyint.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_KERNELS_SCALAR_REFERENCE_H_
#define HOPLITE_KERNELS_SCALAR_REFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hoplite/base/random.h"
#include "hoplite/base/reduction.h"
#include "hoplite/kernels/fold.h"
#include "hoplite/kernels/vector_fold.h"

namespace hoplite {

using Frame = std::vector<std::byte>;

// The bits of the f16 or bf16 nearest to `value`, ties to even.
std::uint16_t EncodeHalf(DataType type, double value);
double DecodeHalf(DataType type, std::uint16_t bits);

// Appends `value`, rounded to the type: how tests write frames. REQUIRES: an
// integer type holds the value.
void Append(DataType type, double value, Frame& frame);
Frame MakeFrame(DataType type, const std::vector<double>& values);
// The inverse; integers of more than 53 bits are rounded.
std::vector<double> Values(DataType type, std::span<const std::byte> frame);

// The result of Fold, by definition.
Frame ReferenceFold(const FoldSpec& spec, const std::vector<Frame>& inputs);

// Fold with a given instruction set; the output is fresh memory.
Frame FoldFrames(InstructionSet set, const FoldSpec& spec,
                 const std::vector<Frame>& inputs);

// Whether the frames are the same, bit by bit; any two NaNs are the same.
bool SameElements(DataType type, std::span<const std::byte> a,
                  std::span<const std::byte> b);

// Random bits; of floating-point types, finite numbers of moderate size only.
Frame RandomFrame(DataType type, std::size_t elements, Random& random);

// Every operation that the type supports.
std::vector<ReduceOp> OpsOf(DataType type);
std::vector<DataType> AllTypes();
// Those that this processor has, the baseline first.
std::vector<InstructionSet> AvailableSets();

}  // namespace hoplite

#endif  // HOPLITE_KERNELS_SCALAR_REFERENCE_H_
