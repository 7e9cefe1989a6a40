#include "hoplite/base/byte_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bitset>
#include <cstdint>
#include <vector>

#include "hoplite/base/random.h"

namespace hoplite {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ByteRangeTest, SizeIsTheDistanceOfTheEnds) {
  EXPECT_EQ((ByteRange{3, 10}).size(), 7u);
  EXPECT_FALSE((ByteRange{3, 10}).empty());
  EXPECT_TRUE((ByteRange{3, 3}).empty());
}

TEST(RangeSetTest, AdjacentAndOverlappingRangesBecomeOne) {
  RangeSet set;
  set.Add({0, 10});
  set.Add({20, 30});
  EXPECT_THAT(set.ranges(), ElementsAre(ByteRange{0, 10}, ByteRange{20, 30}));
  set.Add({10, 20});
  EXPECT_THAT(set.ranges(), ElementsAre(ByteRange{0, 30}));
  set.Add({5, 40});
  EXPECT_THAT(set.ranges(), ElementsAre(ByteRange{0, 40}));
}

TEST(RangeSetTest, AnEmptyRangeChangesNothing) {
  RangeSet set(ByteRange{10, 20});
  set.Add({15, 15});
  set.Add({30, 30});
  set.Subtract({15, 15});
  EXPECT_THAT(set.ranges(), ElementsAre(ByteRange{10, 20}));
}

TEST(RangeSetTest, SubtractingTheMiddleLeavesTwoEnds) {
  RangeSet set(ByteRange{0, 30});
  set.Subtract({10, 20});
  EXPECT_THAT(set.ranges(), ElementsAre(ByteRange{0, 10}, ByteRange{20, 30}));
  set.Subtract({0, 30});
  EXPECT_THAT(set.ranges(), IsEmpty());
}

TEST(RangeSetTest, TheFirstGapIsWhereAFetchResumes) {
  RangeSet set;
  EXPECT_EQ(set.FirstGap(100), 0u);
  set.Add({10, 20});
  EXPECT_EQ(set.FirstGap(100), 0u);
  set.Add({0, 10});
  EXPECT_EQ(set.FirstGap(100), 20u);
  EXPECT_EQ(set.FirstGap(20), 20u);
  EXPECT_EQ(set.FirstGap(15), 15u);
}

TEST(RangeSetTest, OffsetsAboveFourGibibytesAreKept) {
  constexpr std::uint64_t kHigh = (std::uint64_t{1} << 32) + 1;
  RangeSet set(ByteRange{0, kHigh});
  EXPECT_EQ(set.FirstGap(kHigh + 5), kHigh);
  EXPECT_EQ(set.TotalBytes(), kHigh);
}

TEST(RangeSetDeathTest, ARangeThatEndsBeforeItBeginsIsAMistake) {
  RangeSet set;
  EXPECT_DEATH(set.Add({2, 1}), "CHECK failed");
  EXPECT_DEATH(set.Subtract({2, 1}), "CHECK failed");
}

// The same operations on a set of bits, byte by byte, are the reference.
class RangeSetReference {
 public:
  static constexpr std::size_t kSize = 64;

  void Set(ByteRange range, bool held) {
    for (std::uint64_t i = range.begin; i < range.end; ++i) bits_[i] = held;
  }
  bool Covers(ByteRange range) const {
    for (std::uint64_t i = range.begin; i < range.end; ++i) {
      if (!bits_[i]) return false;
    }
    return true;
  }
  std::uint64_t FirstGap() const {
    std::uint64_t gap = 0;
    while (gap < kSize && bits_[gap]) ++gap;
    return gap;
  }
  std::vector<ByteRange> Ranges() const {
    std::vector<ByteRange> ranges;
    for (std::uint64_t i = 0; i < kSize; ++i) {
      if (!bits_[i]) continue;
      if (i > 0 && bits_[i - 1]) {
        ++ranges.back().end;
      } else {
        ranges.push_back({i, i + 1});
      }
    }
    return ranges;
  }

 private:
  std::bitset<kSize> bits_;
};

ByteRange Draw(Random& random) {
  const std::uint64_t begin = random.Between(0, RangeSetReference::kSize);
  return {begin, random.Between(begin, RangeSetReference::kSize)};
}

TEST(RangeSetTest, AgreesWithASetOfBitsOnRandomOperations) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    RangeSet set;
    RangeSetReference reference;
    for (int step = 0; step < 40; ++step) {
      const ByteRange range = Draw(random);
      const bool add = random.Chance(2, 3);
      reference.Set(range, add);
      add ? set.Add(range) : set.Subtract(range);
      ASSERT_EQ(set.ranges(), reference.Ranges());
      ASSERT_EQ(set.FirstGap(RangeSetReference::kSize), reference.FirstGap());
      const ByteRange probe = Draw(random);
      ASSERT_EQ(set.Covers(probe), reference.Covers(probe));
    }
  }
}

}  // namespace
}  // namespace hoplite
