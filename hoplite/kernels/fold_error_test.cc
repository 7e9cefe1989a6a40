// The error of a sum of many sources stays within the bound that fold.h gives,
// whatever the shape of the tree. The types are those of NCCL and PCCL, whose
// users reduce f16 and bf16 over many nodes.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "hoplite/base/random.h"
#include "hoplite/base/reduction.h"
#include "hoplite/kernels/fold.h"
#include "hoplite/kernels/scalar_reference.h"

namespace hoplite {
namespace {

constexpr std::size_t kSources = 1024;
constexpr std::size_t kElements = 33;

struct Partial {
  Frame frame;
  int depth;      // calls on the longest way to here
  int additions;  // on the way with the most of them
};

Partial FoldPartials(const FoldSpec& spec, std::span<const Partial> parts) {
  std::vector<std::span<const std::byte>> inputs;
  Partial result{
      .frame = Frame(parts[0].frame.size()), .depth = 0, .additions = 0};
  for (const Partial& part : parts) {
    inputs.push_back(part.frame);
    result.depth = std::max(result.depth, part.depth);
    result.additions = std::max(result.additions, part.additions);
  }
  result.depth += 1;
  result.additions += static_cast<int>(parts.size()) - 1;
  Fold(spec, result.frame, inputs);
  return result;
}

// Groups of `fan_in` are folded until one is left.
Partial FoldTree(const FoldSpec& spec, std::vector<Partial> level,
                 std::size_t fan_in) {
  while (level.size() > 1) {
    std::vector<Partial> next;
    for (std::size_t i = 0; i < level.size(); i += fan_in) {
      const std::size_t count = std::min(fan_in, level.size() - i);
      next.push_back(FoldPartials(spec, std::span(level).subspan(i, count)));
    }
    level = std::move(next);
  }
  return level[0];
}

// Each source is added to the sum of those before it, by a call of its own.
Partial FoldChain(const FoldSpec& spec, const std::vector<Partial>& sources) {
  Partial total = sources[0];
  for (std::size_t k = 1; k < sources.size(); ++k) {
    total = FoldPartials(spec, std::vector{total, sources[k]});
  }
  return total;
}

double UnitOf(DataType type) {
  if (type == DataType::kF16) return 0x1p-11;
  if (type == DataType::kBF16) return 0x1p-8;
  return 0;
}

// (1 + unit)^depth * (1 + lane)^additions - 1, the factor of the magnitudes.
double BoundOf(DataType type, const Partial& total) {
  const double lane = type == DataType::kF64 ? 0x1p-53 : 0x1p-24;
  return std::expm1(total.depth * std::log1p(UnitOf(type)) +
                    total.additions * std::log1p(lane));
}

class FoldErrorTest : public testing::TestWithParam<DataType> {
 protected:
  // Sources of kElements numbers, and what they sum to.
  void AddSource(const std::vector<double>& values) {
    const DataType type = GetParam();
    Partial source{
        .frame = MakeFrame(type, values), .depth = 0, .additions = 0};
    const std::vector<double> rounded = Values(type, source.frame);
    for (std::size_t i = 0; i < kElements; ++i) {
      sums_[i] += rounded[i];
      magnitudes_[i] += std::fabs(rounded[i]);
    }
    sources_.push_back(std::move(source));
  }
  void CheckWithinBound(const Partial& total) {
    const double bound = BoundOf(GetParam(), total);
    const std::vector<double> values = Values(GetParam(), total.frame);
    for (std::size_t i = 0; i < kElements; ++i) {
      EXPECT_LE(std::fabs(values[i] - static_cast<double>(sums_[i])),
                bound * static_cast<double>(magnitudes_[i]))
          << "depth " << total.depth << ", element " << i;
    }
  }
  void CheckEveryShape() {
    const FoldSpec spec{.op = ReduceOp::kSum, .type = GetParam()};
    // 128 on each of 8 nodes, then the nodes; one call for all; a chain.
    for (std::size_t fan_in : {2u, 3u, 4u, 32u, 128u, 1024u}) {
      CheckWithinBound(FoldTree(spec, sources_, fan_in));
    }
    CheckWithinBound(FoldChain(spec, sources_));
  }

  std::vector<Partial> sources_;
  std::vector<long double> sums_ = std::vector<long double>(kElements);
  std::vector<long double> magnitudes_ = std::vector<long double>(kElements);
};

TEST_P(FoldErrorTest, SumOfThirdsStaysWithinTheBound) {
  for (std::size_t k = 0; k < kSources; ++k) {
    AddSource(std::vector<double>(kElements, 1.0 / 3));
  }
  CheckEveryShape();
}

TEST_P(FoldErrorTest, SumOfBothSignsStaysWithinTheBound) {
  Random random(11);
  for (std::size_t k = 0; k < kSources; ++k) {
    AddSource(Values(GetParam(), RandomFrame(GetParam(), kElements, random)));
  }
  CheckEveryShape();
}

// What the bound is for: a flat fold of halves is as good as the type, a tree
// nearly so, and a chain, which rounds 1,023 times, comes to a standstill.
TEST(FoldErrorOfShapesTest, GrowsWithTheDepthOfTheTree) {
  const DataType type = DataType::kBF16;
  const FoldSpec spec{.op = ReduceOp::kSum, .type = type};
  const std::vector<Partial> thirds(
      kSources,
      {.frame = MakeFrame(type, {1.0 / 3}), .depth = 0, .additions = 0});
  const double exact = kSources * Values(type, thirds[0].frame)[0];
  const auto error = [&](const Partial& total) {
    return std::fabs(Values(type, total.frame)[0] - exact) / exact;
  };
  EXPECT_LE(error(FoldTree(spec, thirds, kSources)), 0x1p-8 + 0x1p-14);
  EXPECT_LE(error(FoldTree(spec, thirds, 4)), 5 * 0x1p-8);
  EXPECT_GT(error(FoldChain(spec, thirds)), 0.5);
}

TEST(FoldErrorOfShapesTest, AverageIsDividedAtTheRootAlone) {
  const DataType type = DataType::kBF16;
  const std::vector<Partial> thirds(
      128, {.frame = MakeFrame(type, {1.0 / 3}), .depth = 0, .additions = 0});
  const FoldSpec inner{.op = ReduceOp::kAverage, .type = type};
  const FoldSpec root{
      .op = ReduceOp::kAverage, .type = type, .divisor = kSources};
  const Partial node = FoldPartials(inner, thirds);
  const Partial total = FoldPartials(root, std::vector<Partial>(8, node));
  const double third = Values(type, thirds[0].frame)[0];
  const double bound = std::expm1(2 * std::log1p(0x1p-8) +
                                  (total.additions + 1) * std::log1p(0x1p-24));
  EXPECT_NEAR(Values(type, total.frame)[0], third, bound * third);
}

INSTANTIATE_TEST_SUITE_P(Kernels, FoldErrorTest,
                         testing::Values(DataType::kF16, DataType::kBF16,
                                         DataType::kF32, DataType::kF64),
                         [](const auto& info) {
                           return std::string(ToString(info.param));
                         });

}  // namespace
}  // namespace hoplite
