#include "ray_integration/api/meta.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "hoplite/base/random.h"
#include "hoplite/base/reduction.h"

namespace hoplite::task {
namespace {

const Shape kMatrix{.numbers = DataType::kF32,
                    .element_bytes = 4,
                    .rank = 2,
                    .extents = {3, 4000}};

TEST(MetaTest, EveryShapeIsReadAsItWasWritten) {
  const Shape struct_of_24{.element_bytes = 24};
  const Shape text{.element_bytes = 1, .rank = 1, .extents = {70000, 1}};
  for (const Shape& shape : {kMatrix, struct_of_24, text}) {
    EXPECT_EQ(ReadShape(MetaOf(shape)), shape) << DescribeMeta(MetaOf(shape));
  }
}

TEST(MetaTest, TheThreeKindsAreNotTakenForEachOther) {
  EXPECT_EQ(ReadComposite(MetaOfComposite(300)), 300);
  EXPECT_EQ(ReadComposite(MetaOf(kMatrix)), std::nullopt);
  EXPECT_EQ(ReadShape(MetaOfComposite(300)), std::nullopt);
  EXPECT_TRUE(IsNothing(MetaOfNothing()));
  EXPECT_FALSE(IsNothing(MetaOf(kMatrix)));
}

TEST(MetaTest, AMetaThatIsCutOrLongerIsNotRead) {
  const std::string meta = MetaOf(kMatrix);
  for (std::size_t i = 0; i < meta.size(); ++i) {
    EXPECT_EQ(ReadShape(meta.substr(0, i)), std::nullopt) << i;
  }
  EXPECT_EQ(ReadShape(meta + "x"), std::nullopt);
  EXPECT_EQ(ReadComposite(MetaOfComposite(300) + "x"), std::nullopt);
}

TEST(MetaTest, ExtentsWhoseProductOverflowsAreNotRead) {
  const Shape huge{.numbers = DataType::kF64,
                   .element_bytes = 8,
                   .rank = 2,
                   .extents = {std::uint64_t{1} << 32, std::uint64_t{1} << 32}};
  EXPECT_EQ(SizeOf(huge), std::nullopt);
  EXPECT_EQ(ReadShape(MetaOf(huge)), std::nullopt);
}

TEST(MetaTest, RandomBytesAreReadOrRefusedAndNothingElse) {
  const std::uint64_t seed = 5;
  Random random(seed);
  for (int i = 0; i < 20000; ++i) {
    std::string meta(random.Below(12), 'f');
    for (std::size_t j = i % 2; j < meta.size(); ++j) {
      meta[j] = static_cast<char>(random.Below(256));
    }
    const auto shape = ReadShape(meta);
    EXPECT_TRUE(!shape || SizeOf(*shape).has_value()) << "seed " << seed;
    EXPECT_FALSE(DescribeMeta(meta).empty()) << "seed " << seed;
  }
}

TEST(MetaTest, ShapesAreDescribedAsPeopleSayThem) {
  EXPECT_EQ(DescribeMeta(MetaOf(kMatrix)), "a 3 x 4000 matrix of f32");
  EXPECT_EQ(DescribeMeta(MetaOfNothing()), "nothing");
  EXPECT_EQ(DescribeMeta("?"), "a value that cannot be read");
}

TEST(VarintTest, ANumberWithoutAnEndIsNone) {
  for (std::uint64_t number :
       {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128},
        std::numeric_limits<std::uint64_t>::max()}) {
    std::string written;
    AppendVarint(written, number);
    absl::string_view from = written;
    EXPECT_EQ(TakeVarint(from), number);
    EXPECT_TRUE(from.empty());
  }
  absl::string_view endless = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
  EXPECT_EQ(TakeVarint(endless), std::nullopt);
}

}  // namespace
}  // namespace hoplite::task
