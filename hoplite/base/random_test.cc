#include "hoplite/base/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace hoplite {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::Le;

std::vector<std::uint64_t> Draw(Random random, int count) {
  std::vector<std::uint64_t> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(random.Next());
  return numbers;
}

// The published numbers of SplitMix64: a seed in a bug report has to give the
// same run on every machine and in every version.
TEST(RandomTest, TheNumbersAreThoseOfSplitMix64) {
  EXPECT_THAT(Draw(Random(0), 4),
              ::testing::ElementsAre(0xe220a8397b1dcdafu, 0x6e789e6aa1b965f4u,
                                     0x06c45d188009454fu, 0xf88bb8a8724c81ecu));
  EXPECT_THAT(Draw(Random(1234567), 3),
              ::testing::ElementsAre(6457827717110365317u, 3203168211198807973u,
                                     9817491932198370423u));
}

TEST(RandomTest, EveryNumberBelowTheBoundIsDrawnAboutEquallyOften) {
  Random random(7);
  std::vector<int> counts(6, 0);
  for (int i = 0; i < 6000; ++i) ++counts[random.Below(6)];
  EXPECT_THAT(counts, Each(AllOf(Ge(850), Le(1150))));
}

TEST(RandomTest, BothEndsOfARangeAreDrawn) {
  Random random(7);
  std::vector<std::uint64_t> numbers;
  for (int i = 0; i < 200; ++i) numbers.push_back(random.Between(3, 6));
  EXPECT_EQ(*std::ranges::min_element(numbers), 3u);
  EXPECT_EQ(*std::ranges::max_element(numbers), 6u);
  EXPECT_EQ(random.Between(9, 9), 9u);
}

TEST(RandomTest, TheWholeRangeOfNumbersCanBeAskedFor) {
  Random random(7);
  EXPECT_EQ(random.Between(0, UINT64_MAX), Draw(Random(7), 1).front());
}

TEST(RandomTest, ChanceIsTheRatioAskedFor) {
  Random random(7);
  int hits = 0;
  for (int i = 0; i < 6000; ++i) hits += random.Chance(1, 3) ? 1 : 0;
  EXPECT_THAT(hits, AllOf(Ge(1850), Le(2150)));
  EXPECT_FALSE(random.Chance(0, 5));
  EXPECT_TRUE(random.Chance(5, 5));
}

TEST(RandomTest, ShufflingKeepsTheItemsAndMovesThem) {
  std::vector<int> items(50);
  std::iota(items.begin(), items.end(), 0);
  std::vector<int> shuffled = items;
  Random(7).Shuffle(shuffled);
  EXPECT_NE(shuffled, items);
  EXPECT_TRUE(std::ranges::is_permutation(shuffled, items));
}

TEST(RandomTest, DrawsFromAForkDoNotShiftTheOriginal) {
  Random one(7);
  Random two(7);
  Random fork = one.Fork();
  static_cast<void>(two.Fork());
  for (int i = 0; i < 10; ++i) fork.Next();
  EXPECT_EQ(Draw(one, 5), Draw(two, 5));
  EXPECT_NE(Draw(fork, 5), Draw(one, 5));
}

TEST(RandomDeathTest, ThereIsNoNumberBelowZero) {
  Random random(7);
  EXPECT_DEATH(random.Below(0), "CHECK failed: bound > 0");
  EXPECT_DEATH(random.Between(2, 1), "CHECK failed: low <= high");
}

}  // namespace
}  // namespace hoplite
