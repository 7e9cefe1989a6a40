// The store as its users see it: room, pins, messages, memory shared with
// another process.

#include "hoplite/store/object_store.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
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

TEST(ObjectStoreTest, NoRoomNowIsAnotherMessageAndEndsWithTheHolder) {
  const auto store = MakeStore(64 * kMiB);
  auto first = MustAllocate(*store, 25 * kMiB, 1);
  const auto second = MustAllocate(*store, 25 * kMiB, 2);
  const auto refused = store->Allocate(BufferId(3), 25 * kMiB).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("no room for an object of 26214400 bytes now"),
                    HasSubstr("67108864"), HasSubstr("52428800")));
  EXPECT_EQ(store->largest_free_bytes(), 14 * kMiB);
  first.reset();
  EXPECT_TRUE(store->Allocate(BufferId(3), 25 * kMiB).ok());
}

TEST(ObjectStoreTest, FreedRoomIsAnnouncedWhereItCanBeTaken) {
  const auto store = MakeStore(kMiB);
  auto full = MustAllocate(*store, kMiB);
  std::shared_ptr<ObjectBuffer> next;
  int calls = 0;
  store->SetRoomFreedCallback([&] {
    if (++calls == 1) next = MustAllocate(*store, kMiB, 2);
  });
  full.reset();
  EXPECT_EQ(calls, 1);
  ASSERT_NE(next, nullptr);
  int other_calls = 0;
  store->SetRoomFreedCallback([&] { ++other_calls; });
  next.reset();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(other_calls, 1);
  store->SetRoomFreedCallback(nullptr);
  MustAllocate(*store, kMiB).reset();
  EXPECT_EQ(other_calls, 1);
}

TEST(ObjectStoreTest, NoCapacityIsRefused) {
  EXPECT_EQ(ObjectStore::Create({.capacity_bytes = 0}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ObjectStoreTest, MoreThanTheMachineHasIsRefusedNamingWhatThereIs) {
  for (const std::uint64_t capacity :
       {std::uint64_t{1} << 50, std::uint64_t{1} << 62, UINT64_MAX}) {
    const auto refused =
        ObjectStore::Create({.capacity_bytes = capacity}).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(refused.message()),
                AllOf(HasSubstr(std::to_string(capacity)),
                      HasSubstr("has room for"), HasSubstr("smaller store")));
  }
}

TEST(ObjectStoreTest, CapacityIsRoundedUpToWholeLines) {
  const auto store = MakeStore(100);
  EXPECT_EQ(store->capacity_bytes(), 128u);
  const auto buffer = MustAllocate(*store, 128);
  EXPECT_EQ(store->used_bytes(), store->capacity_bytes());
}

// A store that is large enough to be touched by its thread, which must neither
// change bytes that are in use nor hold up the end.
TEST(ObjectStoreTest, TouchingInTheBackgroundChangesNothing) {
  auto store = MakeStore(64 * kMiB);
  const auto buffer = MustAllocate(*store, 64 * kMiB);
  std::memset(buffer->data().data(), 5, buffer->size());
  store.reset();
  for (std::uint64_t i = 0; i < buffer->size(); i += 4096) {
    ASSERT_EQ(buffer->bytes()[i], std::byte{5});
  }
}

TEST(ObjectStoreTest, ThreadsTakeAndLetGoAtOnce) {
  const auto store = MakeStore(8 * kMiB);
  std::atomic<int> freed = 0;
  store->SetRoomFreedCallback([&freed] { ++freed; });
  std::atomic<int> taken = 0;
  std::vector<std::jthread> threads;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    threads.emplace_back([&store, &taken, seed] {
      Random random(seed);
      std::vector<std::shared_ptr<ObjectBuffer>> held;
      for (int step = 0; step < 2000; ++step) {
        auto buffer = store->Allocate(BufferId(seed), random.Between(1, kMiB));
        if (buffer.ok()) {
          ++taken;
          std::memset((*buffer)->data().data(), static_cast<int>(seed), 64);
          held.push_back(*std::move(buffer));
        }
        if (!held.empty() && (held.size() > 3 || random.Chance(1, 2))) {
          std::swap(held[random.Below(held.size())], held.back());
          EXPECT_EQ(held.back()->bytes()[0], static_cast<std::byte>(seed));
          held.pop_back();
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(store->used_bytes(), 0u);
  EXPECT_EQ(store->largest_free_bytes(), 8 * kMiB);
  EXPECT_EQ(freed, taken);
}

void SendDescriptor(int socket, int descriptor) {
  char byte = 'd';
  iovec data = {.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  ASSERT_EQ(sendmsg(socket, &message, 0), 1);
}

int ReceiveDescriptor(int socket) {
  char byte = 0;
  iovec data = {.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  if (recvmsg(socket, &message, 0) != 1) return -1;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return -1;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
  return descriptor;
}

// What a worker does; returns the first thing that went wrong.
const char* WorkAsAnotherProcess(int socket, std::uint64_t capacity,
                                 std::uint64_t offset) {
  const int writable = ReceiveDescriptor(socket);
  const int read_only = ReceiveDescriptor(socket);
  const auto reader = SharedMapping::Map(read_only, capacity, false);
  if (!reader.ok()) return "mapping to read";
  if ((*reader)->Bytes(offset, 5)->front() != std::byte{'h'}) return "reading";
  if (SharedMapping::Map(read_only, capacity, true).status().code() !=
      absl::StatusCode::kPermissionDenied) {
    return "mapping to write what only reads";
  }
  if (write(read_only, "x", 1) != -1) return "writing what only reads";
  auto* const page =
      const_cast<std::byte*>((*reader)->Bytes(0, capacity)->data());
  if (mprotect(page, capacity, PROT_READ | PROT_WRITE) == 0) {
    return "making what only reads writable";
  }
  if (ftruncate(writable, 0) == 0) return "shrinking the store";
  if (ftruncate(read_only, 0) == 0) return "shrinking what only reads";
  const auto writer = SharedMapping::Map(writable, capacity, true);
  if (!writer.ok()) return "mapping to write";
  (*writer)->WritableBytes(offset, 5)->back() = std::byte{'!'};
  return nullptr;
}

TEST(ObjectStoreTest, AnotherProcessMapsItByDescriptor) {
  const auto store = MakeStore(kMiB);
  const auto first = MustAllocate(*store, 100);
  const auto buffer = MustAllocate(*store, 5);
  std::memcpy(buffer->data().data(), "hello", 5);
  int sockets[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const char* const wrong = WorkAsAnotherProcess(
        sockets[1], store->capacity_bytes(), buffer->offset());
    if (wrong != nullptr) std::fprintf(stderr, "wrong: %s\n", wrong);
    _exit(wrong == nullptr ? 0 : 1);
  }
  SendDescriptor(sockets[0], store->descriptor());
  SendDescriptor(sockets[0], store->descriptor_read_only());
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(std::memcmp(buffer->bytes().data(), "hell!", 5), 0);
  close(sockets[0]);
  close(sockets[1]);
}

}  // namespace
}  // namespace hoplite
