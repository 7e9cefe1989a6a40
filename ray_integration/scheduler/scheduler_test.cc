#include "ray_integration/scheduler/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "ray_integration/scheduler/testing/scheduler_driver.h"

namespace hoplite::task {
namespace {

namespace on = scheduler_event;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

class SchedulerTest : public testing::Test {
 protected:
  explicit SchedulerTest(SchedulerConfig config = SchedulerDriver::Config())
      : node_(config) {}

  std::vector<LeaseId> Fill(std::uint32_t owner, int count) {
    std::vector<LeaseId> leases;
    for (int i = 0; i < count; ++i) leases.push_back(node_.Ask(owner));
    return leases;
  }
  void Block(const LeaseId& lease) {
    node_.Handle(on::WorkerBlocked{node_.workers.at(lease)});
  }
  void Resume(const LeaseId& lease) {
    node_.Handle(on::WorkerResumed{node_.workers.at(lease)});
  }

  SchedulerDriver node_;
};

TEST_F(SchedulerTest, ARequestGetsAWorkerOfItsProgram) {
  const LeaseId lease = node_.Ask(1);
  EXPECT_THAT(node_.started, SizeIs(1));
  EXPECT_THAT(node_.granted, ElementsAre(lease));
  EXPECT_EQ(node_.Status().free, Resources::Cpus(3));
}

TEST_F(SchedulerTest, ReturnedWorkersServeAgainWithoutAStart) {
  node_.Return(node_.Ask(1));
  const LeaseId second = node_.Ask(2);
  EXPECT_TRUE(node_.IsGranted(second));
  EXPECT_THAT(node_.started, SizeIs(1));
}

TEST_F(SchedulerTest, NoMoreIsGivenThanTheNodeHas) {
  const std::vector<LeaseId> leases = Fill(1, 6);
  EXPECT_THAT(node_.granted, SizeIs(4));
  EXPECT_THAT(node_.started, SizeIs(4));
  EXPECT_EQ(node_.Status().queued, 2u);
  node_.Return(leases[0]);
  EXPECT_TRUE(node_.IsGranted(leases[4]));
  EXPECT_FALSE(node_.IsGranted(leases[5]));
}

TEST_F(SchedulerTest, TheSameRequestTwiceIsOneRequest) {
  LeaseRequest request = node_.Request(1);
  node_.Ask(request);
  node_.Ask(request);
  EXPECT_THAT(node_.granted, SizeIs(1));
  EXPECT_EQ(node_.Status().leased, 1u);
}

TEST_F(SchedulerTest, AWithdrawnRequestGetsNothing) {
  const std::vector<LeaseId> leases = Fill(1, 5);
  node_.Handle(on::LeaseWithdrawn{leases[4]});
  node_.Return(leases[0]);
  EXPECT_FALSE(node_.IsGranted(leases[4]));
  EXPECT_EQ(node_.Status().queued, 0u);
}

TEST_F(SchedulerTest, TheDeepestGoesFirstThenOwnersInTurn) {
  const std::vector<LeaseId> held = Fill(9, 4);
  const LeaseId first = node_.Ask(1);
  const LeaseId second = node_.Ask(1);
  const LeaseId other = node_.Ask(2);
  LeaseRequest deep = node_.Request(3);
  deep.depth = 1;
  node_.Ask(deep);
  node_.granted.clear();
  for (const LeaseId& lease : held) node_.Return(lease);
  EXPECT_THAT(node_.granted, ElementsAre(deep.lease, first, other, second));
}

TEST_F(SchedulerTest, ASmallRequestPassesOneThatDoesNotFitButNotForLong) {
  const std::vector<LeaseId> held = Fill(9, 3);
  LeaseRequest large = node_.Request(1);
  large.need = Resources::Cpus(4);
  node_.Ask(large);
  const LeaseId small = node_.Ask(2);
  EXPECT_TRUE(node_.IsGranted(small));
  node_.Advance(absl::Seconds(2));
  node_.Return(small);
  const LeaseId late = node_.Ask(2);
  EXPECT_FALSE(node_.IsGranted(late));
  for (const LeaseId& lease : held) node_.Return(lease);
  EXPECT_TRUE(node_.IsGranted(large.lease));
}

// --- Blocked workers. -------------------------------------------------------

TEST_F(SchedulerTest, ABlockedWorkerGivesItsProcessorBack) {
  const std::vector<LeaseId> leases = Fill(1, 5);
  EXPECT_FALSE(node_.IsGranted(leases[4]));
  Block(leases[0]);
  EXPECT_TRUE(node_.IsGranted(leases[4]));
  EXPECT_EQ(node_.Status().blocked, 1u);
}

TEST_F(SchedulerTest, AfterOneGoesOnOneFewerIsStartedUntilTheCountIsRight) {
  const std::vector<LeaseId> leases = Fill(1, 7);
  Block(leases[0]);
  Resume(leases[0]);
  EXPECT_EQ(node_.Status().free, Resources::Cpus(-1));
  node_.Return(leases[1]);
  EXPECT_FALSE(node_.IsGranted(leases[5]));
  node_.Return(leases[2]);
  EXPECT_TRUE(node_.IsGranted(leases[5]));
}

TEST_F(SchedulerTest, ABlockedWorkerKeepsWhatIsNotAProcessor) {
  SchedulerConfig config = SchedulerDriver::Config();
  config.total = {{"cpu", 4000}, {"gpu", 1000}};
  SchedulerDriver node(config);
  LeaseRequest request = node.Request(1);
  request.need = {{"cpu", 1000}, {"gpu", 1000}};
  node.Ask(request);
  node.Handle(on::WorkerBlocked{node.workers.at(request.lease)});
  EXPECT_EQ(node.Status().free, Resources::Cpus(4));
}

TEST_F(SchedulerTest, AWorkerThatDiesBlockedLeavesTheCountRight) {
  const LeaseId lease = node_.Ask(1);
  Block(lease);
  node_.Handle(on::WorkerLost{node_.workers.at(lease)});
  EXPECT_EQ(node_.Status().free, Resources::Cpus(4));
  EXPECT_EQ(node_.Status().blocked, 0u);
}

TEST_F(SchedulerTest, ATreeDeeperThanTheNodeIsWideGetsAllItsWorkers) {
  for (std::uint32_t depth = 0; depth < 100; ++depth) {
    LeaseRequest request = node_.Request(depth);
    request.depth = depth;
    const LeaseId lease = node_.Ask(request);
    ASSERT_TRUE(node_.IsGranted(lease)) << depth;
    Block(lease);
  }
  EXPECT_THAT(node_.failed_calls, IsEmpty());
}

TEST(SchedulerBoundsTest, BeyondTheBoundOnBlockedWorkersTheCallFails) {
  SchedulerConfig config = SchedulerDriver::Config();
  config.blocked_max = 2;
  SchedulerDriver node(config);
  std::vector<LeaseId> leases;
  for (int i = 0; i < 3; ++i) leases.push_back(node.Ask(1));
  for (const LeaseId& each : leases) {
    node.Handle(on::WorkerBlocked{node.workers.at(each)});
  }
  EXPECT_THAT(node.failed_calls, ElementsAre(node.workers.at(leases[2])));
  EXPECT_EQ(node.Status().free, Resources::Cpus(3));
  node.Handle(on::WorkerResumed{node.workers.at(leases[2])});
  EXPECT_EQ(node.Status().free, Resources::Cpus(3));
}

// --- Bounds on the queue and on workers. ------------------------------------

TEST(SchedulerBoundsTest, AFullQueueRefuses) {
  SchedulerConfig config = SchedulerDriver::Config(1);
  config.queued_max = 3;
  SchedulerDriver node(config);
  for (int i = 0; i < 4; ++i) node.Ask(1);
  EXPECT_THAT(node.refused, IsEmpty());
  const LeaseId last = node.Ask(1);
  EXPECT_THAT(node.refused, ElementsAre(Pair(last, RefuseReason::kQueueFull)));
}

TEST(SchedulerBoundsTest, AFullQueueHandsOnToAShortOne) {
  SchedulerConfig config = SchedulerDriver::Config(1);
  config.queued_max = 4;
  SchedulerDriver node(config);
  for (int i = 0; i < 5; ++i) node.Ask(1);
  node.Handle(
      on::NodesChanged{{{TestNode(2), "b", {}, Resources::Cpus(1), 1}}});
  const LeaseId last = node.Ask(1);
  EXPECT_THAT(node.forwarded, ElementsAre(Pair(last, TestNode(2))));
}

TEST(SchedulerBoundsTest, IdleWorkersOfOtherProgramsMakeRoom) {
  SchedulerConfig config = SchedulerDriver::Config();
  config.workers_max = 2;
  config.task_workers_min = 1;
  SchedulerDriver node(config);
  const LeaseId first = node.Ask(1);
  const LeaseId second = node.Ask(1);
  const WorkerNumber idle = node.workers.at(second);
  node.Return(second);
  LeaseRequest other = node.Request(2);
  other.program = "q";
  node.Ask(other);
  EXPECT_THAT(node.ended, ElementsAre(idle));
  EXPECT_TRUE(node.IsGranted(other.lease));
  EXPECT_TRUE(node.IsGranted(first));
}

TEST(SchedulerBoundsTest, AWorkerThatOwnsSomethingIsNotEndedForIdleness) {
  SchedulerConfig config = SchedulerDriver::Config();
  config.workers_max = 1;
  SchedulerDriver node(config);
  const LeaseId first = node.Ask(1);
  node.Handle(on::WorkerOwns{node.workers.at(first), true});
  node.Return(first);
  LeaseRequest other = node.Request(2);
  other.program = "q";
  node.Ask(other);
  EXPECT_THAT(node.ended, IsEmpty());
  EXPECT_TRUE(node.IsGranted(other.lease));
}

TEST(SchedulerBoundsTest, NoMoreWorkersThanTheBoundApartFromBlockedOnes) {
  SchedulerConfig config = SchedulerDriver::Config(8);
  config.workers_max = 3;
  config.task_workers_min = 1;
  SchedulerDriver node(config);
  std::vector<LeaseId> leases;
  for (int i = 0; i < 5; ++i) leases.push_back(node.Ask(1));
  EXPECT_THAT(node.started, SizeIs(3));
  node.Handle(on::WorkerBlocked{node.workers.at(leases[0])});
  EXPECT_THAT(node.started, SizeIs(4));
}

TEST(SchedulerBoundsTest, ActorsLeavePlacesToTasksAndDoNotWaitForEver) {
  SchedulerConfig config = SchedulerDriver::Config();
  config.workers_max = 3;
  config.task_workers_min = 1;
  SchedulerDriver node(config);
  LeaseId last;
  for (int i = 0; i < 3; ++i) {
    LeaseRequest actor = node.Request(1);
    actor.for_actor = true;
    actor.need = {};
    last = node.Ask(actor);
  }
  EXPECT_THAT(node.granted, SizeIs(2));
  EXPECT_TRUE(node.IsGranted(node.Ask(2)));
  node.Advance(absl::Seconds(11));
  EXPECT_THAT(node.refused,
              ElementsAre(Pair(last, RefuseReason::kTooManyActors)));
}

TEST_F(SchedulerTest, AProgramWhoseWorkersDoNotStartIsGivenUp) {
  node_.answer_starts = false;
  const LeaseId lease = node_.Ask(1);
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_THAT(node_.started, SizeIs(i + 1));
    node_.Handle(on::WorkerStartFailed{node_.started[i],
                                       absl::NotFoundError("no such file")});
  }
  EXPECT_THAT(node_.started, SizeIs(3));
  EXPECT_THAT(node_.refused,
              ElementsAre(Pair(lease, RefuseReason::kProgramFails)));
}

TEST_F(SchedulerTest, AProgramThatHasEndedLeavesNoWorker) {
  node_.Return(node_.Ask(1));
  node_.answer_starts = false;
  LeaseRequest other = node_.Request(1);
  other.need = Resources::Cpus(1);
  node_.Ask(other);
  node_.Handle(on::LeaseReturned{other.lease, node_.workers.at(other.lease)});
  node_.Handle(on::ProgramEnded{"p"});
  EXPECT_EQ(node_.Status().idle, 0u);
  EXPECT_THAT(node_.ended, SizeIs(1));
}

// --- Owners that are lost. --------------------------------------------------

TEST_F(SchedulerTest, ALostOwnersRequestsGoAndItsWorkersAreEnded) {
  const std::vector<LeaseId> leases = Fill(1, 4);
  const LeaseId waits = node_.Ask(1);
  const LeaseId other = node_.Ask(2);
  node_.Handle(on::OwnerLost{TestOwner(1)});
  EXPECT_THAT(node_.ended, SizeIs(4));
  EXPECT_TRUE(node_.IsGranted(other));
  EXPECT_FALSE(node_.IsGranted(waits));
  EXPECT_EQ(node_.Status().queued, 0u);
  EXPECT_FALSE(node_.IsGranted(node_.Ask(1)));  // late
}

TEST_F(SchedulerTest, ALostNodesOwnersAreAllLost) {
  LeaseRequest remote = node_.Request(1);
  remote.lease.owner = TestOwner(1, 7);
  node_.Ask(remote);
  const LeaseId other = node_.Ask(2);
  node_.Handle(on::NodeLost{TestNode(7)});
  EXPECT_THAT(node_.ended, ElementsAre(node_.workers.at(remote.lease)));
  EXPECT_TRUE(node_.IsGranted(other));
  EXPECT_EQ(node_.Status().leased, 1u);
}

// --- Leases that are taken back. --------------------------------------------

TEST_F(SchedulerTest, ALeaseIsReclaimedOnceItIsOldAndOthersWait) {
  const std::vector<LeaseId> leases = Fill(1, 4);
  node_.Ask(2);
  EXPECT_THAT(node_.reclaimed, IsEmpty());
  node_.Advance(absl::Milliseconds(9));
  EXPECT_THAT(node_.reclaimed, IsEmpty());
  node_.Advance(absl::Milliseconds(1));
  EXPECT_THAT(node_.reclaimed, SizeIs(1));  // one waits
  node_.Advance(absl::Seconds(1));
  EXPECT_THAT(node_.reclaimed, SizeIs(1));
}

TEST_F(SchedulerTest, ALeaseIsNotReclaimedForItsOwnOwnersLikes) {
  Fill(1, 8);
  node_.Advance(absl::Seconds(1));
  EXPECT_THAT(node_.reclaimed, IsEmpty());
}

TEST_F(SchedulerTest, NobodyWaitsNothingIsReclaimed) {
  Fill(1, 4);
  node_.Advance(absl::Hours(1));
  EXPECT_THAT(node_.reclaimed, IsEmpty());
}

TEST_F(SchedulerTest, AnActorsLeaseIsNeverReclaimed) {
  for (int i = 0; i < 4; ++i) {
    LeaseRequest actor = node_.Request(1);
    actor.for_actor = true;
    node_.Ask(actor);
  }
  node_.Ask(2);
  node_.Advance(absl::Seconds(1));
  EXPECT_THAT(node_.reclaimed, IsEmpty());
}

}  // namespace
}  // namespace hoplite::task
