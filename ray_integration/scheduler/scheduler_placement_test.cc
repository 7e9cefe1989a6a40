// Where requests go, and their arguments.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "ray_integration/base/process_id.h"
#include "ray_integration/scheduler/testing/scheduler_driver.h"

namespace hoplite::task {
namespace {

namespace on = scheduler_event;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

NodeLoad Row(std::uint32_t number, std::int64_t free,
             std::uint32_t queued = 0) {
  return {TestNode(number), "host" + std::to_string(number),
          Resources::Cpus(free), Resources::Cpus(4), queued};
}

LeaseArgument Argument(std::uint64_t number, std::uint64_t bytes,
                       std::uint32_t node = 1) {
  return {MakeObjectId(TestOwner(1), number), bytes, {TestNode(node)}};
}

class PlacementTest : public testing::Test {
 protected:
  LeaseId AskWith(std::vector<LeaseArgument> arguments,
                  std::uint32_t depth = 0) {
    LeaseRequest request = node_.Request(1);
    request.arguments = std::move(arguments);
    request.depth = depth;
    return node_.Ask(request);
  }
  void Fill() {
    for (int i = 0; i < 4; ++i) held_.push_back(node_.Ask(9));
  }

  SchedulerDriver node_{SchedulerDriver::Config()};
  std::vector<LeaseId> held_;
};

TEST_F(PlacementTest, ARequestStaysWhereItsOwnerIsWhileThereIsRoom) {
  node_.Handle(on::NodesChanged{{Row(2, 4)}});
  EXPECT_TRUE(node_.IsGranted(AskWith({Argument(1, 100, 2)})));
  EXPECT_THAT(node_.forwarded, IsEmpty());
}

TEST_F(PlacementTest, FromAFullNodeItGoesWhereMostOfItsArgumentsAre) {
  Fill();
  node_.Handle(on::NodesChanged{{Row(2, 4), Row(3, 4), Row(4, 0)}});
  const LeaseId lease =
      AskWith({Argument(1, 100, 3), Argument(2, 90, 2), Argument(3, 500, 4)});
  EXPECT_THAT(node_.forwarded, ElementsAre(Pair(lease, TestNode(3))));
}

TEST_F(PlacementTest, WithoutArgumentsFreeNodesAreTakenInTurn) {
  Fill();
  node_.Handle(on::NodesChanged{{Row(2, 1), Row(3, 2)}});
  std::vector<LeaseId> leases;
  for (int i = 0; i < 4; ++i) leases.push_back(node_.Ask(1));
  EXPECT_THAT(node_.forwarded, ElementsAre(Pair(leases[0], TestNode(2)),
                                           Pair(leases[1], TestNode(3)),
                                           Pair(leases[2], TestNode(3))));
  EXPECT_EQ(node_.Status().queued, 1u);
}

TEST_F(PlacementTest, ARequestIsHandedOnTwiceAtMost) {
  Fill();
  node_.Handle(on::NodesChanged{{Row(2, 4)}});
  LeaseRequest request = node_.Request(1);
  request.hops = kHopsMax;
  node_.Ask(request);
  node_.Handle(on::NodesChanged{{Row(2, 4)}});
  EXPECT_THAT(node_.forwarded, IsEmpty());
  request = node_.Request(1);
  request.hops = kHopsMax + 1;
  node_.Ask(request);
  EXPECT_THAT(node_.refused,
              ElementsAre(Pair(request.lease, RefuseReason::kInvalid)));
}

TEST_F(PlacementTest, WhatWaitsGoesToANodeThatHasBecomeFree) {
  Fill();
  const LeaseId first = node_.Ask(1);
  node_.Ask(1);
  node_.Handle(on::NodesChanged{{Row(2, 1)}});
  EXPECT_THAT(node_.forwarded, ElementsAre(Pair(first, TestNode(2))));
  EXPECT_EQ(node_.Status().queued, 1u);
}

TEST_F(PlacementTest, SpreadGoesOverAllNodesInTurn) {
  node_.Handle(on::NodesChanged{{Row(2, 4), Row(3, 4)}});
  for (int i = 0; i < 6; ++i) {
    LeaseRequest request = node_.Request(1);
    request.spread = true;
    node_.Ask(request);
  }
  EXPECT_THAT(node_.granted, SizeIs(2));
  EXPECT_THAT(node_.forwarded, SizeIs(4));
  EXPECT_NE(node_.forwarded[0].second, node_.forwarded[1].second);
}

TEST_F(PlacementTest, ANamedHostIsKeptTo) {
  node_.Handle(on::NodesChanged{{Row(2, 0), Row(3, 4)}});
  LeaseRequest there = node_.Request(1);
  there.host = "host2";
  node_.Ask(there);
  EXPECT_THAT(node_.forwarded, ElementsAre(Pair(there.lease, TestNode(2))));
  Fill();
  LeaseRequest here = node_.Request(1);
  here.host = "here";
  node_.Ask(here);
  node_.Handle(on::NodesChanged{{Row(3, 4)}});
  EXPECT_THAT(node_.forwarded, SizeIs(1));
  EXPECT_EQ(node_.Status().queued, 1u);
}

TEST_F(PlacementTest, AHostThatIsDeadIsAnErrorAfterTenSeconds) {
  LeaseRequest request = node_.Request(1);
  request.host = "host9";
  node_.Ask(request);
  node_.Advance(absl::Seconds(9.9));
  EXPECT_THAT(node_.refused, IsEmpty());
  node_.Advance(absl::Seconds(0.1));
  EXPECT_THAT(node_.refused,
              ElementsAre(Pair(request.lease, RefuseReason::kNoSuchHost)));
}

TEST_F(PlacementTest, AHostThatComesWithinTenSecondsGetsTheRequest) {
  LeaseRequest request = node_.Request(1);
  request.host = "host9";
  node_.Ask(request);
  node_.Advance(absl::Seconds(9));
  node_.Handle(on::NodesChanged{{Row(9, 0)}});
  EXPECT_THAT(node_.forwarded, ElementsAre(Pair(request.lease, TestNode(9))));
  node_.Advance(absl::Seconds(9));
  EXPECT_THAT(node_.refused, IsEmpty());
}

TEST_F(PlacementTest, ResourcesThatNobodyHasAreAnErrorAfterTenSeconds) {
  node_.Handle(on::NodesChanged{{Row(2, 4)}});
  LeaseRequest request = node_.Request(1);
  request.need = Resources::Cpus(5);
  node_.Ask(request);
  node_.Advance(absl::Seconds(10));
  EXPECT_THAT(node_.refused,
              ElementsAre(Pair(request.lease, RefuseReason::kNoSuchResources)));
}

TEST_F(PlacementTest, WhatThisNodeCanNeverHoldGoesToOneThatCan) {
  NodeLoad large = Row(2, 0);
  large.total = Resources::Cpus(8);
  node_.Handle(on::NodesChanged{{large, Row(3, 4)}});
  LeaseRequest request = node_.Request(1);
  request.need = Resources::Cpus(5);
  node_.Ask(request);
  EXPECT_THAT(node_.forwarded, ElementsAre(Pair(request.lease, TestNode(2))));
}

// --- Arguments. -------------------------------------------------------------

TEST_F(PlacementTest, ARequestIsGrantedOnceItsArgumentsAreHere) {
  node_.answer_fetches = false;
  const LeaseId lease = AskWith({Argument(1, 10)});
  ASSERT_THAT(node_.fetched, SizeIs(1));
  EXPECT_FALSE(node_.IsGranted(lease));
  node_.Handle(on::ArgumentsReady{node_.fetched[0].first});
  EXPECT_TRUE(node_.IsGranted(lease));
  EXPECT_THAT(node_.dropped, IsEmpty());
  node_.Return(lease);
  EXPECT_THAT(node_.dropped, ElementsAre(node_.fetched[0].first));
}

TEST_F(PlacementTest, ArgumentsAreFetchedWhileTheProcessorsAreTaken) {
  Fill();
  AskWith({Argument(1, 10)});
  EXPECT_THAT(node_.fetched, SizeIs(1));
}

TEST_F(PlacementTest, ADeeperTasksNeedMakesItGiveUpWhatIsReadyForOthers) {
  Fill();
  const LeaseId shallow = AskWith({Argument(1, 200)});
  const LeaseId deep = AskWith({Argument(2, 250)}, 3);
  EXPECT_THAT(node_.dropped, ElementsAre(node_.fetched[0].first));
  node_.Return(held_[0]);
  EXPECT_TRUE(node_.IsGranted(deep));
  EXPECT_FALSE(node_.IsGranted(shallow));
  node_.Return(deep);
  EXPECT_TRUE(node_.IsGranted(shallow));
}

TEST_F(PlacementTest, AnAnswerOfAFetchThatWasDroppedIsIgnored) {
  Fill();
  node_.answer_fetches = false;
  AskWith({Argument(1, 200)});
  AskWith({Argument(2, 250)}, 3);
  ASSERT_THAT(node_.dropped, SizeIs(1));
  node_.Handle(on::ArgumentsReady{node_.dropped[0]});
  node_.Handle(
      on::ArgumentsFailed{node_.dropped[0], absl::NotFoundError("gone")});
  EXPECT_EQ(node_.Status().queued, 2u);
  EXPECT_THAT(node_.refused, IsEmpty());
}

TEST_F(PlacementTest, ArgumentsThatFailAreTheOwnersMatter) {
  node_.answer_fetches = false;
  const LeaseId lease = AskWith({Argument(1, 10)});
  node_.Handle(
      on::ArgumentsFailed{node_.fetched[0].first, absl::NotFoundError("lost")});
  EXPECT_THAT(node_.refused,
              ElementsAre(Pair(lease, RefuseReason::kArgumentsFailed)));
}

TEST_F(PlacementTest, ArgumentsLargerThanTheRoomAreRefusedAtOnce) {
  const LeaseId lease = AskWith({Argument(1, 301)});
  EXPECT_THAT(node_.refused, ElementsAre(Pair(lease, RefuseReason::kNoRoom)));
}

TEST_F(PlacementTest, WhatOnlyBlockedTasksCouldMakeRoomForIsRefused) {
  const LeaseId parent = AskWith({Argument(1, 200)});
  node_.Handle(on::WorkerBlocked{node_.workers.at(parent)});
  const LeaseId child = AskWith({Argument(2, 200)}, 1);
  node_.Advance(absl::Seconds(9));
  EXPECT_THAT(node_.refused, IsEmpty());
  node_.Advance(absl::Seconds(1));
  EXPECT_THAT(node_.refused, ElementsAre(Pair(child, RefuseReason::kNoRoom)));
}

TEST_F(PlacementTest, AnActorThatHasBeenMadeLetsItsArgumentsGo) {
  LeaseRequest actor = node_.Request(1);
  actor.for_actor = true;
  actor.arguments = {Argument(1, 200)};
  node_.Ask(actor);
  const LeaseId other = AskWith({Argument(2, 200)});
  EXPECT_FALSE(node_.IsGranted(other));
  node_.Handle(on::ArgumentsUsed{actor.lease});
  EXPECT_TRUE(node_.IsGranted(other));
}

TEST_F(PlacementTest, ALeaseWhoseArgumentsStandInTheWayIsReclaimed) {
  const LeaseId first = AskWith({Argument(1, 200)});
  AskWith({Argument(2, 200)});
  node_.Advance(absl::Milliseconds(10));
  EXPECT_THAT(node_.reclaimed, ElementsAre(first));
}

// --- The table. -------------------------------------------------------------

TEST_F(PlacementTest, ANodeSaysAtOnceThatItHasFilled) {
  node_.Ask(1);
  ASSERT_THAT(node_.published, SizeIs(1));
  node_.Advance(absl::Milliseconds(20));
  for (int i = 0; i < 3; ++i) node_.Ask(1);
  ASSERT_THAT(node_.published, SizeIs(testing::Ge(2u)));
  EXPECT_EQ(node_.published.back().free, Resources());
  EXPECT_EQ(node_.published.back().total, Resources::Cpus(4));
}

}  // namespace
}  // namespace hoplite::task
