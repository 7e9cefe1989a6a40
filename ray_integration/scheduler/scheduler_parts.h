// The state of a Scheduler, for its sources only. One On() takes in an event;
// Settle then does whatever has become possible.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_RAY_INTEGRATION_SCHEDULER_SCHEDULER_PARTS_H_
#define HOPLITE_RAY_INTEGRATION_SCHEDULER_SCHEDULER_PARTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "ray_integration/scheduler/argument_room.h"
#include "ray_integration/scheduler/load_publisher.h"
#include "ray_integration/scheduler/load_table.h"
#include "ray_integration/scheduler/ready_queue.h"
#include "ray_integration/scheduler/recently_lost.h"
#include "ray_integration/scheduler/scheduler.h"
#include "ray_integration/scheduler/worker_pool.h"

namespace hoplite::task {

namespace on = scheduler_event;
namespace order = scheduler_command;

// A request that waits here.
struct WaitingLease {
  enum class State : std::uint8_t { kUnplaceable, kArguments, kReady };

  LeaseRequest request;
  LeaseShape shape;
  std::uint64_t arrival = 0;
  absl::Time since;  // its arrival
  State state = State::kUnplaceable;
  ReadyKey ready;  // of kReady

  bool plain() const { return request.arguments.empty(); }
  RoomKey room() const { return {UINT32_MAX - request.depth, arrival}; }
};

struct Scheduler::Parts {
  using Waiting = std::map<LeaseId, WaitingLease>;
  // A line of the queue, from where on its requests do not get on.
  struct Stuck {
    LeaseShape shape;
    ReadyKey from;
    bool fits = false;  // what it lacks is not resources but a worker's place
  };
  // Where a request goes.
  struct Place {
    enum class Kind : std::uint8_t { kHere, kThere, kNowhere, kRefused };
    Kind kind = Kind::kHere;
    NodeRef node;
  };

  explicit Parts(SchedulerConfig config);

  // --- scheduler_requests.cc ---
  void On(const on::LeaseRequested& event);
  void On(const on::LeaseWithdrawn& event);
  void On(const on::OwnerLost& event);
  void On(const on::NodeLost& event);
  void On(const on::NodesChanged& event);
  void On(const on::ArgumentsReady& event);
  void On(const on::ArgumentsFailed& event);
  void On(const on::ArgumentsUsed& event);
  Place Choose(const LeaseRequest& request);
  Place ChooseAmongAll(const LeaseRequest& request);
  std::optional<NodeRef> ChooseOther(const LeaseRequest& request);
  void Enter(const LeaseRequest& request, bool nowhere);
  void MakeReady(WaitingLease& lease);
  void RetryUnplaceable();
  void ExpireUnplaceable();
  Waiting::iterator Remove(Waiting::iterator at);
  void Forward(const LeaseId& lease, const NodeRef& node);
  void Refuse(const LeaseId& lease, RefuseReason reason, absl::Status why);
  void Lose(const ProcessId& first, const ProcessId& last);

  // --- scheduler_workers.cc ---
  void On(const on::LeaseReturned& event);
  void On(const on::WorkerStarted& event);
  void On(const on::WorkerStartFailed& event);
  void On(const on::WorkerLost& event);
  void On(const on::WorkerBlocked& event);
  void On(const on::WorkerResumed& event);
  void On(const on::WorkerOwns& event);
  void On(const on::ProgramEnded& event);
  void RefuseProgram(const std::string& program, const absl::Status& why);
  void EndLease(WorkerNumber worker);
  void ReleaseArguments(HeldLease& lease);
  void EndWorker(WorkerNumber worker);

  // --- scheduler_dispatch.cc ---
  void Settle();
  void PlanArguments();
  void Dispatch();
  bool HasPlaceForActor(std::size_t promised) const;
  void Grant(const LeaseId& lease, WorkerNumber worker);
  void StartWorkers(const std::map<std::string, std::size_t>& wanted);
  void EndSurplus();
  void Spill();
  void SpillLine(const Stuck& stuck);
  void SpillRoom();
  void ExpireActors();
  void ExpireRoom();
  void Reclaim();
  std::size_t WaitForOthersIn(const Stuck& stuck, const HeldLease& held) const;
  bool Helps(const HeldLease& held) const;
  void Publish();
  void WantTimeout(absl::Time when);

  std::string CheckInvariants() const;

  const SchedulerConfig config;
  absl::Time now = absl::InfinitePast();
  SchedulerCommands* out = nullptr;

  Resources free;       // negative where a blocked worker has gone on
  Resources available;  // less what waits for a worker to start
  std::uint64_t last_arrival = 0;
  Waiting waiting;
  std::map<std::uint64_t, LeaseId> unplaceable;     // by arrival
  std::map<std::uint64_t, LeaseId> with_arguments;  // by arrival, ungranted
  std::map<LeaseId, WorkerNumber> leases;
  // Of leases that may be reclaimed and were not, by their grant.
  std::set<std::pair<absl::Time, WorkerNumber>> reclaimable;
  std::size_t reclaims = 0;  // asked and not yet returned
  ReadyQueue ready;
  ArgumentRoom room;
  WorkerPool pool;
  LoadTable table;
  LoadPublisher publisher;
  RecentlyLost lost;
  std::size_t spread_turn = 0;
  std::map<std::string, std::uint32_t> start_failures;  // in a row
  std::vector<Stuck> stuck;                             // of the last Dispatch
  std::size_t lacking = 0;   // workers that had no place, of the last one
  std::size_t awaiting = 0;  // requests that only lack a worker
  bool spill = false;        // the table is new
  absl::Time room_checked = absl::InfinitePast();
  std::optional<absl::Time> timeout;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_SCHEDULER_SCHEDULER_PARTS_H_
