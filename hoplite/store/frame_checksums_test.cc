#include "hoplite/store/frame_checksums.h"

#include <optional>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace hoplite {
namespace {

TEST(FrameChecksumsTest, TheFirstSizeOfAFrameStays) {
  FrameChecksums checksums(10'000);
  EXPECT_EQ(checksums.frame_bytes(), 0u);
  EXPECT_FALSE(checksums.SetFrameBytes(0));
  EXPECT_TRUE(checksums.SetFrameBytes(4096));
  EXPECT_TRUE(checksums.SetFrameBytes(4096));
  EXPECT_FALSE(checksums.SetFrameBytes(8192));
  EXPECT_EQ(checksums.frame_bytes(), 4096u);
}

TEST(FrameChecksumsTest, EachFrameIsKnownOnceItIsSet) {
  FrameChecksums checksums(10'000);
  EXPECT_EQ(checksums.Find(0), std::nullopt);
  ASSERT_TRUE(checksums.SetFrameBytes(4096));
  EXPECT_EQ(checksums.Find(0), std::nullopt);
  checksums.Set(2, 0xffffffffu);
  checksums.Set(0, 0);
  EXPECT_EQ(checksums.Find(0), 0u);
  EXPECT_EQ(checksums.Find(1), std::nullopt);
  EXPECT_EQ(checksums.Find(2), 0xffffffffu);
  EXPECT_EQ(checksums.Find(3), std::nullopt);
  EXPECT_EQ(checksums.Find(UINT64_MAX), std::nullopt);
}

TEST(FrameChecksumsTest, AFrameLargerThanTheObjectIsItsOnlyOne) {
  FrameChecksums checksums(5);
  ASSERT_TRUE(checksums.SetFrameBytes(UINT64_MAX));
  checksums.Set(0, 7);
  EXPECT_EQ(checksums.Find(0), 7u);
}

TEST(FrameChecksumsDeathTest, OnlyFramesOfTheObjectAreSet) {
  FrameChecksums checksums(10'000);
  EXPECT_DEATH(checksums.Set(0, 1), "CHECK failed");
  ASSERT_TRUE(checksums.SetFrameBytes(5'000));
  EXPECT_DEATH(checksums.Set(2, 1), "CHECK failed");
  FrameChecksums none(0);
  ASSERT_TRUE(none.SetFrameBytes(5'000));
  EXPECT_DEATH(none.Set(0, 1), "CHECK failed");
}

TEST(FrameChecksumsTest, SeveralThreadsMaySetTheSame) {
  constexpr std::uint32_t kFrames = 1000;
  FrameChecksums checksums(kFrames * 8);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      EXPECT_TRUE(checksums.SetFrameBytes(8));
      for (std::uint32_t frame = 0; frame < kFrames; ++frame) {
        checksums.Set(frame, frame * 3);
        EXPECT_EQ(checksums.Find(frame), frame * 3);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(checksums.Find(kFrames - 1), (kFrames - 1) * 3);
}

}  // namespace
}  // namespace hoplite
