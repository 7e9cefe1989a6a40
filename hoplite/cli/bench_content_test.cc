#include "hoplite/cli/bench_content.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

namespace hoplite::cli {
namespace {

constexpr std::uint64_t kSize = 200'000;  // more than one chunk

RunContent SomeRun() {
  return {.nonce = "n", .seed = 7, .row = 2, .run = 3, .objects = 16};
}

std::vector<std::byte> Make(const RunContent& content, std::uint32_t object,
                            std::uint64_t size) {
  std::vector<std::byte> bytes(size);
  content.Fill(object, 0, bytes);
  return bytes;
}

std::vector<std::uint32_t> All(const RunContent& content) {
  std::vector<std::uint32_t> objects(content.objects);
  std::iota(objects.begin(), objects.end(), 0);
  return objects;
}

std::vector<std::byte> Sum(const RunContent& content, std::uint64_t size) {
  std::vector<float> sums(size / sizeof(float));
  std::vector<float> floats(sums.size());
  for (std::uint32_t object = 0; object < content.objects; ++object) {
    const std::vector<std::byte> bytes = Make(content, object, size);
    std::memcpy(floats.data(), bytes.data(), size);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += floats[i];
  }
  std::vector<std::byte> bytes(size);
  std::memcpy(bytes.data(), sums.data(), size);
  return bytes;
}

TEST(BenchContentTest, AnObjectIsRightAsItIs) {
  const RunContent content = SomeRun();
  for (std::uint64_t size : {0, 1, 3, 4, 4097, 200'000, 200'003}) {
    EXPECT_EQ(content.WrongBytes(5, size, Make(content, 5, size)), 0) << size;
  }
}

TEST(BenchContentTest, AnyPieceCanBeFilledApart) {
  const RunContent content = SomeRun();
  std::vector<std::byte> bytes(kSize);
  for (std::uint64_t offset = 0; offset < kSize; offset += 4000) {
    content.Fill(5, offset, std::span(bytes).subspan(offset, 4000));
  }
  EXPECT_EQ(content.WrongBytes(5, kSize, bytes), 0);
}

TEST(BenchContentTest, OneWrongByteIsOne) {
  const RunContent content = SomeRun();
  std::vector<std::byte> bytes = Make(content, 5, kSize);
  bytes[123'456] ^= std::byte{1};
  EXPECT_EQ(content.WrongBytes(5, kSize, bytes), 1);
}

TEST(BenchContentTest, AnotherSizeIsWrongAsAWhole) {
  const RunContent content = SomeRun();
  EXPECT_EQ(content.WrongBytes(5, kSize, Make(content, 5, kSize - 1)), kSize);
  EXPECT_EQ(content.WrongBytes(5, 0, Make(content, 5, 8)), 8);
}

// Half of a float's bytes are alike in most small numbers.
TEST(BenchContentTest, ObjectsOfOtherRowsRunsSeedsAndPlacesAreWrong) {
  const RunContent content = SomeRun();
  const auto is_wrong = [&](const std::vector<std::byte>& bytes) {
    return content.WrongBytes(5, kSize, bytes) > kSize / 4;
  };
  for (std::uint32_t other = 0; other < content.objects; ++other) {
    EXPECT_EQ(is_wrong(Make(content, other, kSize)), other != 5) << other;
  }
  RunContent changed = content;
  changed.row = 4;
  EXPECT_TRUE(is_wrong(Make(changed, 5, kSize)));
  changed = content;
  changed.run = 4;
  EXPECT_TRUE(is_wrong(Make(changed, 5, kSize)));
  changed = content;
  changed.seed = 8;
  EXPECT_TRUE(is_wrong(Make(changed, 5, kSize)));
  std::vector<std::byte> shifted(kSize);
  content.Fill(5, 4096, shifted);
  EXPECT_TRUE(is_wrong(shifted));
  EXPECT_TRUE(is_wrong(std::vector<std::byte>(kSize)));
}

TEST(BenchContentTest, TheSumIsExact) {
  const RunContent content = SomeRun();
  EXPECT_EQ(content.WrongSumBytes(All(content), kSize, Sum(content, kSize)), 0);
}

TEST(BenchContentTest, ASumThatLacksAnObjectIsWrong) {
  const RunContent content = SomeRun();
  RunContent fewer = content;
  --fewer.objects;
  EXPECT_GT(content.WrongSumBytes(All(content), kSize, Sum(fewer, kSize)),
            kSize / 8);
  EXPECT_EQ(content.WrongSumBytes(All(fewer), kSize, Sum(fewer, kSize)), 0);
}

TEST(BenchContentTest, NoTwoObjectsShareAnId) {
  RunContent content = SomeRun();
  EXPECT_NE(content.Id(1), content.Id(2));
  EXPECT_EQ(content.Target(), content.Id(16));
  const ObjectId id = content.Id(1);
  content.nonce = "another";
  EXPECT_NE(content.Id(1), id);
  EXPECT_NE(RunContent{}.Id(1), id);
}

}  // namespace
}  // namespace hoplite::cli
