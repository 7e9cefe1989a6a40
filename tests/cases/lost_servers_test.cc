// Broadcasts whose servers are killed: who goes on from where, who is told.

#include <csignal>
#include <cstdint>
#include <iostream>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/testing/status_matchers.h"
#include "hoplite/core/config.h"
#include "tests/cases/cases_cluster.h"
#include "tests/cases/process_cluster.h"

namespace hoplite {
namespace {

constexpr std::uint64_t kLink = 100'000'000;  // bits per second
// Ten frames of the largest size and a small one, which begins at 99 %.
constexpr std::uint64_t kSize = (10 << 20) + (100 << 10);
constexpr std::uint64_t kBlock = kFrameBytesMax;

std::uint64_t Received(ProcessCluster& cluster, int node) {
  return cluster.Report(node).counters.payload_bytes_received;
}

// Blocks until so much of the next object has come.
bool AwaitBytes(ProcessCluster& cluster, int node, std::uint64_t before,
                std::uint64_t bytes) {
  return Eventually([&] { return Received(cluster, node) >= before + bytes; });
}

// C1. ray-project/ray#63694: the owner died during a pull, and the Get hung for
// ever.
TEST(LostServerCaseTest, AGetWhoseOnlySourceIsKilledEnds) {
  ProcessCluster cluster(3, kLink);
  for (const int percent : {10, 50, 99}) {
    SCOPED_TRACE(testing::Message() << "killed at " << percent << " %");
    const ObjectId id = NewId();
    ASSERT_THAT(cluster[1].Put(id, Pattern(kSize, percent), kPatiently),
                IsOk());
    const std::uint64_t before = Received(cluster, 2);
    const Future<Buffer> get = cluster[2].GetAsync(id, kPatiently);
    ASSERT_TRUE(AwaitBytes(cluster, 2, before, kSize * percent / 100));
    cluster.Kill(1);
    const absl::Time killed = absl::Now();
    const absl::StatusOr<Buffer> got = get.Get();
    EXPECT_LT(absl::Now() - killed, kDeadAfter) << "not by a heartbeat";
    if (got.ok()) {
      // The last bytes were on their way already.
      EXPECT_EQ(percent, 99);
      EXPECT_TRUE(HasPattern(got->bytes(), percent));
    } else {
      EXPECT_THAT(got, StatusIs(absl::StatusCode::kDataLoss));
      // C16. ray-project/ray#47606, #28341, #26772: those who came later
      // hung. Here they wait for the next Put, until their deadline.
      EXPECT_THAT(cluster[0].Get(id, {.timeout = absl::Milliseconds(200)}),
                  StatusIs(absl::StatusCode::kDeadlineExceeded));
      const Future<Buffer> later = cluster[2].GetAsync(id, kPatiently);
      // The next Put is another object.
      const std::vector<std::byte> again = Pattern(kSize, percent + 1);
      ASSERT_THAT(cluster[0].Put(id, again, kPatiently), IsOk());
      const auto next = later.Get();
      ASSERT_THAT(next, IsOk());
      EXPECT_TRUE(HasPattern(next->bytes(), percent + 1));
    }
    cluster.Restart(1);
  }
}

// C1. ray-project/ray#63694, where another copy is left.
TEST(LostServerCaseTest, AGetGoesOnAtItsOffsetFromAnotherCopy) {
  ProcessCluster cluster(4, kLink);
  for (const int percent : {10, 50, 99}) {
    SCOPED_TRACE(testing::Message() << "killed at " << percent << " %");
    const ObjectId id = NewId();
    ASSERT_THAT(cluster[1].Put(id, Pattern(kSize, percent), kPatiently),
                IsOk());
    ASSERT_THAT(cluster[2].Get(id, kPatiently), IsOk());
    const std::uint64_t before = Received(cluster, 3);
    const Future<Buffer> get = cluster[3].GetAsync(id, kPatiently);
    std::optional<int> server;
    ASSERT_TRUE(Eventually([&] {
      server = cluster.ServerOf(3, id);
      return server.has_value();
    }));
    ASSERT_THAT(*server, testing::AnyOf(1, 2));
    const int other = 3 - *server;
    const std::uint64_t sent =
        cluster.Report(other).counters.payload_bytes_sent;
    const std::uint64_t had = kSize * percent / 100;
    ASSERT_TRUE(AwaitBytes(cluster, 3, before, had));
    cluster.Kill(*server);
    const absl::StatusOr<Buffer> got = get.Get();
    ASSERT_THAT(got, IsOk());
    EXPECT_TRUE(HasPattern(got->bytes(), percent));
    EXPECT_LE(Received(cluster, 3) - before, kSize + kBlock);
    EXPECT_LE(cluster.Report(other).counters.payload_bytes_sent - sent,
              kSize - had + kBlock);
    cluster.Restart(*server);
  }
}

// C11. open-mpi/ompi#11724: the second failure broke the recovery of the
// first.
TEST(LostServerCaseTest, TheReplacementMayBeKilledToo) {
  ProcessCluster cluster(5, kLink);
  const ObjectId id = NewId();
  ASSERT_THAT(cluster[1].Put(id, Pattern(kSize, 1), kPatiently), IsOk());
  ASSERT_THAT(cluster[2].Get(id, kPatiently), IsOk());
  ASSERT_THAT(cluster[3].Get(id, kPatiently), IsOk());
  const Future<Buffer> get = cluster[4].GetAsync(id, kPatiently);
  ASSERT_TRUE(AwaitBytes(cluster, 4, 0, kSize / 10));
  std::optional<int> last;
  for (int i = 0; i < 2; ++i) {
    std::optional<int> server;
    ASSERT_TRUE(Eventually([&] {
      server = cluster.ServerOf(4, id);
      return get.Ready() || (server.has_value() && server != last);
    }));
    ASSERT_FALSE(get.Ready()) << "no time was left to kill the replacement";
    cluster.Kill(*server);
    last = server;
  }
  const absl::StatusOr<Buffer> got = get.Get();
  ASSERT_THAT(got, IsOk());
  EXPECT_TRUE(HasPattern(got->bytes(), 1));
}

// C11. open-mpi/ompi#11404: nodes could not end while others failed.
TEST(LostServerCaseTest, ANodeEndsInOrderWhileAnotherIsKilled) {
  ProcessCluster cluster(5, kLink);
  const ObjectId id = NewId();
  ASSERT_THAT(cluster[0].Put(id, Pattern(kSize, 1), kPatiently), IsOk());
  std::vector<Future<Buffer>> gets;
  for (int i = 1; i < 5; ++i) {
    gets.push_back(cluster[i].GetAsync(id, kPatiently));
  }
  for (int i = 1; i < 5; ++i) {
    ASSERT_TRUE(AwaitBytes(cluster, i, 0, kBlock));
  }
  ASSERT_THAT(cluster.process(2).Signal(SIGTERM), IsOk());
  cluster.Kill(3);
  EXPECT_THAT(cluster.process(2).Wait(absl::Now() + absl::Seconds(10)),
              IsOkAndHolds(0));
  for (const int i : {1, 4}) {
    const absl::StatusOr<Buffer> got = gets[i - 1].Get();
    ASSERT_THAT(got, IsOk()) << "node " << i;
    EXPECT_TRUE(HasPattern(got->bytes(), 1));
  }
  EXPECT_THAT(gets[1].Get(), testing::Not(IsOk()));
  EXPECT_THAT(gets[2].Get(), StatusIs(absl::StatusCode::kUnavailable));
}

// C12. meta-pytorch/torchft#164: it was known who was dead, and those who
// waited were not told.
TEST(LostServerCaseTest, AKilledSourceIsToldToAllThatWait) {
  constexpr int kReaders = 4;
  ProcessCluster cluster(2 + kReaders, kLink / 4);
  const ObjectId id = NewId();
  ASSERT_THAT(cluster[1].Put(id, Pattern(kSize, 1), kPatiently), IsOk());
  std::vector<Future<Buffer>> gets;
  for (int i = 2; i < 2 + kReaders; ++i) {
    gets.push_back(cluster[i].GetAsync(id));
  }
  // All but one wait behind each other, with streams of their own that are
  // soon idle.
  ASSERT_TRUE(Eventually([&] {
    for (int i = 2; i < 2 + kReaders; ++i) {
      if (!cluster.ServerOf(i, id).has_value()) return false;
    }
    return true;
  }));
  cluster.Kill(1);
  const absl::Time killed = absl::Now();
  for (const Future<Buffer>& get : gets) {
    ASSERT_TRUE(get.Wait(killed + kPatience));
    EXPECT_THAT(get.Get(), StatusIs(absl::StatusCode::kDataLoss));
  }
  const absl::Duration took = absl::Now() - killed;
  std::cout << "all were told after " << took << std::endl;
  EXPECT_LT(took, kDeadAfter) << "not by a heartbeat";
}

// F15. suquark/hoplite@946bd6f: a receiver that died and came back while it
// stood in the middle of a chain.
TEST(LostServerCaseTest, AReceiverThatComesBackFromTheMiddleOfAChainServes) {
  ProcessCluster cluster(4, kLink);
  const ObjectId id = NewId();
  ASSERT_THAT(cluster[1].Put(id, Pattern(kSize, 1), kPatiently), IsOk());
  const Future<Buffer> middle = cluster[2].GetAsync(id, kPatiently);
  ASSERT_TRUE(AwaitBytes(cluster, 2, 0, kBlock));
  const Future<Buffer> end = cluster[3].GetAsync(id, kPatiently);
  ASSERT_TRUE(AwaitBytes(cluster, 3, 0, kBlock));
  ASSERT_EQ(cluster.ServerOf(3, id), 2) << "large objects go down a chain";
  cluster.Kill(2);
  cluster.Restart(2);
  const absl::StatusOr<Buffer> got = end.Get();
  ASSERT_THAT(got, IsOk());
  EXPECT_TRUE(HasPattern(got->bytes(), 1));
  EXPECT_LE(Received(cluster, 3), kSize + kBlock);
  ASSERT_THAT(cluster[2].Get(id, kPatiently), IsOk());
  // From now on it is the only one that has it.
  cluster.Kill(1);
  cluster.Kill(3);
  const absl::StatusOr<Buffer> last = cluster[0].Get(id, kPatiently);
  ASSERT_THAT(last, IsOk());
  EXPECT_TRUE(HasPattern(last->bytes(), 1));
  EXPECT_GE(cluster.Report(2).counters.payload_bytes_sent, kSize);
}

}  // namespace
}  // namespace hoplite
