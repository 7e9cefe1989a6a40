// What happened: everything an agent tells its node's scheduler.
//
// A command that starts something ends in exactly one event here, which may
// come late, never twice.
//
// Thread safety: values; as safe as int.

#ifndef HOPLITE_RAY_INTEGRATION_SCHEDULER_SCHEDULER_EVENT_H_
#define HOPLITE_RAY_INTEGRATION_SCHEDULER_SCHEDULER_EVENT_H_

#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "hoplite/base/id.h"
#include "ray_integration/base/process_id.h"
#include "ray_integration/scheduler/lease_id.h"
#include "ray_integration/scheduler/lease_request.h"
#include "ray_integration/scheduler/node_load.h"

namespace hoplite::task::scheduler_event {

// --- From owners. -----------------------------------------------------------

// Ends in one GrantLease, ForwardLease or RefuseLease, unless it is withdrawn
// or its owner is lost. The same once more changes nothing.
struct LeaseRequested {
  LeaseRequest request;
};
// The owner does not want it any more. A grant may be under way: the owner
// returns a lease that it did not expect.
struct LeaseWithdrawn {
  LeaseId lease;
};
// The owner gives the worker back: it has nothing in hand.
struct LeaseReturned {
  LeaseId lease;
  WorkerNumber worker;
};
// The process is gone; the agent brings nothing of it any more.
struct OwnerLost {
  ProcessId owner;
};

// --- From workers. ----------------------------------------------------------

// Answers StartWorker: the worker has said hello.
struct WorkerStarted {
  StartId start;
  WorkerNumber worker;
};
// The other answer to StartWorker.
struct WorkerStartFailed {
  StartId start;
  absl::Status why;
};
// It is gone, whether EndWorker was ordered or not.
struct WorkerLost {
  WorkerNumber worker;
};
// Its task waits. Answered by FailBlockedCall where there are too many such.
struct WorkerBlocked {
  WorkerNumber worker;
};
// Its task goes on, at once.
struct WorkerResumed {
  WorkerNumber worker;
};
// Whether it owns something that is referenced: then it is not ended for
// idleness. At first it does not.
struct WorkerOwns {
  WorkerNumber worker;
  bool owns = false;
};
// Nobody needs workers of this program any more: its driver is gone.
struct ProgramEnded {
  std::string program;
};

// --- From Hoplite. ----------------------------------------------------------

// All arguments are here, and held until DropArguments.
struct ArgumentsReady {
  FetchId fetch;
};
// The other answer to FetchArguments; nothing is held.
struct ArgumentsFailed {
  FetchId fetch;
  absl::Status why;
};
// The lease goes on without its arguments: the actor has been made of them.
struct ArgumentsUsed {
  LeaseId lease;
};
// The table of all living nodes, this one perhaps included.
struct NodesChanged {
  std::vector<NodeLoad> nodes;
};
// A node is dead: every owner there is lost.
struct NodeLost {
  NodeRef node;
};

}  // namespace hoplite::task::scheduler_event

namespace hoplite::task {

using SchedulerEvent = std::variant<
    scheduler_event::LeaseRequested, scheduler_event::LeaseWithdrawn,
    scheduler_event::LeaseReturned, scheduler_event::OwnerLost,
    scheduler_event::WorkerStarted, scheduler_event::WorkerStartFailed,
    scheduler_event::WorkerLost, scheduler_event::WorkerBlocked,
    scheduler_event::WorkerResumed, scheduler_event::WorkerOwns,
    scheduler_event::ProgramEnded, scheduler_event::ArgumentsReady,
    scheduler_event::ArgumentsFailed, scheduler_event::ArgumentsUsed,
    scheduler_event::NodesChanged, scheduler_event::NodeLost>;

// A stable one-line form for traces.
std::string DebugString(const SchedulerEvent& event);

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_SCHEDULER_SCHEDULER_EVENT_H_
