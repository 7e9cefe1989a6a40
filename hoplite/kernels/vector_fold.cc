#include "hoplite/kernels/vector_fold.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "hoplite/base/check.h"
#include "hoplite/base/reduction.h"
#include "hoplite/kernels/integer_division.h"

// What vector_fold.inc needs is included here: an inline function that stood
// between the attributes below could end up in the whole program, compiled for
// a processor that has the set.

#if defined(__x86_64__)
#define HOPLITE_HAS_X86_SETS 1
#include <cpuid.h>
#include <immintrin.h>
#else
#define HOPLITE_HAS_X86_SETS 0
#endif

namespace hoplite {
namespace {

namespace baseline {
#define HOPLITE_VECTOR_BYTES 16
#define HOPLITE_HAS_F16C 0
#include "hoplite/kernels/vector_fold.inc"
#undef HOPLITE_VECTOR_BYTES
#undef HOPLITE_HAS_F16C
}  // namespace baseline

#if HOPLITE_HAS_X86_SETS

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,f16c"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,f16c")
#endif
namespace avx2 {
#define HOPLITE_VECTOR_BYTES 32
#define HOPLITE_HAS_F16C 1
#include "hoplite/kernels/vector_fold.inc"
#undef HOPLITE_VECTOR_BYTES
#undef HOPLITE_HAS_F16C
}  // namespace avx2
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#if defined(__clang__)
#pragma clang attribute push(                                                \
    __attribute__((target("avx2,f16c,avx512f,avx512bw,avx512dq,avx512vl"))), \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,f16c,avx512f,avx512bw,avx512dq,avx512vl")
#endif
namespace avx512 {
#define HOPLITE_VECTOR_BYTES 64
#define HOPLITE_HAS_F16C 1
#include "hoplite/kernels/vector_fold.inc"
#undef HOPLITE_VECTOR_BYTES
#undef HOPLITE_HAS_F16C
}  // namespace avx512
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

bool HasAvx2() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool has_f16c =
      __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
  return has_f16c && __builtin_cpu_supports("avx2");
}

bool HasAvx512() {
  return HasAvx2() && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

#endif  // HOPLITE_HAS_X86_SETS

InstructionSet FindBestInstructionSet() {
  if (IsAvailable(InstructionSet::kAvx512)) return InstructionSet::kAvx512;
  if (IsAvailable(InstructionSet::kAvx2)) return InstructionSet::kAvx2;
  return InstructionSet::kBaseline;
}

}  // namespace

bool IsAvailable(InstructionSet set) {
#if HOPLITE_HAS_X86_SETS
  if (set == InstructionSet::kAvx512) return HasAvx512();
  if (set == InstructionSet::kAvx2) return HasAvx2();
#endif
  return set == InstructionSet::kBaseline;
}

InstructionSet BestInstructionSet() {
  static const InstructionSet best = FindBestInstructionSet();
  return best;
}

void VectorFold(InstructionSet set, const VectorFoldArguments& arguments) {
  switch (set) {
    case InstructionSet::kBaseline:
      baseline::FoldVectors(arguments);
      break;
#if HOPLITE_HAS_X86_SETS
    case InstructionSet::kAvx2:
      avx2::FoldVectors(arguments);
      break;
    case InstructionSet::kAvx512:
      avx512::FoldVectors(arguments);
      break;
#else
    default:
      HOPLITE_CHECK(IsAvailable(set));
#endif
  }
  if (!IsFloatingPoint(arguments.type) && arguments.divisor != 1) {
    DivideIntegers(arguments.type, arguments.divisor, arguments.output);
  }
}

}  // namespace hoplite
