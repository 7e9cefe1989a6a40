// Clusters beside each other, and clusters that have nothing to do.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/testing/status_matchers.h"
#include "tests/cases/cases_cluster.h"

namespace hoplite {
namespace {

// F13. suquark/hoplite@946bd6f: a node was its host's address, so that a host
// could have one only.
TEST(ManyNodesCaseTest, TwoClustersOnOneHostDoNotMeet) {
  constexpr int kNodes = 3;
  constexpr std::uint64_t kSize = 300'001;
  std::array<CasesCluster, 2> clusters = {CasesCluster(kNodes),
                                          CasesCluster(kNodes)};
  const ObjectId same = NewId();
  const ObjectId only_first = NewId();
  for (int c = 0; c < 2; ++c) {
    ASSERT_THAT(clusters[c][c].Put(same, Pattern(kSize, c), kPatiently),
                IsOk());
  }
  ASSERT_THAT(clusters[0][0].Put(only_first, Pattern(9, 9), kPatiently),
              IsOk());
  for (int c = 0; c < 2; ++c) {
    for (int i = 0; i < kNodes; ++i) {
      EXPECT_EQ(clusters[c].Report(i).status.members.size(), 1u * kNodes);
      const auto got = clusters[c][i].Get(same, kPatiently);
      ASSERT_THAT(got, IsOk());
      EXPECT_TRUE(HasPattern(got->bytes(), c));
    }
  }
  EXPECT_THAT(
      clusters[1][2].Get(only_first, {.timeout = absl::Milliseconds(300)}),
      StatusIs(absl::StatusCode::kDeadlineExceeded));
  ASSERT_THAT(clusters[0][1].Delete(same, kPatiently), IsOk());
  EXPECT_THAT(clusters[0][2].Get(same, kPatiently),
              StatusIs(absl::StatusCode::kNotFound));
  const auto still = clusters[1][2].Get(same, kPatiently);
  ASSERT_THAT(still, IsOk());
  EXPECT_TRUE(HasPattern(still->bytes(), 1));
}

// F3. suquark/hoplite@946bd6f: who waited for bytes asked for them in a loop.
TEST(IdleCaseTest, StalledReceiversAndTheirClusterUseNoProcessor) {
  constexpr int kReaders = 16;
  constexpr std::uint64_t kSize = 4 << 20;
  CasesCluster cluster(1 + kReaders, 2 * kSize);
  const ObjectId id = NewId();
  auto room = cluster[0].Create(id, kSize, {.timeout = kPatience});
  ASSERT_THAT(room, IsOk());
  FillPattern(room->data(), 3);
  room->Advance(kSize / 2);
  std::vector<Future<Buffer>> gets;
  for (int i = 1; i <= kReaders; ++i) {
    gets.push_back(cluster[i].GetAsync(id, kPatiently));
  }
  for (int i = 1; i <= kReaders; ++i) {
    EXPECT_TRUE(Eventually([&] {
      return cluster.Report(i).counters.payload_bytes_received >= kSize / 2;
    }));
  }
  const absl::Duration before = ProcessorTime();
  WaitInVain(cluster[0], absl::Seconds(2));
  const absl::Duration used = ProcessorTime() - before;
  EXPECT_LT(used, absl::Milliseconds(100));
  ASSERT_THAT(room->Seal(), IsOk());
  for (const Future<Buffer>& get : gets) {
    ASSERT_THAT(get.Get(), IsOk());
    EXPECT_TRUE(HasPattern(get.Get()->bytes(), 3));
  }
}

}  // namespace
}  // namespace hoplite
