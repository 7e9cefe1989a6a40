#include "hoplite/sim/store_model.h"

#include <gtest/gtest.h>

#include <vector>

namespace hoplite::sim {
namespace {

using Holder = StoreModel::Holder;

constexpr BufferId kA(1), kB(2), kC(3);

TEST(StoreModelTest, WhatDoesNotFitIsRefused) {
  StoreModel store(100);
  EXPECT_TRUE(store.Create(kA, 60));
  EXPECT_FALSE(store.Create(kB, 60));
  EXPECT_TRUE(store.Create(kC, 40));
  EXPECT_EQ(store.used(), 100u);
}

TEST(StoreModelTest, MemoryComesBackWithTheLastHolder) {
  StoreModel store(100);
  ASSERT_TRUE(store.Create(kA, 60));
  store.Hold(kA, Holder::kClient);
  store.Hold(kA, Holder::kOrder);
  EXPECT_FALSE(store.LetGo(kA, Holder::kMachine));
  EXPECT_FALSE(store.LetGo(kA, Holder::kOrder));
  EXPECT_EQ(store.used(), 60u);
  EXPECT_TRUE(store.LetGo(kA, Holder::kClient));
  EXPECT_EQ(store.used(), 0u);
  EXPECT_FALSE(store.Contains(kA));
}

TEST(StoreModelTest, BuffersFillFromTheirFirstByteOn) {
  StoreModel store(100);
  ASSERT_TRUE(store.Create(kA, 60));
  Segments first(0);
  first.Append(20, ContentId(1));
  store.Append(kA, first);
  EXPECT_EQ(store.Find(kA)->watermark(), 20u);
  store.Skip(kA, 30);
  EXPECT_EQ(store.Find(kA)->content.At(25), ContentId());
  Segments rest(30);
  rest.Append(60, ContentId(1));
  store.Append(kA, rest);
  EXPECT_TRUE(store.Find(kA)->complete());
}

TEST(StoreModelTest, WhatNoClientReadsMayGoTheLeastRecentlyUsedFirst) {
  StoreModel store(100);
  for (BufferId buffer : {kA, kB, kC}) ASSERT_TRUE(store.Create(buffer, 10));
  store.Touch(kA);
  EXPECT_EQ(store.Evictable(), (std::vector<BufferId>{kB, kC, kA}));
  store.Hold(kC, Holder::kClient);
  EXPECT_EQ(store.Evictable(), (std::vector<BufferId>{kB, kA}));
}

}  // namespace
}  // namespace hoplite::sim
