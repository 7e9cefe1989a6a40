#include "ray_integration/scheduler/sim/simulation.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hoplite::task::sim {
namespace {

// Within a node, and at least between two.
constexpr absl::Duration kLocalLatency = absl::Microseconds(20);
constexpr absl::Duration kLatency = absl::Microseconds(100);
// After the last task has ended, for what is still under way.
constexpr absl::Duration kDrain = absl::Seconds(3);

SchedulerConfig ConfigOf(const SimulationOptions& options,
                         std::uint32_t index) {
  SchedulerConfig config;
  config.node = {NodeId(index + 1), Incarnation(1)};
  config.host = absl::StrCat("host", index + 1);
  config.total = Resources::Cpus(options.cpus);
  if (options.gpu_one_of > 0 && index % options.gpu_one_of == 0) {
    config.total.Add({{"gpu", 1000}});
  }
  config.store_bytes = options.store_bytes;
  config.queued_max = options.queued_max;
  config.workers_max = options.workers_max;
  config.task_workers_min = std::min(4u, options.workers_max / 2);
  config.blocked_max = options.blocked_max;
  return config;
}

// What the scheduler is told, where that is the mistake.
SchedulerConfig Distorted(SchedulerConfig config, Plant& plant) {
  if (plant.Always(Mistake::kOvercommit)) {
    config.total.Add(Resources::Cpus(2));
  }
  if (plant.Always(Mistake::kTakeResultsRoom)) config.store_bytes *= 2;
  if (plant.Always(Mistake::kTooManyWorkers)) config.workers_max *= 4;
  if (plant.Always(Mistake::kQueueTooLong)) config.queued_max *= 10;
  return config;
}

}  // namespace

Simulation::Simulation(SimulationOptions options, Trace::LineSink sink)
    : options_(std::move(options)),
      trace_(options_.thorough, std::move(sink)),
      plant_{options_.mistake},
      workload_(options_.seed),
      faults_(options_.seed ^ 0xfa017),
      timing_(options_.seed ^ 0x71e) {}

void Simulation::Wrong(absl::string_view checker, std::string what) {
  violations_.Add(checker, agenda_.now(), std::move(what));
}

void Simulation::SetUp() {
  kinds_.push_back({.need = Resources::Cpus(1)});
  kinds_.push_back({.need = {{"cpu", 1000}, {"gpu", 1000}}});
  kinds_.push_back({.need = Resources::Cpus(2)});
  kinds_.push_back({.need = Resources::Cpus(1), .spread = true});
  kinds_.push_back({.for_actor = true});
  nodes_.resize(options_.nodes);
  for (std::uint32_t i = 0; i < options_.nodes; ++i) {
    nodes_[i].config = ConfigOf(options_, i);
    nodes_[i].host = nodes_[i].config.host;
    kinds_.push_back({.need = Resources::Cpus(1), .host = nodes_[i].host});
    StartNode(nodes_[i]);
  }
  SpreadTable();
  for (std::uint32_t i = 0; i < options_.drivers; ++i) {
    agenda_.After(absl::Milliseconds(workload_.Below(20)),
                  [this, i] { StartDriver(i); });
  }
}

void Simulation::StartNode(NodeModel& node) {
  node.ref = {node.config.node.node, Incarnation(++last_incarnation_)};
  node.config.node = node.ref;
  node.up = true;
  node.last_worker = 0;
  node.known_lost.clear();
  node.timeout.reset();
  node.scheduler = std::make_unique<Scheduler>(Distorted(node.config, plant_));
  node.checker = std::make_unique<NodeChecker>(node.config, options_.thorough,
                                               violations_);
  node.row =
      NodeLoad{node.ref, node.host, node.config.total, node.config.total, 0};
  table_is_new_ = true;
  trace_.OnStep(agenda_.now(), node.ref, "node up", 0);
}

Process& Simulation::AddProcess(NodeModel& node, const std::string& program) {
  const WorkerNumber number(++node.last_worker);
  auto process = std::make_unique<Process>();
  process->id = {node.ref, number};
  process->program = program;
  return *(node.processes[number] = std::move(process));
}

void Simulation::StartDriver(std::uint32_t number) {
  NodeModel& node =
      nodes_[std::uint64_t{number} * options_.nodes / options_.drivers];
  Process& driver = AddProcess(node, absl::StrCat("program", number));
  driver.is_driver = true;
  drivers_.push_back(driver.id);
  for (std::uint32_t i = 0; i < options_.roots; ++i) {
    Submit(driver, MakeTask(driver.id, 0, options_.levels, workload_.Next()));
  }
}

NodeModel* Simulation::Find(const NodeRef& ref) {
  NodeModel& node = nodes_.at(ref.node.value() - 1);
  return node.up && node.ref == ref ? &node : nullptr;
}

Process* Simulation::Find(const ProcessId& id) {
  NodeModel* node = Find(id.node);
  if (node == nullptr) return nullptr;
  const auto at = node->processes.find(id.worker);
  return at == node->processes.end() ? nullptr : at->second.get();
}

// One latency for each pair: so messages between two nodes come in order.
void Simulation::Send(const NodeRef& from, const NodeRef& to, Action action) {
  const std::uint64_t pair = from.node.value() * 31 + to.node.value() * 17;
  const absl::Duration latency =
      from.node == to.node ? kLocalLatency
                           : kLatency + absl::Microseconds(pair % 400);
  agenda_.After(latency, [this, to, action = std::move(action)] {
    if (Find(to) != nullptr) action();
  });
}

// The head spreads the table; now and then a copy is lost, or late.
void Simulation::SpreadTable() {
  agenda_.After(
      options_.table_interval, [this] { SpreadTable(); },
      hoplite::sim::Weight::kTimer);
  if (!table_is_new_) return;
  table_is_new_ = false;
  scheduler_event::NodesChanged changed;
  for (const NodeModel& each : nodes_) {
    if (each.row) changed.nodes.push_back(*each.row);
  }
  const auto event = std::make_shared<const SchedulerEvent>(std::move(changed));
  for (const NodeModel& each : nodes_) {
    if (!each.up) continue;
    if (options_.load_lost_one_of > 0 &&
        faults_.Chance(1, options_.load_lost_one_of)) {
      table_is_new_ = true;
      continue;
    }
    const absl::Duration delay =
        options_.load_delay * faults_.Below(100) / 100 + kLatency;
    agenda_.After(delay, [this, event, ref = each.ref] {
      if (NodeModel* node = Find(ref); node != nullptr) Tell(*node, *event);
    });
  }
}

SimulationResult Simulation::Run() {
  SetUp();
  PlanFaults();
  const absl::Time limit = agenda_.now() + options_.limit;
  const absl::Time calm = agenda_.now() + options_.fault_time +
                          options_.down_time + absl::Seconds(1);
  while (agenda_.NextTime() && *agenda_.NextTime() < limit) {
    agenda_.RunNext();
    const bool begun = drivers_.size() == options_.drivers;
    if (begun && open_tasks_ == 0 &&
        agenda_.now() > std::max(last_end_, calm) + kDrain) {
      break;
    }
  }
  CheckEnd();
  result_.violations = violations_.found();
  result_.trace_hash = trace_.hash();
  result_.trace_lines = trace_.line_count();
  result_.mistake_made = plant_.made;
  result_.virtual_time = last_end_ - absl::UnixEpoch();
  return result_;
}

void Simulation::CheckEnd() {
  for (TaskIndex i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i].ended()) continue;
    Wrong("end", absl::StrCat("task ", i, " of ", ToString(tasks_[i].owner),
                              " has not ended"));
  }
  for (NodeModel& node : nodes_) {
    if (!node.up) continue;
    node.checker->AtEnd(agenda_.now(), node.scheduler->Status());
    for (const auto& [number, process] : node.processes) {
      if (process->run) {
        Wrong("end", ToString(process->id) + " still runs");
      }
      if (!process->requests.empty() || !process->leases.empty()) {
        Wrong("end", ToString(process->id) + " still asks, or has leases");
      }
    }
  }
}

}  // namespace hoplite::task::sim
