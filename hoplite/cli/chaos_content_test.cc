#include "hoplite/cli/chaos_content.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <vector>

namespace hoplite::cli {
namespace {

constexpr std::uint64_t kBytes = 64 << 10;
constexpr ChaosContent kContent{.seed = 7, .operation = 3};

std::vector<std::byte> Object(std::uint32_t object) {
  std::vector<std::byte> bytes(kBytes);
  kContent.Fill(object, bytes);
  return bytes;
}

void Add(std::vector<std::byte>& sum, const std::vector<std::byte>& object) {
  for (std::size_t i = 0; i < sum.size(); i += sizeof(float)) {
    float a = 0;
    float b = 0;
    std::memcpy(&a, sum.data() + i, sizeof(a));
    std::memcpy(&b, object.data() + i, sizeof(b));
    a += b;
    std::memcpy(sum.data() + i, &a, sizeof(a));
  }
}

TEST(ChaosContentTest, AReaderFindsTheWeight) {
  const ChaosReading reading = kContent.Read(kBytes, Object(5));
  EXPECT_EQ(reading.weight, kContent.Weight(5));
  EXPECT_EQ(reading.wrong_bytes, 0);
  EXPECT_NE(kContent.Weight(5), kContent.Weight(6));
}

TEST(ChaosContentTest, ASumHasTheSumOfTheWeights) {
  std::vector<std::byte> sum = Object(0);
  ChaosWeight weight = kContent.Weight(0);
  for (std::uint32_t i = 1; i < 64; ++i) {
    Add(sum, Object(i));
    weight = weight + kContent.Weight(i);
  }
  const ChaosReading reading = kContent.Read(kBytes, sum);
  EXPECT_EQ(reading.weight, weight);
  EXPECT_EQ(reading.wrong_bytes, 0);
}

TEST(ChaosContentTest, EachWrongByteIsCounted) {
  std::vector<std::byte> bytes = Object(1);
  bytes[1000] ^= std::byte{1};
  bytes[kBytes - 1] ^= std::byte{1};
  EXPECT_EQ(kContent.Read(kBytes, bytes).wrong_bytes, 2);
}

TEST(ChaosContentTest, APieceInTheWrongPlaceIsSeen) {
  std::vector<std::byte> bytes = Object(1);
  std::memmove(bytes.data() + 4096, bytes.data() + 8192, 4096);
  EXPECT_GT(kContent.Read(kBytes, bytes).wrong_bytes, 1000);
}

TEST(ChaosContentTest, APartThatIsCountedTwiceIsSeen) {
  std::vector<std::byte> sum = Object(0);
  Add(sum, Object(1));
  std::vector<std::byte> again = Object(1);
  std::fill(again.begin(), again.end() - 4096, std::byte{0});
  Add(sum, again);
  EXPECT_GT(kContent.Read(kBytes, sum).wrong_bytes, 1000);
}

TEST(ChaosContentTest, AnotherSizeIsAllWrong) {
  EXPECT_EQ(kContent.Read(2 * kBytes, Object(0)).wrong_bytes, 2 * kBytes);
}

TEST(ChaosContentTest, SumsOfSomeAreRecognised) {
  constexpr std::uint32_t kObjects = 16;
  ChaosWeight all;
  for (std::uint32_t i = 0; i < kObjects; ++i) all = all + kContent.Weight(i);
  EXPECT_TRUE(IsSumOf(kContent, kObjects, kObjects, all));
  EXPECT_FALSE(IsSumOf(kContent, kObjects, kObjects - 1, all));
  // Without sources 2 and 9.
  ChaosWeight some;
  for (std::uint32_t i = 0; i < kObjects; ++i) {
    if (i != 2 && i != 9) some = some + kContent.Weight(i);
  }
  EXPECT_TRUE(IsSumOf(kContent, kObjects, kObjects - 2, some));
  EXPECT_FALSE(IsSumOf(kContent, kObjects, kObjects, some));
  // One twice, and another not at all.
  ChaosWeight twice = some + kContent.Weight(2);
  twice = twice + kContent.Weight(2);
  EXPECT_FALSE(IsSumOf(kContent, kObjects, kObjects, twice));
  EXPECT_FALSE(IsSumOf(kContent, kObjects, kObjects, all + kContent.Weight(0)));
}

}  // namespace
}  // namespace hoplite::cli
