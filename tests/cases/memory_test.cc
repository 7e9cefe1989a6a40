// Stores that are full, and what must come back.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/testing/status_matchers.h"
#include "hoplite/core/config.h"
#include "tests/cases/cases_cluster.h"

namespace hoplite {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Longer than a call may take beyond its deadline, however busy the machine.
constexpr absl::Duration kMargin = absl::Seconds(10);

// B1. ray-project/ray#4878: results that the store had no room for hung.
TEST(MemoryCaseTest, APutIntoAFullStoreEndsAtItsDeadlineOrWithRoom) {
  constexpr std::uint64_t kSize = 25 << 20;
  constexpr absl::Duration kTimeout = absl::Milliseconds(300);
  CasesCluster cluster(1, 64 << 20);
  const std::vector<ObjectId> ids = NewIds(5);
  const std::vector<std::byte> bytes = Pattern(kSize, 1);
  std::vector<std::optional<Buffer>> pins;
  for (int i = 0; i < 2; ++i) {
    ASSERT_THAT(cluster[0].Put(ids[i], bytes, kPatiently), IsOk());
    auto got = cluster[0].Get(ids[i], kPatiently);
    ASSERT_THAT(got, IsOk());
    pins.emplace_back(*std::move(got));
  }
  const absl::Time start = absl::Now();
  std::vector<Future<void>> puts;
  for (int i = 2; i < 5; ++i) {
    puts.push_back(cluster[0].PutAsync(ids[i], bytes, {.timeout = kTimeout}));
  }
  for (const Future<void>& put : puts) {
    EXPECT_THAT(put.Get(), StatusIs(absl::StatusCode::kResourceExhausted));
  }
  EXPECT_GE(absl::Now() - start, kTimeout);
  EXPECT_LT(absl::Now() - start, kTimeout + kMargin);
  // A deleted object keeps its memory for as long as somebody reads it.
  ASSERT_THAT(cluster[0].Delete(ids[0], kPatiently), IsOk());
  const ObjectId next = NewId();
  const Future<void> put = cluster[0].PutAsync(next, bytes, kPatiently);
  EXPECT_FALSE(put.Wait(absl::Now() + kTimeout));
  EXPECT_TRUE(HasPattern(pins[0]->bytes(), 1));
  pins[0].reset();
  EXPECT_THAT(put.Get(), IsOk());
}

// B2. ray-project/ray#7802: waiting for an object that the local store could
// never hold hung.
TEST(MemoryCaseTest, AnObjectLargerThanTheStoreIsRefusedUnseen) {
  CasesCluster cluster(1, 32 << 20);
  Client& large = cluster.Add(80 << 20);
  const ObjectId id = NewId();
  ASSERT_THAT(large.Put(id, Pattern(64 << 20, 2), kPatiently), IsOk());
  const absl::Time start = absl::Now();
  EXPECT_THAT(cluster[0].Get(id, kPatiently),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("67108864"), HasSubstr("33554432"))));
  EXPECT_LT(absl::Now() - start, kMargin);
  EXPECT_EQ(cluster.Report(0).counters.transfers_started, 0u);
  EXPECT_EQ(cluster.Report(1).counters.pulls_served, 0u);
}

// Puts a megabyte on one node, reads it on the other, deletes it.
void PutGetDelete(CasesCluster& cluster, int round) {
  const ObjectId id = NewId();
  const int from = round % 2;
  ASSERT_THAT(cluster[from].Put(id, Pattern(1 << 20, round), kPatiently),
              IsOk());
  const auto got = cluster[1 - from].Get(id, kPatiently);
  ASSERT_THAT(got, IsOk());
  EXPECT_TRUE(HasPattern(got->bytes(), round));
  ASSERT_THAT(cluster[from].Delete(id, kPatiently), IsOk());
}

// B8. ray-project/ray#31421, ray#39229, ray PR#40809: a trivial loop leaked
// memory, mappings, and entries of tables.
TEST(MemoryCaseTest, ALoopOfPutGetDeleteLeavesNothing) {
  constexpr int kWarmUp = 50;
  const int rounds = IsSoak() ? 10'000 : 200;
  CasesCluster cluster(2);
  const auto is_empty = [&] {
    return cluster.Total(&NodeCounters::store_bytes_used) == 0 &&
           cluster.Total(&NodeCounters::store_buffers) == 0;
  };
  for (int i = 0; i < kWarmUp; ++i) PutGetDelete(cluster, i);
  EXPECT_TRUE(Eventually(is_empty));
  const std::uint64_t memory = PrivateMemory();
  const std::size_t descriptors = OpenDescriptors();
  for (int i = 0; i < rounds && !HasFailure(); ++i) PutGetDelete(cluster, i);
  EXPECT_TRUE(Eventually(is_empty));
  EXPECT_LE(OpenDescriptors(), descriptors + 2);
  if (kMemoryIsOurs) {
    EXPECT_LT(PrivateMemory(), memory + (16 << 20));
  }
  for (int i = 0; i < cluster.size(); ++i) {
    const NodeStatus status = cluster.Report(i).status;
    EXPECT_TRUE(status.objects.empty());
    EXPECT_EQ(status.requests_waiting, 0u);
    EXPECT_EQ(status.transfers_under_way, 0u);
    EXPECT_EQ(status.buffers_held, 0u);
    EXPECT_EQ(status.directory_records, 0u);
  }
}

// B9. ray-project/ray#25741: deleting freed nothing while a reader held on,
// nor afterwards.
TEST(MemoryCaseTest, ADeletedObjectGoesWithItsLastReader) {
  constexpr std::uint64_t kSize = 5 << 20;
  CasesCluster cluster(2, 16 << 20);
  const ObjectId id = NewId();
  ASSERT_THAT(cluster[0].Put(id, Pattern(kSize, 3), kPatiently), IsOk());
  auto held = cluster[1].Get(id, kPatiently);
  ASSERT_THAT(held, IsOk());
  ASSERT_THAT(cluster[0].Delete(id, kPatiently), IsOk());
  const auto used = [&](int node) {
    return cluster.Report(node).counters.store_bytes_used;
  };
  EXPECT_TRUE(Eventually([&] { return used(0) == 0; }));
  EXPECT_GE(used(1), kSize);
  // What takes its place elsewhere must not show through.
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(cluster[i].Get(id, kPatiently),
                StatusIs(absl::StatusCode::kNotFound));
    EXPECT_THAT(cluster[i].Put(NewId(), Pattern(kSize, 4), kPatiently), IsOk());
  }
  EXPECT_TRUE(HasPattern(held->bytes(), 3));
  *held = Buffer();
  EXPECT_TRUE(Eventually([&] { return used(1) < 2 * kSize; }));
}

}  // namespace
}  // namespace hoplite
