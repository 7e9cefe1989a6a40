// One object that many want: transfers, private memory, the source's uplink.

#include <algorithm>
#include <latch>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/testing/status_matchers.h"
#include "tests/cases/cases_cluster.h"

namespace hoplite {
namespace {

std::vector<Buffer> GetFromManyThreads(CasesCluster& cluster,
                                       const ObjectId& id, int gets) {
  const int readers = cluster.size() - 1;
  std::vector<Buffer> buffers(readers * gets);
  std::latch start(readers * gets);
  std::vector<std::thread> threads;
  for (int i = 0; i < readers * gets; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      auto got = cluster[1 + i / gets].Get(id, kPatiently);
      ASSERT_THAT(got, IsOk());
      buffers[i] = *std::move(got);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return buffers;
}

// A1. ray-project/ray#3273: a hundred actors on four nodes caused 214
// transfers of one object.
TEST(BroadcastCaseTest, AHundredGetsOnFourNodesAreFourTransfers) {
  constexpr int kReaders = 4;
  constexpr int kGets = 25;
  constexpr std::uint64_t kSize = 1'000'000;
  CasesCluster cluster(1 + kReaders);
  const ObjectId id = NewId();
  ASSERT_THAT(cluster[0].Put(id, Pattern(kSize, 1), kPatiently), IsOk());
  const auto payload = [&] {
    return cluster.Total(&NodeCounters::payload_bytes_sent) +
           cluster.Total(&NodeCounters::inline_bytes_sent);
  };
  ASSERT_EQ(payload(), 0u);
  const std::vector<Buffer> buffers = GetFromManyThreads(cluster, id, kGets);
  for (int i = 0; i < kReaders * kGets; ++i) {
    EXPECT_EQ(buffers[i].data(), buffers[i / kGets * kGets].data());
    ASSERT_EQ(buffers[i].size(), kSize);
    EXPECT_TRUE(HasPattern(buffers[i].bytes(), 1));
  }
  EXPECT_TRUE(Eventually([&] { return payload() >= kReaders * kSize; }));
  EXPECT_LE(payload(), kReaders * kSize * 102 / 100);
  EXPECT_EQ(cluster.Total(&NodeCounters::pulls_served), 1u * kReaders);
  for (int i = 1; i <= kReaders; ++i) {
    EXPECT_EQ(cluster.Report(i).counters.transfers_started, 1u);
  }
}

// A6. ray-project/ray#9432: the source's memory filled while an object went
// to eight nodes. Here the private memory of all nine nodes is one process's.
TEST(BroadcastCaseTest, ABroadcastNeedsNoMemoryBesideTheStores) {
  if (!kMemoryIsOurs) GTEST_SKIP() << "a sanitizer's memory is measured";
  constexpr int kReaders = 8;
  const std::uint64_t size = (IsSoak() ? 512 : 32) << 20;
  if (AvailableMemory() < (kReaders + 2) * size) {
    GTEST_SKIP() << "too little memory for nine objects of " << size;
  }
  CasesCluster cluster(1 + kReaders, size + (4 << 20));
  const ObjectId id = NewId();
  {
    auto room = cluster[0].Create(id, size, {.timeout = kPatience});
    ASSERT_THAT(room, IsOk());
    FillPattern(room->data(), 6);
    ASSERT_THAT(room->Seal(), IsOk());
  }
  const std::uint64_t before = PrivateMemory();
  std::uint64_t peak = before;
  std::vector<Future<Buffer>> gets;
  for (int i = 1; i <= kReaders; ++i) {
    gets.push_back(cluster[i].GetAsync(id, kPatiently));
  }
  for (const Future<Buffer>& get : gets) {
    do {
      peak = std::max(peak, PrivateMemory());
    } while (!get.Wait(absl::Now() + absl::Milliseconds(5)));
    ASSERT_THAT(get.Get(), IsOk());
    EXPECT_TRUE(HasPattern(get.Get()->bytes(), 6));
  }
  EXPECT_LE(peak - before, std::uint64_t{64} << 20);
}

// A7. ray-project/ray#2945, dask/distributed#2026: one holder's uplink was cut
// into as many thin streams as there were receivers.
TEST(BroadcastCaseTest, SixteenReceiversShareTheWorkOfServing) {
  constexpr int kReaders = 16;
  constexpr std::uint64_t kSize = 16 << 20;
  constexpr std::uint64_t kDegreeMax = 2;  // of objects of a MiB and more
  CasesCluster cluster(1 + kReaders, kSize + (4 << 20));
  const ObjectId id = NewId();
  auto room = cluster[0].Create(id, kSize, {.timeout = kPatience});
  ASSERT_THAT(room, IsOk());
  FillPattern(room->data(), 7);
  room->Advance(kSize / 2);
  std::vector<Future<Buffer>> gets;
  for (int i = 1; i <= kReaders; ++i) {
    gets.push_back(cluster[i].GetAsync(id, kPatiently));
  }
  // Nobody is done before all are there.
  for (int i = 1; i <= kReaders; ++i) {
    EXPECT_TRUE(Eventually([&] {
      return cluster.Report(i).counters.payload_bytes_received >= kSize / 2;
    }));
  }
  EXPECT_LE(cluster.Report(0).counters.pulls_served, kDegreeMax);
  ASSERT_THAT(room->Seal(), IsOk());
  for (const Future<Buffer>& get : gets) {
    ASSERT_THAT(get.Get(), IsOk());
    EXPECT_TRUE(HasPattern(get.Get()->bytes(), 7));
  }
  for (int i = 0; i <= kReaders; ++i) {
    EXPECT_LE(cluster.Report(i).counters.payload_bytes_sent, kDegreeMax * kSize)
        << "node " << i;
  }
}

}  // namespace
}  // namespace hoplite
