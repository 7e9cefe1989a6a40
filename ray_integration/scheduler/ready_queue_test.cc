#include "ray_integration/scheduler/ready_queue.h"

#include <gtest/gtest.h>

#include <vector>

#include "absl/time/time.h"

namespace hoplite::task {
namespace {

const LeaseShape kShape{.program = "p", .need = Resources::Cpus(1)};

LeaseId Lease(std::uint32_t owner, std::uint64_t number) {
  return {{{NodeId(1), Incarnation(1)}, WorkerNumber(owner)}, number};
}

class ReadyQueueTest : public testing::Test {
 protected:
  ReadyKey Add(std::uint32_t owner, std::uint64_t number,
               std::uint32_t depth = 0) {
    return queue_.Add(absl::UnixEpoch(), Lease(owner, number), kShape, depth,
                      ++arrival_, true);
  }
  LeaseId Serve() {
    const auto next = queue_.lines().at(kShape).leases.begin();
    const ReadyKey key = next->first;
    const LeaseId lease = next->second.lease;
    queue_.Serve(key, kShape, true);
    return lease;
  }

  ReadyQueue queue_;
  std::uint64_t arrival_ = 0;
};

TEST_F(ReadyQueueTest, OneOwnersRequestsAreServedInOrderOfArrival) {
  for (std::uint64_t i = 1; i <= 5; ++i) Add(1, 10 - i);
  for (std::uint64_t i = 1; i <= 5; ++i) EXPECT_EQ(Serve(), Lease(1, 10 - i));
  EXPECT_TRUE(queue_.lines().empty());
}

TEST_F(ReadyQueueTest, TheDeepestIsServedFirst) {
  Add(1, 1, 0);
  Add(1, 2, 2);
  Add(2, 1, 1);
  EXPECT_EQ(Serve(), Lease(1, 2));
  EXPECT_EQ(Serve(), Lease(2, 1));
  EXPECT_EQ(Serve(), Lease(1, 1));
}

TEST_F(ReadyQueueTest, AnOwnerWithFewDoesNotWaitForAllOfOneWithMany) {
  for (std::uint64_t i = 1; i <= 100; ++i) Add(1, i);
  EXPECT_EQ(Serve(), Lease(1, 1));
  Add(2, 1);
  Add(2, 2);
  EXPECT_EQ(Serve(), Lease(1, 2));
  EXPECT_EQ(Serve(), Lease(2, 1));
  EXPECT_EQ(Serve(), Lease(1, 3));
  EXPECT_EQ(Serve(), Lease(2, 2));
  EXPECT_EQ(Serve(), Lease(1, 4));
}

TEST_F(ReadyQueueTest, WithdrawnRequestsDoNotCostTheirOwnerItsTurn) {
  Add(2, 1);
  std::vector<ReadyKey> keys;
  for (std::uint64_t i = 1; i <= 50; ++i) keys.push_back(Add(1, i));
  for (const ReadyKey& key : keys) queue_.Remove(key, kShape, true);
  for (std::uint64_t i = 2; i <= 10; ++i) Add(2, i);
  Add(1, 51);
  EXPECT_EQ(Serve(), Lease(2, 1));
  EXPECT_EQ(Serve(), Lease(1, 51));
}

TEST_F(ReadyQueueTest, PlainRequestsAreCountedByOwner) {
  const ReadyKey plain = Add(1, 1);
  const ReadyKey other =
      queue_.Add(absl::UnixEpoch(), Lease(1, 2), kShape, 0, ++arrival_, false);
  EXPECT_EQ(queue_.lines().at(kShape).plain.at(Lease(1, 1).owner), 1u);
  queue_.Remove(plain, kShape, true);
  EXPECT_TRUE(queue_.lines().at(kShape).plain.empty());
  queue_.Remove(other, kShape, false);
  EXPECT_EQ(queue_.size(), 0u);
}

}  // namespace
}  // namespace hoplite::task
