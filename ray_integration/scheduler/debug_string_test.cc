// The lines of traces.

#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "ray_integration/scheduler/scheduler_command.h"
#include "ray_integration/scheduler/scheduler_event.h"

namespace hoplite::task {
namespace {

const LeaseId kLease{{{NodeId(3), Incarnation(4)}, WorkerNumber(5)}, 6};

TEST(SchedulerDebugStringTest, ARequestSaysAllThatDecides) {
  LeaseRequest request{
      .lease = kLease, .program = "p", .need = Resources::Cpus(2), .depth = 7};
  request.spread = true;
  EXPECT_EQ(DebugString(scheduler_event::LeaseRequested{request}),
            "LeaseRequested lease 6 of worker 5 of node 3 program=p "
            "need={cpu 2} depth=7 arguments=0/0B host= spread hops=0");
}

TEST(SchedulerDebugStringTest, ARefusalSaysWhy) {
  EXPECT_EQ(
      DebugString(scheduler_command::RefuseLease{
          kLease, RefuseReason::kNoRoom, absl::ResourceExhaustedError("full")}),
      "RefuseLease lease 6 of worker 5 of node 3 reason=no room "
      "why=RESOURCE_EXHAUSTED: full");
}

}  // namespace
}  // namespace hoplite::task
