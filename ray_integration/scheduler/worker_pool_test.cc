#include "ray_integration/scheduler/worker_pool.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace hoplite::task {
namespace {

class WorkerPoolTest : public testing::Test {
 protected:
  WorkerNumber Add(const std::string& program) {
    const WorkerNumber number(++last_);
    EXPECT_TRUE(pool_.Add(number, program));
    return number;
  }
  void Lease(WorkerNumber number, bool for_actor = false) {
    HeldLease lease{.id = {{{NodeId(1), Incarnation(1)}, WorkerNumber(99)},
                           number.value()}};
    lease.shape.for_actor = for_actor;
    pool_.Lease(number, lease);
  }
  void TearDown() override { EXPECT_EQ(pool_.CheckInvariants(), ""); }

  WorkerPool pool_;
  std::uint32_t last_ = 0;
};

TEST_F(WorkerPoolTest, StartsCountAsWorkersUntilTheyEnd) {
  const StartId start = pool_.Start("p");
  EXPECT_EQ(pool_.counted(), 1u);
  EXPECT_EQ(pool_.starting("p"), 1u);
  EXPECT_EQ(pool_.EndStart(start)->first, "p");
  EXPECT_EQ(pool_.EndStart(start), std::nullopt);
  EXPECT_EQ(pool_.counted(), 0u);
}

TEST_F(WorkerPoolTest, AForgottenStartIsNotWantedWhenItEnds) {
  const StartId start = pool_.Start("p");
  pool_.ForgetStarts("p");
  EXPECT_EQ(pool_.starting("p"), 0u);
  EXPECT_FALSE(pool_.EndStart(start)->second);
}

TEST_F(WorkerPoolTest, TheWarmestIsTakenAndTheColdestIsEnded) {
  const WorkerNumber first = Add("p");
  const WorkerNumber second = Add("p");
  const WorkerNumber third = Add("q");
  EXPECT_EQ(pool_.IdleOf("p"), second);
  EXPECT_EQ(pool_.IdleToEnd("q"), first);
  EXPECT_EQ(pool_.IdleToEnd("p"), third);
  EXPECT_EQ(pool_.IdleOf("r"), std::nullopt);
  Lease(first);
  pool_.EndLease(first);
  EXPECT_EQ(pool_.IdleOf("p"), first);
}

TEST_F(WorkerPoolTest, WhatOwnsSomethingIsNotEndedAndNotCounted) {
  const WorkerNumber first = Add("p");
  pool_.SetOwns(first, true);
  EXPECT_EQ(pool_.IdleToEnd(""), std::nullopt);
  EXPECT_EQ(pool_.counted(), 0u);
  Lease(first);
  EXPECT_EQ(pool_.counted(), 1u);
}

TEST_F(WorkerPoolTest, BlockedWorkersAreOutsideTheCount) {
  const WorkerNumber worker = Add("p");
  Lease(worker);
  pool_.SetBlocked(worker, true);
  EXPECT_EQ(pool_.counted(), 0u);
  EXPECT_EQ(pool_.blocked(), 1u);
  pool_.Remove(worker);
  EXPECT_EQ(pool_.blocked(), 0u);
  EXPECT_EQ(pool_.leased(), 0u);
}

TEST_F(WorkerPoolTest, AnEndingWorkerIsNotIdle) {
  const WorkerNumber worker = Add("p");
  pool_.SetEnding(worker, true);
  EXPECT_EQ(pool_.IdleOf("p"), std::nullopt);
  EXPECT_EQ(pool_.ending(), 1u);
  pool_.SetEnding(worker, false);
  EXPECT_EQ(pool_.IdleOf("p"), worker);
}

TEST_F(WorkerPoolTest, ActorsAreCounted) {
  const WorkerNumber worker = Add("p");
  Lease(worker, true);
  EXPECT_EQ(pool_.actors(), 1u);
  pool_.EndLease(worker);
  EXPECT_EQ(pool_.actors(), 0u);
}

}  // namespace
}  // namespace hoplite::task
