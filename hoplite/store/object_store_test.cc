// The store as its users see it: room, pins, messages, memory shared with
// another process.

#include "hoplite/store/object_store.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/base/random.h"
#include "hoplite/store/shared_mapping.h"

namespace hoplite {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

std::unique_ptr<ObjectStore> MakeStore(std::uint64_t capacity) {
  auto store = ObjectStore::Create({.capacity_bytes = capacity});
  EXPECT_TRUE(store.ok()) << store.status();
  return std::move(store).value();
}

std::shared_ptr<ObjectBuffer> MustAllocate(ObjectStore& store,
                                           std::uint64_t size,
                                           std::uint64_t id = 1) {
  auto buffer = store.Allocate(BufferId(id), size);
  EXPECT_TRUE(buffer.ok()) << buffer.status();
  return std::move(buffer).value();
}

TEST(ObjectStoreTest, BuffersAreAlignedDisjointAndWritable) {
  const auto store = MakeStore(kMiB);
  const auto first = MustAllocate(*store, 100, 1);
  const auto second = MustAllocate(*store, 1000, 2);
  EXPECT_EQ(first->id(), BufferId(1));
  EXPECT_EQ(first->size(), 100u);
  EXPECT_EQ(first->offset() % 64, 0u);
  EXPECT_EQ(second->offset() % 64, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second->data().data()) % 64, 0u);
  std::memset(first->data().data(), 1, first->size());
  std::memset(second->data().data(), 2, second->size());
  for (const std::byte byte : first->bytes()) EXPECT_EQ(byte, std::byte{1});
  EXPECT_EQ(store->buffer_count(), 2u);
  EXPECT_EQ(store->used_bytes(), 128u + 1024u);
}

TEST(ObjectStoreTest, WhatIsLetGoIsReused) {
  const auto store = MakeStore(4 * kMiB);
  for (int round = 0; round < 1000; ++round) {
    const auto buffer = MustAllocate(*store, 3 * kMiB);
    EXPECT_EQ(buffer->watermark(), 0u);
    buffer->Advance(buffer->size());
  }
  EXPECT_EQ(store->used_bytes(), 0u);
  EXPECT_EQ(store->buffer_count(), 0u);
  EXPECT_EQ(store->largest_free_bytes(), 4 * kMiB);
}

TEST(ObjectStoreTest, MemoryStaysWhileSomebodyHoldsTheBuffer) {
  const auto store = MakeStore(kMiB);
  auto writer = MustAllocate(*store, kMiB);
  writer->data()[7] = std::byte{42};
  std::shared_ptr<ObjectBuffer> reader = writer;
  writer.reset();
  EXPECT_FALSE(store->Allocate(BufferId(2), 1).ok());
  EXPECT_EQ(reader->bytes()[7], std::byte{42});
  reader.reset();
  EXPECT_TRUE(store->Allocate(BufferId(2), 1).ok());
}

TEST(ObjectStoreTest, BuffersMayOutliveTheStore) {
  auto store = MakeStore(20 * kMiB);
  int freed = 0;
  store->SetRoomFreedCallback([&freed] { ++freed; });
  auto buffer = MustAllocate(*store, kMiB);
  store.reset();
  std::memset(buffer->data().data(), 3, buffer->size());
  EXPECT_EQ(buffer->bytes()[kMiB - 1], std::byte{3});
  buffer.reset();
  EXPECT_EQ(freed, 0);
}

TEST(ObjectStoreTest, ABufferOfNoBytesNeedsNoRoom) {
  const auto store = MakeStore(64);
  const auto full = MustAllocate(*store, 64);
  const auto empty = MustAllocate(*store, 0, 2);
  EXPECT_TRUE(empty->complete());
  EXPECT_TRUE(empty->bytes().empty());
  EXPECT_EQ(store->buffer_count(), 2u);
}

TEST(ObjectStoreTest, LargerThanTheStoreIsRefusedNamingBothSizes) {
  const auto store = MakeStore(32 * kMiB);
  EXPECT_TRUE(store->FitsEver(32 * kMiB));
  EXPECT_FALSE(store->FitsEver(32 * kMiB + 1));
  for (const std::uint64_t size : {64 * kMiB, UINT64_MAX}) {
    const auto refused = store->Allocate(BufferId(1), size).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(refused.message()),
                AllOf(HasSubstr(std::to_string(size)),
                      HasSubstr("larger than the store of 33554432 bytes")));
  }
}

}  // namespace
}  // namespace hoplite
