#include "hoplite/store/free_map.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "hoplite/base/random.h"

namespace hoplite {
namespace {

TEST(FreeMapTest, IsFilledToTheLastByte) {
  FreeMap map(100);
  EXPECT_EQ(map.Take(60), 0u);
  EXPECT_EQ(map.Take(41), std::nullopt);
  EXPECT_EQ(map.Take(40), 60u);
  EXPECT_EQ(map.free_bytes(), 0u);
  EXPECT_EQ(map.largest(), 0u);
  EXPECT_EQ(map.Take(1), std::nullopt);
}

TEST(FreeMapTest, OfNoBytesHasNoRoom) {
  FreeMap map(0);
  EXPECT_EQ(map.Take(1), std::nullopt);
  EXPECT_EQ(map.largest(), 0u);
}

TEST(FreeMapTest, NeighboursJoinWhateverTheOrder) {
  const std::vector<std::vector<std::uint64_t>> orders = {
      {0, 10, 20}, {0, 20, 10}, {10, 0, 20}, {10, 20, 0}, {20, 0, 10}};
  for (const auto& order : orders) {
    FreeMap map(30);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(map.Take(10).has_value());
    for (const std::uint64_t offset : order) map.GiveBack(offset, 10);
    EXPECT_EQ(map.span_count(), 1u);
    EXPECT_EQ(map.largest(), 30u);
  }
}

TEST(FreeMapTest, TakesTheSmallestHoleThatFits) {
  FreeMap map(1000);
  for (const std::uint64_t size : {100u, 1u, 50u, 1u, 70u, 1u}) {
    ASSERT_TRUE(map.Take(size).has_value());
  }
  map.GiveBack(0, 100);
  map.GiveBack(101, 50);
  map.GiveBack(152, 70);
  EXPECT_EQ(map.Take(51), 152u);
  EXPECT_EQ(map.Take(50), 101u);
  EXPECT_EQ(map.Take(100), 0u);
}

TEST(FreeMapTest, OfEqualHolesTakesTheLowest) {
  FreeMap map(100);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(map.Take(10).has_value());
  map.GiveBack(70, 10);
  map.GiveBack(30, 10);
  EXPECT_EQ(map.Take(10), 30u);
}

TEST(FreeMapDeathTest, AByteComesBackOnce) {
  FreeMap map(100);
  ASSERT_EQ(map.Take(50), 0u);
  map.GiveBack(10, 10);
  EXPECT_DEATH(map.GiveBack(10, 10), "CHECK failed");
  EXPECT_DEATH(map.GiveBack(5, 10), "CHECK failed");
  EXPECT_DEATH(map.GiveBack(45, 10), "CHECK failed");
  EXPECT_DEATH(map.GiveBack(95, 10), "CHECK failed");
}

// What is taken, beside the map under test: offset to size.
using Taken = std::map<std::uint64_t, std::uint64_t>;

// Gives back a random one.
void GiveBackAny(Random& random, FreeMap& map, Taken& taken) {
  auto victim = taken.begin();
  std::advance(victim, random.Below(taken.size()));
  map.GiveBack(victim->first, victim->second);
  taken.erase(victim);
}

std::uint64_t LargestHole(const Taken& taken, std::uint64_t capacity) {
  std::uint64_t largest = 0;
  std::uint64_t end = 0;
  for (const auto& [offset, size] : taken) {
    EXPECT_LE(end, offset) << "two overlap";
    largest = std::max(largest, offset - end);
    end = offset + size;
  }
  EXPECT_LE(end, capacity);
  return std::max(largest, capacity - end);
}

TEST(FreeMapTest, AgreesWithTheSpansThatItGaveOut) {
  constexpr std::uint64_t kCapacity = 10'000;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    FreeMap map(kCapacity);
    Taken taken;
    std::uint64_t used = 0;
    for (int step = 0; step < 500; ++step) {
      const std::uint64_t size = random.Between(1, 1000);
      const std::uint64_t largest = LargestHole(taken, kCapacity);
      ASSERT_EQ(map.largest(), largest);
      const auto offset = map.Take(size);
      ASSERT_EQ(offset.has_value(), size <= largest);
      if (offset.has_value()) taken[*offset] = size;
      if (!taken.empty() && (!offset.has_value() || random.Chance(1, 3))) {
        GiveBackAny(random, map, taken);
      }
      used = 0;
      for (const auto& entry : taken) used += entry.second;
      ASSERT_EQ(map.free_bytes(), kCapacity - used);
    }
    while (!taken.empty()) GiveBackAny(random, map, taken);
    EXPECT_EQ(map.span_count(), 1u);
  }
}

// Objects of 64 B to 16 MiB, every order of magnitude as often, come and go in
// 1 GiB that is kept four fifths full; returns how many of 20,000 found no
// hole. They go in the order in which they came, or in none.
int CountRefused(std::uint64_t seed, bool oldest_first) {
  constexpr std::uint64_t kCapacity = std::uint64_t{1} << 30;
  constexpr std::uint64_t kFull = kCapacity / 5 * 4;
  Random random(seed);
  FreeMap map(kCapacity);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
  std::size_t oldest = 0;
  int refused = 0;
  for (int take = 0; take < 20'000; ++take) {
    const std::uint64_t base = std::uint64_t{64} << random.Below(18);
    const std::uint64_t size = random.Between(base, 2 * base) / 64 * 64;
    while (kCapacity - map.free_bytes() + size > kFull) {
      if (!oldest_first) {
        std::swap(taken[random.Between(oldest, taken.size() - 1)],
                  taken[oldest]);
      }
      map.GiveBack(taken[oldest].first, taken[oldest].second);
      ++oldest;
    }
    const auto offset = map.Take(size);
    if (offset.has_value()) {
      taken.emplace_back(*offset, size);
    } else {
      ++refused;
    }
  }
  std::cout << "seed " << seed << ": " << refused << " refused, "
            << map.span_count() << " holes, the largest of " << map.largest()
            << " bytes of " << map.free_bytes() << "\n";
  return refused;
}

TEST(FreeMapTest, LongUseLeavesRoomForLargeObjects) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    EXPECT_LE(CountRefused(seed, /*oldest_first=*/true), 20);
    EXPECT_LE(CountRefused(seed, /*oldest_first=*/false), 300);
  }
}

}  // namespace
}  // namespace hoplite
