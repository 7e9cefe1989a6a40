// What must hold at one node in every run, written against the rules and not
// the code.
//
//   answers    each request has one answer; it is handed on twice at most
//   workers    a worker is granted to one owner at a time, and is alive
//   resources  nothing is granted beyond what a node has, blocked ones apart
//   bounds     on the queue, on workers, on blocked workers
//   room       arguments are whole and here, and leave results their quarter
//   order      the deepest first
//   reclaim    only old leases, and not those of actors
//   end        nothing is left over
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_RAY_INTEGRATION_SCHEDULER_SIM_NODE_CHECKER_H_
#define HOPLITE_RAY_INTEGRATION_SCHEDULER_SIM_NODE_CHECKER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "hoplite/sim/violations.h"
#include "ray_integration/base/process_id.h"
#include "ray_integration/scheduler/lease_id.h"
#include "ray_integration/scheduler/lease_request.h"
#include "ray_integration/scheduler/resources.h"
#include "ray_integration/scheduler/scheduler.h"
#include "ray_integration/scheduler/scheduler_command.h"
#include "ray_integration/scheduler/scheduler_config.h"
#include "ray_integration/scheduler/scheduler_event.h"

namespace hoplite::task::sim {

// Checks what one scheduler says against what it was told.
class NodeChecker {
 public:
  // `truth`: as it is, whatever the scheduler believes.
  NodeChecker(SchedulerConfig truth, bool thorough,
              hoplite::sim::Violations& violations)
      : truth_(std::move(truth)),
        thorough_(thorough),
        violations_(violations),
        free_(truth_.total) {}

  void OnEvent(absl::Time now, const SchedulerEvent& event);
  void OnCommand(absl::Time now, const SchedulerCommand& command);
  // All commands that followed an event have been shown.
  void OnHandled(absl::Time now);
  // One that waits, for who wants to plant a mistake.
  std::optional<LeaseId> AnyOpen() const {
    if (open_.empty()) return std::nullopt;
    return open_.begin()->first;
  }
  // Nothing is under way any more.
  void AtEnd(absl::Time now, const SchedulerStatus& status);

 private:
  struct Worker {
    std::optional<LeaseRequest> lease;
    absl::Time granted;
    bool blocked = false;
    bool owns = false;
  };
  struct Fetch {
    LeaseId lease;
    std::vector<LeaseArgument> arguments;
    bool ready = false;
  };

  void On(const scheduler_event::LeaseRequested& event);
  void On(const scheduler_event::LeaseWithdrawn& event);
  void On(const scheduler_event::LeaseReturned& event);
  void On(const scheduler_event::OwnerLost& event);
  void On(const scheduler_event::NodeLost& event);
  void On(const scheduler_event::WorkerStarted& event);
  void On(const scheduler_event::WorkerStartFailed& event);
  void On(const scheduler_event::WorkerLost& event);
  void On(const scheduler_event::WorkerBlocked& event);
  void On(const scheduler_event::WorkerResumed& event);
  void On(const scheduler_event::ArgumentsReady& event);
  void On(const scheduler_event::ArgumentsFailed& event);
  // Nothing to be checked.
  void On(const scheduler_event::WorkerOwns&) {}
  void On(const scheduler_event::ProgramEnded&) {}
  void On(const scheduler_event::ArgumentsUsed&) {}
  void On(const scheduler_event::NodesChanged&) {}
  void On(const scheduler_command::StartWorker& command);
  void On(const scheduler_command::EndWorker& command);
  void On(const scheduler_command::FailBlockedCall& command);
  void On(const scheduler_command::FetchArguments& command);
  void On(const scheduler_command::DropArguments& command);
  void On(const scheduler_command::GrantLease& command);
  void On(const scheduler_command::ForwardLease& command);
  void On(const scheduler_command::RefuseLease& command);
  void On(const scheduler_command::ReclaimLease& command);
  void On(const scheduler_command::PublishLoad& command);

  void Wrong(absl::string_view checker, std::string what);
  void Release(Worker& worker);
  void LetGo(const Fetch& fetch);
  void CheckOrder(const LeaseRequest& granted);
  void CheckArguments(const LeaseRequest& granted);
  std::size_t CountedWorkers() const;

  const SchedulerConfig truth_;
  const bool thorough_;
  hoplite::sim::Violations& violations_;
  absl::Time now_;
  Resources free_;
  std::map<LeaseId, LeaseRequest> open_;
  std::map<WorkerNumber, Worker> workers_;
  std::set<ProcessId> lost_;
  std::size_t starts_ = 0;
  std::size_t blocked_ = 0;
  std::map<FetchId, Fetch> fetches_;
  std::map<LeaseId, FetchId> fetch_of_;
  std::map<ObjectId, std::uint32_t> holders_;
  std::uint64_t argument_bytes_ = 0;
};

}  // namespace hoplite::task::sim

#endif  // HOPLITE_RAY_INTEGRATION_SCHEDULER_SIM_NODE_CHECKER_H_
