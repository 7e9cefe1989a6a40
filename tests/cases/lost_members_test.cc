// Reductions whose members are killed, workers that are, and what must come
// back; and broadcasts on links with a rate, counted.

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/digest.h"
#include "hoplite/base/testing/status_matchers.h"
#include "hoplite/testbed/local_process.h"
#include "tests/cases/bit_sources.h"
#include "tests/cases/cases_cluster.h"
#include "tests/cases/process_cluster.h"

namespace hoplite {
namespace {

constexpr std::uint64_t kLink = 100'000'000;  // bits per second
constexpr std::size_t kNumbers = 1 << 21;     // 8 MiB of them
constexpr absl::Duration kAWhile = absl::Milliseconds(300);

// What must be gone in the end, on each of these nodes.
bool AwaitNothing(ProcessCluster& cluster, const std::vector<int>& nodes) {
  return Eventually([&] {
    for (const int node : nodes) {
      const NodeReport report = cluster.Report(node);
      if (report.counters.store_bytes_used != 0 ||
          report.status.buffers_held != 0 || !report.status.objects.empty() ||
          report.status.reductions_under_way != 0 ||
          report.status.requests_waiting != 0 ||
          report.status.transfers_under_way != 0) {
        return false;
      }
    }
    return true;
  });
}

void DeleteAll(Client& client, const std::vector<ObjectId>& ids) {
  for (const ObjectId& id : ids) {
    // Some are lost, or were never put.
    const absl::Status status = client.Delete(id, kPatiently);
    if (!status.ok()) {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound));
    }
  }
}

// C10. horovod/horovod#3494, #3264, #2652: fewer than needed were left, and
// those who left and those who came waited for each other.
void LeaveAndJoin(ProcessCluster& cluster, int signal) {
  constexpr int kLeaves = 2;
  const std::vector<ObjectId> ids = NewIds(4);
  const ObjectId target = NewId();
  const auto reduction = cluster[0].ReduceAsync(target, ids, OfBits(3));
  ASSERT_THAT(PutBit(cluster[1], ids[0], 0, kNumbers), IsOk());
  ASSERT_THAT(PutBit(cluster[kLeaves], ids[1], 1, kNumbers), IsOk());
  ASSERT_THAT(cluster.process(kLeaves).Signal(signal), IsOk());
  ASSERT_THAT(cluster.process(kLeaves).Wait(Soon()), IsOk());
  cluster.Restart(kLeaves);
  ASSERT_THAT(PutBit(cluster[3], ids[2], 2, kNumbers), IsOk());
  EXPECT_FALSE(reduction.Wait(absl::Now() + kAWhile)) << "of two sources";
  ASSERT_THAT(PutBit(cluster[kLeaves], ids[3], 3, kNumbers), IsOk());
  ExpectNamed(cluster[3], target, ids, reduction.Get(), 3);
  DeleteAll(cluster[0], ids);
  DeleteAll(cluster[0], {target});
  EXPECT_TRUE(AwaitNothing(cluster, {0, 1, 2, 3}));
}

TEST(LostMemberCaseTest, WhoJoinsTakesThePlaceOfWhoHasLeft) {
  ProcessCluster cluster(4);
  for (const int signal : {SIGTERM, SIGKILL}) {
    SCOPED_TRACE(testing::Message() << "by signal " << signal);
    LeaveAndJoin(cluster, signal);
  }
}

// The node where the target arises; nullopt: nowhere yet.
std::optional<int> RootOf(ProcessCluster& cluster, const ObjectId& target) {
  for (int i = 0; i < cluster.size(); ++i) {
    for (const LocalObjectStatus& each : cluster.Report(i).status.objects) {
      if (each.object == target && each.state == "producing") return i;
    }
  }
  return std::nullopt;
}

// F16. suquark/hoplite@946bd6f: a reduction whose root was lost took others
// with it, and its state stayed.
TEST(LostMemberCaseTest, ALostRootHarmsNoOtherReductionAndLeavesNothing) {
  ProcessCluster cluster(6, kLink);
  const std::vector<ObjectId> ids = NewIds(3);
  const std::vector<ObjectId> others = NewIds(2);
  const ObjectId target = NewId();
  const ObjectId other_target = NewId();
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(PutBit(cluster[1 + i], ids[i], i, kNumbers), IsOk());
  }
  ASSERT_THAT(PutBit(cluster[4], others[0], 0, kNumbers), IsOk());
  ASSERT_THAT(PutBit(cluster[5], others[1], 1, kNumbers), IsOk());
  const auto reduction = cluster[0].ReduceAsync(target, ids, OfBits(2));
  const auto other = cluster[5].ReduceAsync(other_target, others, OfBits(2));
  std::optional<int> root;
  ASSERT_TRUE(Eventually([&] {
    root = RootOf(cluster, target);
    return root.has_value();
  }));
  ASSERT_THAT(*root, testing::AllOf(testing::Ge(1), testing::Le(3)));
  cluster.Kill(*root);
  ExpectNamed(cluster[0], target, ids, reduction.Get(), 2);
  ExpectNamed(cluster[4], other_target, others, other.Get(), 2);
  DeleteAll(cluster[0], ids);
  DeleteAll(cluster[0], others);
  DeleteAll(cluster[0], {target, other_target});
  cluster.Restart(*root);
  EXPECT_TRUE(AwaitNothing(cluster, {0, 1, 2, 3, 4, 5}));
}

// F16. suquark/hoplite@946bd6f: the same of the node that had asked.
TEST(LostMemberCaseTest, ALostCallerEndsNobodyElsesWait) {
  ProcessCluster cluster(4, kLink);
  const std::vector<ObjectId> ids = NewIds(2);
  const ObjectId target = NewId();
  for (int i = 0; i < 2; ++i) {
    ASSERT_THAT(PutBit(cluster[1 + i], ids[i], i, kNumbers), IsOk());
  }
  const Future<Buffer> get = cluster[0].GetAsync(target, kPatiently);
  const auto same = cluster[1].ReduceAsync(target, ids, OfBits(2));
  const auto lost = cluster[3].ReduceAsync(target, ids, OfBits(2));
  ASSERT_TRUE(Eventually([&] { return RootOf(cluster, target).has_value(); }));
  cluster.Kill(3);
  EXPECT_THAT(lost.Get(), testing::Not(IsOk()));
  ExpectNamed(cluster[2], target, ids, same.Get(), 2);
  EXPECT_THAT(get.Get(), IsOk());
}

constexpr int kHeld = 100;
constexpr absl::string_view kHoldFlag = "--hold=";

ObjectId HeldId(int i) { return IdFromName(absl::StrCat("held ", i)); }

// B8. ray-project/ray#31421: what a worker held that was killed stayed held.
TEST(KilledWorkerCaseTest, WhatItHeldIsLetGo) {
  constexpr std::uint64_t kSize = 100'000;
  ProcessCluster cluster(2);
  std::vector<ObjectId> ids;
  for (int i = 0; i < kHeld; ++i) {
    ids.push_back(HeldId(i));
    ASSERT_THAT(cluster[0].Put(ids[i], Pattern(kSize, i), kPatiently), IsOk());
  }
  auto worker = testbed::StartLocalProcess(
      {.arguments = {"/proc/self/exe",
                     absl::StrCat(kHoldFlag, cluster.Socket(1))}});
  ASSERT_THAT(worker, IsOk());
  ASSERT_THAT((*worker)->ReadLine(Soon()), IsOkAndHolds("holds"));
  EXPECT_EQ(cluster.Report(1).counters.clients_connected, 2u);
  DeleteAll(cluster[0], ids);
  // Deleted, and still readable by who holds it.
  EXPECT_GE(cluster.Report(1).counters.store_bytes_used, kHeld * kSize);
  ASSERT_THAT((*worker)->Signal(SIGKILL), IsOk());
  EXPECT_TRUE(AwaitNothing(cluster, {0, 1}));
  EXPECT_EQ(cluster.Report(1).counters.clients_connected, 1u);
  // Tombstones only.
  EXPECT_LE(cluster.Report(0).status.directory_records +
                cluster.Report(1).status.directory_records,
            static_cast<std::uint64_t>(kHeld));
}

// A3. ray-project/ray#15213, #42632: the source sent an object as often as
// there were receivers.
TEST(SlowLinkCaseTest, TheSourceOfABroadcastSendsAtMostTwice) {
  constexpr std::uint64_t kSize = 8 << 20;
  constexpr std::uint64_t kHeaders = kSize / 50;
  ProcessCluster cluster(9, 250'000'000);
  for (const int readers : {4, 8}) {
    SCOPED_TRACE(testing::Message() << readers << " readers");
    const ObjectId id = NewId();
    ASSERT_THAT(cluster[0].Put(id, Pattern(kSize, readers), kPatiently),
                IsOk());
    std::vector<NodeCounters> before;
    for (int i = 0; i < cluster.size(); ++i) {
      before.push_back(cluster.Report(i).counters);
    }
    std::vector<Future<Buffer>> gets;
    for (int i = 1; i <= readers; ++i) {
      gets.push_back(cluster[i].GetAsync(id, kPatiently));
    }
    for (const Future<Buffer>& get : gets) {
      ASSERT_THAT(get.Get(), IsOk());
      EXPECT_TRUE(HasPattern(get.Get()->bytes(), readers));
    }
    std::uint64_t transfers = 0;
    for (int i = 0; i < cluster.size(); ++i) {
      const NodeCounters now = cluster.Report(i).counters;
      transfers += now.transfers_started - before[i].transfers_started;
      EXPECT_LE(now.payload_bytes_sent - before[i].payload_bytes_sent,
                2 * kSize + kHeaders)
          << "node " << i;
    }
    EXPECT_EQ(transfers, static_cast<std::uint64_t>(readers));
  }
}

// The worker of KilledWorkerCaseTest.
int Hold(const std::string& socket) {
  const auto client = Client::Connect(socket);
  if (!client.ok()) return 1;
  std::vector<Buffer> held;
  for (int i = 0; i < kHeld; ++i) {
    auto got = (*client)->Get(HeldId(i), kPatiently);
    if (!got.ok()) return 1;
    held.push_back(*std::move(got));
  }
  std::cout << "holds" << std::endl;
  std::cin.get();
  return 0;
}

}  // namespace
}  // namespace hoplite

int main(int argc, char** argv) {
  if (argc == 2 && absl::StartsWith(argv[1], hoplite::kHoldFlag)) {
    return hoplite::Hold(argv[1] + hoplite::kHoldFlag.size());
  }
  return hoplite::RunAllTestsAsOrdinaryUser(argc, argv);
}
