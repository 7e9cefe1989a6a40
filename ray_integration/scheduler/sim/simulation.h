// A cluster in virtual time: the real scheduler of every node, and models of
// all else: agents, workers, owners with their trees of tasks, the head.
//
// A task works, submits its children, waits for them in a Get, works again,
// and answers its owner. An owner asks for leases, sends one task at a time to
// each, returns them, and runs the task of a dead worker again. Messages
// between two nodes come in order, unless a node dies.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_RAY_INTEGRATION_SCHEDULER_SIM_SIMULATION_H_
#define HOPLITE_RAY_INTEGRATION_SCHEDULER_SIM_SIMULATION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "hoplite/base/random.h"
#include "hoplite/sim/agenda.h"
#include "hoplite/sim/violations.h"
#include "ray_integration/scheduler/sim/mistake.h"
#include "ray_integration/scheduler/sim/model.h"
#include "ray_integration/scheduler/sim/options.h"
#include "ray_integration/scheduler/sim/trace.h"

namespace hoplite::task::sim {

struct SimulationResult {
  std::vector<hoplite::sim::Violation> violations;
  std::uint64_t trace_hash = 0;
  std::uint64_t trace_lines = 0;
  std::uint64_t events = 0;  // of all schedulers
  std::uint64_t grants = 0;
  std::uint64_t forwards = 0;
  std::uint64_t done = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t retries = 0;
  bool mistake_made = false;
  absl::Duration virtual_time;  // until the last task ended
};

class Simulation {
 public:
  explicit Simulation(SimulationOptions options,
                      Trace::LineSink sink = nullptr);
  SimulationResult Run();

 private:
  using Action = hoplite::sim::Agenda::Action;

  // --- simulation.cc: the cluster, messages, the end. ---
  void SetUp();
  void StartNode(NodeModel& node);
  void StartDriver(std::uint32_t number);
  NodeModel* Find(const NodeRef& ref);
  Process* Find(const ProcessId& id);
  Process& AddProcess(NodeModel& node, const std::string& program);
  void Send(const NodeRef& from, const NodeRef& to, Action action);
  void CheckEnd();
  void Wrong(absl::string_view checker, std::string what);

  // --- simulation_node.cc: agents, workers, the head. ---
  void Tell(NodeModel& node, const SchedulerEvent& event);
  void Wake(const NodeRef& ref);
  void Finish(NodeModel& node, SchedulerCommands& commands);
  bool Distort(NodeModel& node, SchedulerEvent& event);
  void Distort(NodeModel& node, SchedulerCommands& commands);
  void GrantToAnother(NodeModel& node, SchedulerCommands& commands,
                      WorkerNumber worker);
  void Do(NodeModel& node, const scheduler_command::StartWorker& command);
  void Do(NodeModel& node, const scheduler_command::EndWorker& command);
  void Do(NodeModel& node, const scheduler_command::FailBlockedCall& command);
  void Do(NodeModel& node, const scheduler_command::FetchArguments& command);
  void Do(NodeModel& node, const scheduler_command::DropArguments& command);
  void Do(NodeModel& node, const scheduler_command::GrantLease& command);
  void Do(NodeModel& node, const scheduler_command::ForwardLease& command);
  void Do(NodeModel& node, const scheduler_command::RefuseLease& command);
  void Do(NodeModel& node, const scheduler_command::ReclaimLease& command);
  void Do(NodeModel& node, const scheduler_command::PublishLoad& command);
  void SpreadTable();

  // --- simulation_run.cc: a worker's run of a task. ---
  void BeginRun(const ProcessId& worker, const TaskRun& run);
  void SubmitChildren(Process& worker, std::uint32_t count);
  void ChildEnded(Process& worker, bool ok);
  void EndRun(Process& worker);
  void After(const Process& worker, absl::Duration delay,
             void (Simulation::*then)(Process&));
  void Work(Process& worker);
  TaskIndex MakeTask(const ProcessId& owner, std::uint32_t depth,
                     std::uint32_t levels, std::uint64_t seed);

  // --- simulation_owner.cc ---
  void Submit(Process& owner, TaskIndex task);
  void Pump(Process& owner, std::uint32_t line);
  void Ask(Process& owner, std::uint32_t line, TaskIndex task);
  void SendRequest(Process& owner, std::uint64_t number);
  void OnGrant(Process& owner, const LeaseId& lease, const NodeRef& node,
               WorkerNumber worker);
  void OnForward(Process& owner, std::uint64_t number, const NodeRef& node);
  void OnRefuse(Process& owner, std::uint64_t number, RefuseReason reason);
  void OnReclaim(Process& owner, std::uint64_t number);
  void OnAnswer(Process& owner, const TaskRun& run, bool ok);
  void OnLeaseBroken(Process& owner, std::uint64_t number);
  void OnNodeLost(Process& owner, const NodeRef& node);
  void AskAgain(Process& owner, std::uint64_t number, absl::Duration delay);
  void SendTask(Process& owner, std::uint64_t number, TaskIndex task);
  void Return(Process& owner, std::uint64_t number);
  void ReturnAll(Process& owner);
  void Rest(Process& owner, std::uint64_t number);
  void Retry(Process& owner, TaskIndex task);
  void EndTask(Process& owner, TaskIndex task, Task::State state);

  // --- simulation_faults.cc ---
  void PlanFaults();
  void KillSomeWorker();
  void KillSomeDriver();
  void LoseSomeNode();
  void KillProcess(NodeModel& node, WorkerNumber number, bool node_lives);
  void CancelTasksOf(Process& owner);
  void DeclareLost(const NodeRef& ref);

  const SimulationOptions options_;
  hoplite::sim::Agenda agenda_;
  hoplite::sim::Violations violations_;
  Trace trace_;
  Plant plant_;
  Random workload_;  // each draws from its own
  Random faults_;
  Random timing_;
  std::vector<LineKind> kinds_;
  std::vector<Task> tasks_;
  std::vector<NodeModel> nodes_;  // by node id - 1
  std::vector<ProcessId> drivers_;
  std::uint64_t last_incarnation_ = 0;
  std::uint64_t open_tasks_ = 0;
  std::uint64_t undelivered_tables_ = 0;
  bool table_is_new_ = false;
  absl::Time last_end_;
  SimulationResult result_;
};

}  // namespace hoplite::task::sim

#endif  // HOPLITE_RAY_INTEGRATION_SCHEDULER_SIM_SIMULATION_H_
