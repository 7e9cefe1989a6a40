// What to do: everything a node's scheduler orders its agent to do.
//
// Commands are carried out in the order given. Carrying one out never calls
// the scheduler; what comes of it is an event, later.
//
// Thread safety: values; as safe as int.

#ifndef HOPLITE_RAY_INTEGRATION_SCHEDULER_SCHEDULER_COMMAND_H_
#define HOPLITE_RAY_INTEGRATION_SCHEDULER_SCHEDULER_COMMAND_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "hoplite/base/id.h"
#include "ray_integration/base/process_id.h"
#include "ray_integration/scheduler/lease_id.h"
#include "ray_integration/scheduler/node_load.h"
#include "ray_integration/scheduler/resources.h"

namespace hoplite::task {

enum class RefuseReason : std::uint8_t {
  kQueueFull,        // ask again later: nothing is wrong with the request
  kInvalid,          // it contradicts itself, or passes a bound
  kNoSuchHost,       // for 10 s nobody has had that name
  kNoSuchResources,  // for 10 s no node has had that much
  kNoRoom,           // its arguments do not fit, or not while others wait
  kTooManyActors,    // here, and nobody takes it
  kArgumentsFailed,  // the status says which and why
  kProgramFails,     // its workers do not start
};

}  // namespace hoplite::task

namespace hoplite::task::scheduler_command {

// --- Workers. ---------------------------------------------------------------

// Ends in WorkerStarted or WorkerStartFailed.
struct StartWorker {
  StartId start;
  std::string program;
};
// Ends in WorkerLost. An idle worker that by now owns something may be left
// alone: then WorkerOwns comes instead.
struct EndWorker {
  WorkerNumber worker;
};
// The call in which it blocked ends with kResourceExhausted: too many workers
// are blocked here. It counts as running.
struct FailBlockedCall {
  WorkerNumber worker;
};

// --- Arguments. -------------------------------------------------------------

// Get these and hold them. Ends in ArgumentsReady or ArgumentsFailed, unless
// it is dropped.
struct FetchArguments {
  FetchId fetch;
  LeaseId lease;
  std::vector<ObjectId> objects;
};
// Stop, or let go; nothing, where it has failed. An answer that is under way
// is ignored.
struct DropArguments {
  FetchId fetch;
};

// --- Leases. ----------------------------------------------------------------

// The worker is the owner's until LeaseReturned.
struct GrantLease {
  LeaseId lease;
  WorkerNumber worker;
};
// The owner is told to ask there, under the same id with one more hop.
struct ForwardLease {
  LeaseId lease;
  NodeRef node;
};
struct RefuseLease {
  LeaseId lease;
  RefuseReason reason = RefuseReason::kQueueFull;
  absl::Status why;  // for people
};
// Others wait: the owner is asked to return it after the running task.
struct ReclaimLease {
  LeaseId lease;
  WorkerNumber worker;
};

// --- The head. --------------------------------------------------------------

// This node's row for the table; `node` and `host` are the agent's to fill.
struct PublishLoad {
  Resources free;
  Resources total;
  std::uint32_t queued = 0;
};

}  // namespace hoplite::task::scheduler_command

namespace hoplite::task {

using SchedulerCommand = std::variant<
    scheduler_command::StartWorker, scheduler_command::EndWorker,
    scheduler_command::FailBlockedCall, scheduler_command::FetchArguments,
    scheduler_command::DropArguments, scheduler_command::GrantLease,
    scheduler_command::ForwardLease, scheduler_command::RefuseLease,
    scheduler_command::ReclaimLease, scheduler_command::PublishLoad>;
// Appended to by the scheduler; the agent empties and reuses it.
using SchedulerCommands = std::vector<SchedulerCommand>;

// A stable one-line form for traces.
std::string DebugString(const SchedulerCommand& command);
absl::string_view ToString(RefuseReason reason);

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_SCHEDULER_SCHEDULER_COMMAND_H_
