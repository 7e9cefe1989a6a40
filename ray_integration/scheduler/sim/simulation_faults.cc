// What goes wrong: workers, drivers and nodes that die.

#include <utility>
#include <vector>

#include "ray_integration/scheduler/sim/simulation.h"

namespace hoplite::task::sim {
namespace {

// From a process's death to when its agent, and all others, know of it.
constexpr absl::Duration kLocalNotice = absl::Milliseconds(1);
constexpr absl::Duration kNotice = absl::Milliseconds(5);

}  // namespace

void Simulation::PlanFaults() {
  const auto plan = [this](std::uint32_t count, void (Simulation::*fault)()) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const absl::Duration when =
          options_.fault_time * faults_.Below(10'000) / 10'000;
      agenda_.After(when, [this, fault] { (this->*fault)(); });
    }
  };
  plan(options_.worker_kills, &Simulation::KillSomeWorker);
  plan(options_.driver_kills, &Simulation::KillSomeDriver);
  plan(options_.node_losses, &Simulation::LoseSomeNode);
}

void Simulation::KillSomeWorker() {
  NodeModel& node = nodes_[faults_.Below(nodes_.size())];
  if (!node.up) return;
  std::vector<WorkerNumber> workers;
  for (const auto& [number, process] : node.processes) {
    if (!process->is_driver) workers.push_back(number);
  }
  if (workers.empty()) return;
  KillProcess(node, workers[faults_.Below(workers.size())], true);
}

void Simulation::KillSomeDriver() {
  if (drivers_.empty()) return;
  const ProcessId driver = drivers_[faults_.Below(drivers_.size())];
  if (Find(driver) != nullptr) {
    KillProcess(*Find(driver.node), driver.worker, true);
  }
}

void Simulation::CancelTasksOf(Process& owner) {
  std::vector<TaskIndex> tasks;
  for (auto& [number, line] : owner.lines) {
    tasks.insert(tasks.end(), line.waiting.begin(), line.waiting.end());
    line.waiting.clear();
  }
  for (const auto& [number, request] : owner.requests) {
    tasks.push_back(request.task);
  }
  for (const auto& [number, lease] : owner.leases) tasks.push_back(lease.task);
  for (const TaskIndex each : tasks) {
    if (each == kNoTask || tasks_[each].ended()) continue;
    tasks_[each].state = Task::State::kCancelled;
    --open_tasks_;
    ++result_.cancelled;
    last_end_ = agenda_.now();
  }
}

void Simulation::KillProcess(NodeModel& node, WorkerNumber number,
                             bool node_lives) {
  const auto at = node.processes.find(number);
  if (at == node.processes.end()) return;
  const std::unique_ptr<Process> dead = std::move(at->second);
  node.processes.erase(at);
  trace_.OnStep(agenda_.now(), node.ref, "dead process", number.value());
  CancelTasksOf(*dead);
  if (!node_lives) return;
  const ProcessId id = dead->id;
  for (const NodeRef& contacted : dead->contacted) {
    agenda_.After(kNotice, [this, contacted, id] {
      NodeModel* there = Find(contacted);
      if (there != nullptr) Tell(*there, scheduler_event::OwnerLost{id});
    });
  }
  if (dead->lessee) {
    const LeaseId lease = *dead->lessee;
    Send(node.ref, lease.owner.node, [this, lease] {
      Process* owner = Find(lease.owner);
      if (owner != nullptr) OnLeaseBroken(*owner, lease.number);
    });
  }
  if (!dead->is_driver) {
    agenda_.After(kLocalNotice, [this, id] {
      NodeModel* there = Find(id.node);
      if (there != nullptr)
        Tell(*there, scheduler_event::WorkerLost{id.worker});
    });
    return;
  }
  for (const NodeModel& each : nodes_) {
    agenda_.After(kNotice * 2, [this, ref = each.ref, name = dead->program] {
      NodeModel* there = Find(ref);
      if (there != nullptr) Tell(*there, scheduler_event::ProgramEnded{name});
    });
  }
}

void Simulation::LoseSomeNode() {
  NodeModel& node = nodes_[faults_.Below(nodes_.size())];
  if (!node.up) return;
  for (std::uint32_t i = 0; i < options_.drivers; ++i) {
    const std::uint64_t at =
        std::uint64_t{i} * options_.nodes / options_.drivers;
    if (&nodes_[at] == &node) return;  // its end would end the run
  }
  const NodeRef ref = node.ref;
  trace_.OnStep(agenda_.now(), ref, "node down", 0);
  while (!node.processes.empty()) {
    KillProcess(node, node.processes.begin()->first, false);
  }
  node.up = false;
  agenda_.After(options_.detect_time, [this, ref] { DeclareLost(ref); });
  agenda_.After(options_.detect_time + options_.down_time,
                [this, ref] { StartNode(nodes_[ref.node.value() - 1]); });
}

// The head says that a node is dead.
void Simulation::DeclareLost(const NodeRef& ref) {
  nodes_[ref.node.value() - 1].row.reset();
  table_is_new_ = true;
  for (const NodeModel& each : nodes_) {
    if (!each.up) continue;
    agenda_.After(kNotice, [this, ref, at = each.ref] {
      NodeModel* node = Find(at);
      if (node == nullptr) return;
      node->known_lost.insert(ref);
      Tell(*node, scheduler_event::NodeLost{ref});
      std::vector<ProcessId> owners;
      for (const auto& [number, process] : node->processes) {
        owners.push_back(process->id);
      }
      for (const ProcessId& id : owners) {
        if (Process* owner = Find(id)) OnNodeLost(*owner, ref);
      }
    });
  }
}

}  // namespace hoplite::task::sim
