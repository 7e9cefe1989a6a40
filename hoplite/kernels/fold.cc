#include "hoplite/kernels/fold.h"

#include <cstddef>
#include <span>

#include "hoplite/base/check.h"
#include "hoplite/base/reduction.h"
#include "hoplite/kernels/vector_fold.h"

namespace hoplite {

void Fold(const FoldSpec& spec, std::span<std::byte> output,
          std::span<const std::span<const std::byte>> inputs) {
  HOPLITE_CHECK(Supports(spec.op, spec.type));
  HOPLITE_CHECK(spec.divisor > 0);
  HOPLITE_CHECK(!inputs.empty());
  HOPLITE_CHECK(output.size() % SizeOf(spec.type) == 0);
  for (std::span<const std::byte> input : inputs) {
    HOPLITE_CHECK(input.size() == output.size());
  }
  const bool divides = spec.op == ReduceOp::kAverage;
  VectorFold(BestInstructionSet(), {.op = spec.op,
                                    .type = spec.type,
                                    .divisor = divides ? spec.divisor : 1,
                                    .output = output,
                                    .inputs = inputs});
}

}  // namespace hoplite
