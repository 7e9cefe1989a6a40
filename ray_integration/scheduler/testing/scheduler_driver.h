// A scheduler with its agent played by hand: for tests.
//
// Starts, ends and fetches are answered at once unless the test wants to do
// that; what the scheduler says to owners is kept in order.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_RAY_INTEGRATION_SCHEDULER_TESTING_SCHEDULER_DRIVER_H_
#define HOPLITE_RAY_INTEGRATION_SCHEDULER_TESTING_SCHEDULER_DRIVER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "ray_integration/base/process_id.h"
#include "ray_integration/scheduler/lease_id.h"
#include "ray_integration/scheduler/lease_request.h"
#include "ray_integration/scheduler/resources.h"
#include "ray_integration/scheduler/scheduler.h"
#include "ray_integration/scheduler/scheduler_command.h"
#include "ray_integration/scheduler/scheduler_config.h"
#include "ray_integration/scheduler/scheduler_event.h"

namespace hoplite::task {

inline NodeRef TestNode(std::uint32_t number) {
  return {NodeId(number), Incarnation(number)};
}
inline ProcessId TestOwner(std::uint32_t number, std::uint32_t node = 1) {
  return {TestNode(node), WorkerNumber(1000 + number)};
}

class SchedulerDriver {
 public:
  // Four processors and a store of 400 bytes, unless told otherwise.
  explicit SchedulerDriver(SchedulerConfig config)
      : scheduler_(std::move(config)) {}
  static SchedulerConfig Config(std::int64_t cpus = 4);

  // A request of that owner for one processor.
  LeaseRequest Request(std::uint32_t owner);
  // Enters it and returns its lease.
  LeaseId Ask(LeaseRequest request);
  LeaseId Ask(std::uint32_t owner) { return Ask(Request(owner)); }
  void Handle(const SchedulerEvent& event);
  void Return(const LeaseId& lease);
  // Lets time pass, with every timeout on the way.
  void Advance(absl::Duration by);

  bool IsGranted(const LeaseId& lease) const { return workers.contains(lease); }
  SchedulerStatus Status() const { return scheduler_.Status(); }

  // What the scheduler has said so far, in order.
  std::vector<LeaseId> granted;
  std::vector<std::pair<LeaseId, NodeRef>> forwarded;
  std::vector<std::pair<LeaseId, RefuseReason>> refused;
  std::vector<LeaseId> reclaimed;
  std::vector<WorkerNumber> ended;
  std::vector<WorkerNumber> failed_calls;
  std::vector<StartId> started;
  std::vector<std::pair<FetchId, LeaseId>> fetched;
  std::vector<FetchId> dropped;
  std::vector<scheduler_command::PublishLoad> published;
  std::map<LeaseId, WorkerNumber> workers;  // of granted leases

  bool answer_starts = true;
  bool answer_fetches = true;
  absl::Time now = absl::UnixEpoch();

 private:
  void Do(const scheduler_command::StartWorker& start);
  void Do(const scheduler_command::EndWorker& end);
  void Do(const scheduler_command::FailBlockedCall& fail);
  void Do(const scheduler_command::FetchArguments& fetch);
  void Do(const scheduler_command::DropArguments& drop);
  void Do(const scheduler_command::GrantLease& grant);
  void Do(const scheduler_command::ForwardLease& forward);
  void Do(const scheduler_command::RefuseLease& refuse);
  void Do(const scheduler_command::ReclaimLease& reclaim);
  void Do(const scheduler_command::PublishLoad& load);
  void Execute(const SchedulerCommands& commands);

  Scheduler scheduler_;
  std::deque<SchedulerEvent> answers_;
  std::uint64_t last_number_ = 0;
  std::uint32_t last_worker_ = 0;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_SCHEDULER_TESTING_SCHEDULER_DRIVER_H_
