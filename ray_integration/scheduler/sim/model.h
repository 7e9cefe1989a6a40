// The things of a simulated cluster: tasks, processes that own or run them,
// nodes.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_RAY_INTEGRATION_SCHEDULER_SIM_MODEL_H_
#define HOPLITE_RAY_INTEGRATION_SCHEDULER_SIM_MODEL_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "ray_integration/base/process_id.h"
#include "ray_integration/scheduler/lease_id.h"
#include "ray_integration/scheduler/node_load.h"
#include "ray_integration/scheduler/resources.h"
#include "ray_integration/scheduler/scheduler.h"
#include "ray_integration/scheduler/scheduler_config.h"
#include "ray_integration/scheduler/sim/node_checker.h"

namespace hoplite::task::sim {

using TaskIndex = std::uint32_t;
inline constexpr TaskIndex kNoTask = UINT32_MAX;

struct Task {
  enum class State : std::uint8_t {
    kWaiting,    // at its owner
    kSent,       // to a leased worker
    kDone,       // its result was accepted
    kFailed,     // with an error
    kCancelled,  // its owner is gone
  };
  ProcessId owner;
  std::uint64_t seed = 0;  // what it does is drawn from it, at every attempt
  std::uint32_t depth = 0;
  std::uint32_t line = 0;      // its kind, an index into the lines
  std::uint32_t argument = 0;  // the number of an object; 0: none
  std::uint8_t levels = 0;     // that may be below it
  std::uint8_t attempts = 0;   // that have failed
  State state = State::kWaiting;

  bool ended() const { return state >= State::kDone; }
};

// What tasks of one kind ask for.
struct LineKind {
  Resources need;
  std::string host;
  bool spread = false;
  bool for_actor = false;
};

// A request that an owner has under way.
struct OpenRequest {
  NodeRef node;  // where it is
  std::uint32_t line = 0;
  TaskIndex task = kNoTask;  // that it is for; none: for whichever is next
  std::uint32_t hops = 0;
};

// A worker that an owner has.
struct OpenLease {
  NodeRef node;
  WorkerNumber worker;
  std::uint32_t line = 0;
  TaskIndex task = kNoTask;  // that runs on it
  bool reclaimed = false;
  std::uint64_t idle = 0;  // how often it has become so
};

// An owner's tasks of one kind.
struct Line {
  std::deque<TaskIndex> waiting;     // those without arguments
  std::set<std::uint64_t> requests;  // for any of those
  std::set<std::uint64_t> idle;      // leases
};

// What a worker does at the moment.
struct TaskRun {
  ProcessId owner;
  std::uint64_t lease = 0;
  TaskIndex task = kNoTask;
  std::uint8_t attempt = 0;
  std::uint32_t open_children = 0;
  bool failed = false;
  bool blocked = false;
};

struct Process {
  ProcessId id;
  std::string program;
  bool is_driver = false;
  std::optional<LeaseId> lessee;  // that it is granted to
  std::optional<TaskRun> run;
  std::uint64_t runs = 0;
  // As an owner.
  std::uint64_t last_lease = 0;
  std::map<std::uint64_t, OpenRequest> requests;
  std::map<std::uint64_t, OpenLease> leases;
  std::map<std::uint32_t, Line> lines;
  std::set<TaskIndex> resting;  // wait a moment before they are asked for
  std::set<NodeRef> contacted;  // nodes that know it as an owner
};

struct NodeModel {
  NodeRef ref;
  bool up = false;
  std::string host;
  SchedulerConfig config;
  std::unique_ptr<Scheduler> scheduler;
  std::unique_ptr<NodeChecker> checker;
  std::map<WorkerNumber, std::unique_ptr<Process>> processes;
  std::uint32_t last_worker = 0;
  std::set<NodeRef> known_lost;
  std::optional<absl::Time> timeout;  // that is on the agenda
  std::optional<NodeLoad> row;        // as the head has it
};

}  // namespace hoplite::task::sim

#endif  // HOPLITE_RAY_INTEGRATION_SCHEDULER_SIM_MODEL_H_
