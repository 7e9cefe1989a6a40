#include "apps/parameter_server/digits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hoplite/base/testing/status_matchers.h"

namespace hoplite::apps {
namespace {

using ::testing::HasSubstr;

std::string Line(char shade, char digit) {
  return absl::StrCat(std::string(kDigitPixels, shade), " ",
                      std::string(1, digit), "\n");
}

TEST(Digits, TheSetOfTheTreeIsWhole) {
  const Digits& digits = HandwrittenDigits();
  EXPECT_EQ(digits.learned.size(), 1541u);
  EXPECT_EQ(digits.held_out.size(), 256u);
  EXPECT_EQ(digits.learned.images.cols(), 1541);
  EXPECT_GE(digits.learned.images.minCoeff(), 0.0f);
  EXPECT_EQ(digits.learned.images.maxCoeff(), 1.0f);
  const std::set<int> labels(digits.held_out.labels.begin(),
                             digits.held_out.labels.end());
  EXPECT_EQ(labels.size(), static_cast<std::size_t>(kDigitClasses));
}

TEST(Digits, EverySeventhIsHeldOut) {
  const auto digits = ParseDigits(absl::StrCat(
      Line('0', '1'), Line('8', '2'), Line('g', '3'), Line('0', '4'),
      Line('0', '5'), Line('0', '6'), Line('g', '7')));
  ASSERT_THAT(digits, IsOk());
  EXPECT_EQ(digits->learned.labels, (std::vector<int>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(digits->held_out.labels, (std::vector<int>{7}));
  EXPECT_EQ(digits->learned.images(0, 1), 0.5f);
  EXPECT_EQ(digits->held_out.images(63, 0), 1.0f);
}

TEST(Digits, ALineThatIsNoDigitIsNamed) {
  for (const std::string& bad :
       {Line('h', '1'), Line('0', 'x'), std::string("0 1\n")}) {
    EXPECT_THAT(
        ParseDigits(Line('0', '1') + bad),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 2")));
  }
  EXPECT_THAT(ParseDigits(""),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("few")));
}

TEST(Digits, ABatchHasImagesWithTheirOwnLabels) {
  const auto digits = ParseDigits(absl::StrCat(
      Line('0', '0'), Line('8', '1'), Line('g', '2'), Line('8', '1'),
      Line('g', '2'), Line('0', '0'), Line('8', '1')));
  ASSERT_THAT(digits, IsOk());
  Random random(1);
  const Examples batch = DrawBatch(digits->learned, 100, random);
  ASSERT_EQ(batch.size(), 100u);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(batch.images(5, i) * 2,
              static_cast<float>(batch.labels[static_cast<std::size_t>(i)]));
  }
}

TEST(Digits, AnImageIsShiftedByAtMostAPixel) {
  Examples examples;
  constexpr int kCount = 400;
  examples.images = Eigen::MatrixXf::Zero(kDigitPixels, kCount);
  const int middle = 3 * kDigitSide + 4;
  examples.images.row(middle).setOnes();
  examples.images.row(kDigitPixels - 1).setOnes();  // a corner
  Random random(1);
  ShiftSome(examples, random);
  std::set<int> places;
  for (int i = 0; i < kCount; ++i) {
    int place = 0;
    examples.images.col(i).head(kDigitPixels - 12).maxCoeff(&place);
    places.insert(place);
    EXPECT_LE(examples.images.col(i).sum(), 2.0f);
  }
  std::set<int> expected;
  for (const int down : {-1, 0, 1}) {
    for (const int right : {-1, 0, 1}) {
      expected.insert(middle + down * kDigitSide + right);
    }
  }
  EXPECT_EQ(places, expected);
}

}  // namespace
}  // namespace hoplite::apps
