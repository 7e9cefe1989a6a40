// Owners: the processes that tasks wait at.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ray_integration/scheduler/sim/simulation.h"

namespace hoplite::task::sim {
namespace {

// How long an owner keeps a lease for which it has no task.
constexpr absl::Duration kIdleLease = absl::Milliseconds(100);
// Before an owner asks again that was refused.
constexpr absl::Duration kRefusedPause = absl::Milliseconds(20);
constexpr absl::Duration kLostPause = absl::Milliseconds(1);

// A driver owns this program's objects, for the sake of their ids.
ObjectId ObjectOf(std::uint32_t number) {
  return MakeObjectId({{NodeId(1), Incarnation(1)}, WorkerNumber(1)}, number);
}

}  // namespace

void Simulation::Submit(Process& owner, TaskIndex task) {
  const std::uint32_t line = tasks_[task].line;
  if (tasks_[task].argument != 0) return Ask(owner, line, task);
  owner.lines[line].waiting.push_back(task);
  Pump(owner, line);
}

// Gives idle leases to tasks that wait, and has as many requests under way as
// tasks wait, within a bound.
void Simulation::Pump(Process& owner, std::uint32_t number) {
  Line& line = owner.lines[number];
  while (!line.idle.empty() && !line.waiting.empty()) {
    const std::uint64_t lease = *line.idle.begin();
    line.idle.erase(lease);
    const TaskIndex task = line.waiting.front();
    line.waiting.pop_front();
    SendTask(owner, lease, task);
  }
  const std::size_t wanted =
      std::min<std::size_t>(line.waiting.size(), options_.requests_max);
  while (line.requests.size() < wanted) Ask(owner, number, kNoTask);
  while (line.requests.size() > wanted) {
    const std::uint64_t last = *line.requests.rbegin();
    const OpenRequest request = owner.requests.at(last);
    line.requests.erase(last);
    owner.requests.erase(last);
    if (!request.node) continue;
    Send(owner.id.node, request.node,
         [this, lease = LeaseId{owner.id, last}, node = request.node] {
           Tell(*Find(node), scheduler_event::LeaseWithdrawn{lease});
         });
  }
}

void Simulation::Ask(Process& owner, std::uint32_t line, TaskIndex task) {
  const std::uint64_t number = ++owner.last_lease;
  owner.requests[number] = {owner.id.node, line, task, 0};
  if (task == kNoTask) owner.lines[line].requests.insert(number);
  SendRequest(owner, number);
}

void Simulation::SendRequest(Process& owner, std::uint64_t number) {
  const OpenRequest& open = owner.requests.at(number);
  const LineKind& kind = kinds_[open.line];
  LeaseRequest request{.lease = {owner.id, number},
                       .program = owner.program,
                       .need = kind.need,
                       .host = kind.host,
                       .spread = kind.spread,
                       .for_actor = kind.for_actor,
                       .hops = open.hops};
  if (owner.run) request.depth = tasks_[owner.run->task].depth + 1;
  if (open.task != kNoTask) {
    const std::uint32_t argument = tasks_[open.task].argument;
    request.arguments.push_back({ObjectOf(argument),
                                 options_.argument_bytes,
                                 {nodes_[argument % nodes_.size()].ref}});
  }
  owner.contacted.insert(open.node);
  Send(owner.id.node, open.node,
       [this, node = open.node, request = std::move(request)] {
         Tell(*Find(node), scheduler_event::LeaseRequested{request});
       });
}

// The same request under a new number, from the owner's node on.
void Simulation::AskAgain(Process& owner, std::uint64_t number,
                          absl::Duration delay) {
  const OpenRequest old = owner.requests.at(number);
  owner.requests.erase(number);
  const std::uint64_t next = ++owner.last_lease;
  owner.requests[next] = {NodeRef(), old.line, old.task, 0};
  if (old.task == kNoTask) {
    owner.lines[old.line].requests.erase(number);
    owner.lines[old.line].requests.insert(next);
  }
  agenda_.After(delay, [this, id = owner.id, next] {
    Process* process = Find(id);
    if (process == nullptr || !process->requests.contains(next)) return;
    process->requests.at(next).node = id.node;
    SendRequest(*process, next);
  });
}

void Simulation::OnForward(Process& owner, std::uint64_t number,
                           const NodeRef& node) {
  const auto at = owner.requests.find(number);
  if (at == owner.requests.end()) return;
  if (Find(owner.id.node)->known_lost.contains(node)) {
    return AskAgain(owner, number, kLostPause);
  }
  at->second.node = node;
  ++at->second.hops;
  SendRequest(owner, number);
}

void Simulation::OnRefuse(Process& owner, std::uint64_t number,
                          RefuseReason reason) {
  const auto at = owner.requests.find(number);
  if (at == owner.requests.end()) return;
  const OpenRequest request = at->second;
  switch (reason) {
    case RefuseReason::kQueueFull:
    case RefuseReason::kArgumentsFailed:
    case RefuseReason::kProgramFails:
      return AskAgain(owner, number, kRefusedPause);
    case RefuseReason::kInvalid:
    case RefuseReason::kNoSuchHost:
    case RefuseReason::kNoSuchResources:
      Wrong("answers",
            absl::StrCat("a request is refused as ", ToString(reason)));
      break;
    case RefuseReason::kNoRoom:
    case RefuseReason::kTooManyActors:
      break;
  }
  owner.requests.erase(at);
  TaskIndex task = request.task;
  Line& line = owner.lines[request.line];
  if (task == kNoTask) {
    line.requests.erase(number);
    if (line.waiting.empty()) return;
    task = line.waiting.front();
    line.waiting.pop_front();
  }
  EndTask(owner, task, Task::State::kFailed);
  Pump(owner, request.line);
}

void Simulation::OnGrant(Process& owner, const LeaseId& lease,
                         const NodeRef& node, WorkerNumber worker) {
  const auto at = owner.requests.find(lease.number);
  if (at == owner.requests.end()) {  // it was withdrawn
    owner.leases[lease.number] = {node, worker};
    return Return(owner, lease.number);
  }
  const OpenRequest request = at->second;
  owner.requests.erase(at);
  owner.leases[lease.number] = {node, worker, request.line};
  if (request.task != kNoTask) {
    return SendTask(owner, lease.number, request.task);
  }
  owner.lines[request.line].requests.erase(lease.number);
  Rest(owner, lease.number);
}

void Simulation::SendTask(Process& owner, std::uint64_t number,
                          TaskIndex index) {
  Task& task = tasks_[index];
  if (task.ended()) {
    Wrong("tasks", absl::StrCat("task ", index, " runs again that has ended"));
  }
  task.state = Task::State::kSent;
  OpenLease& lease = owner.leases.at(number);
  lease.task = index;
  const TaskRun run{.owner = owner.id,
                    .lease = number,
                    .task = index,
                    .attempt = task.attempts};
  Send(owner.id.node, lease.node,
       [this, worker = ProcessId{lease.node, lease.worker}, run] {
         BeginRun(worker, run);
       });
}

void Simulation::OnAnswer(Process& owner, const TaskRun& run, bool ok) {
  const auto at = owner.leases.find(run.lease);
  if (at == owner.leases.end() || at->second.task != run.task) return;
  Task& task = tasks_[run.task];
  at->second.task = kNoTask;
  const bool for_actor = kinds_[task.line].for_actor;
  if (task.state == Task::State::kCancelled) {
    return Return(owner, run.lease);
  }
  if (task.attempts != run.attempt) {
    Wrong("tasks", "the answer of an attempt that was given up is accepted");
  }
  EndTask(owner, run.task, ok ? Task::State::kDone : Task::State::kFailed);
  if (plant_.Once(Mistake::kAcceptTwice)) Submit(owner, run.task);
  if (!owner.leases.contains(run.lease)) return;  // all was returned
  if (for_actor || owner.leases.at(run.lease).reclaimed) {
    Return(owner, run.lease);
  } else {
    Rest(owner, run.lease);
  }
}

// The lease has no task: it gets one, or is kept for a while.
void Simulation::Rest(Process& owner, std::uint64_t number) {
  OpenLease& lease = owner.leases.at(number);
  Line& line = owner.lines[lease.line];
  line.idle.insert(number);
  const std::uint64_t idle = ++lease.idle;
  const std::uint32_t kind = lease.line;
  Pump(owner, kind);
  if (!line.idle.contains(number)) return;
  if (!owner.is_driver && !owner.run) return Return(owner, number);
  agenda_.After(kIdleLease, [this, id = owner.id, number, idle] {
    Process* process = Find(id);
    if (process == nullptr) return;
    const auto at = process->leases.find(number);
    if (at == process->leases.end() || at->second.idle != idle) return;
    if (at->second.task == kNoTask) Return(*process, number);
  });
}

void Simulation::Return(Process& owner, std::uint64_t number) {
  const OpenLease lease = owner.leases.at(number);
  owner.leases.erase(number);
  if (const auto at = owner.lines.find(lease.line); at != owner.lines.end()) {
    at->second.idle.erase(number);
  }
  const LeaseId id{owner.id, number};
  Send(owner.id.node, lease.node, [this, id, lease] {
    NodeModel& node = *Find(lease.node);
    Process* worker = Find(ProcessId{lease.node, lease.worker});
    if (worker != nullptr && worker->lessee == id) worker->lessee.reset();
    Tell(node, scheduler_event::LeaseReturned{id, lease.worker});
  });
}

// The run is over: nothing is asked for any more, and idle leases go back.
void Simulation::ReturnAll(Process& owner) {
  for (auto& [number, line] : owner.lines) {
    line.waiting.clear();
    Pump(owner, number);
  }
  std::vector<std::uint64_t> requests;
  for (const auto& [number, request] : owner.requests) {
    requests.push_back(number);
  }
  for (const std::uint64_t number : requests) {
    const NodeRef node = owner.requests.at(number).node;
    owner.requests.erase(number);
    if (!node) continue;
    Send(owner.id.node, node, [this, lease = LeaseId{owner.id, number}, node] {
      Tell(*Find(node), scheduler_event::LeaseWithdrawn{lease});
    });
  }
  std::vector<std::uint64_t> idle;
  for (const auto& [number, lease] : owner.leases) {
    if (lease.task == kNoTask) idle.push_back(number);
  }
  for (const std::uint64_t number : idle) Return(owner, number);
}

void Simulation::OnReclaim(Process& owner, std::uint64_t number) {
  const auto at = owner.leases.find(number);
  if (at == owner.leases.end()) return;
  at->second.reclaimed = true;
  if (at->second.task == kNoTask) {
    const std::uint32_t line = at->second.line;
    Return(owner, number);
    Pump(owner, line);
  }
}

// The worker is dead: its task runs again.
void Simulation::OnLeaseBroken(Process& owner, std::uint64_t number) {
  const auto at = owner.leases.find(number);
  if (at == owner.leases.end()) return;
  const OpenLease lease = at->second;
  owner.leases.erase(at);
  owner.lines[lease.line].idle.erase(number);
  if (lease.task != kNoTask) Retry(owner, lease.task);
  Pump(owner, lease.line);
}

void Simulation::OnNodeLost(Process& owner, const NodeRef& node) {
  std::vector<std::uint64_t> requests;
  for (const auto& [number, request] : owner.requests) {
    if (request.node == node) requests.push_back(number);
  }
  for (const std::uint64_t number : requests) {
    AskAgain(owner, number, kLostPause);
  }
  std::vector<std::uint64_t> leases;
  for (const auto& [number, lease] : owner.leases) {
    if (lease.node == node) leases.push_back(number);
  }
  for (const std::uint64_t number : leases) OnLeaseBroken(owner, number);
}

void Simulation::Retry(Process& owner, TaskIndex index) {
  Task& task = tasks_[index];
  if (task.state == Task::State::kCancelled) return;
  if (plant_.Once(Mistake::kLoseTask)) return;
  ++result_.retries;
  if (++task.attempts > options_.retries) {
    Wrong("tasks", absl::StrCat("task ", index, " has no attempt left"));
    return EndTask(owner, index, Task::State::kFailed);
  }
  task.state = Task::State::kWaiting;
  Submit(owner, index);
}

void Simulation::EndTask(Process& owner, TaskIndex index, Task::State state) {
  Task& task = tasks_[index];
  if (task.ended()) {
    return Wrong("tasks", absl::StrCat("task ", index, " ends twice"));
  }
  task.state = state;
  --open_tasks_;
  last_end_ = agenda_.now();
  const bool ok = state == Task::State::kDone;
  ok ? ++result_.done : ++result_.failed;
  if (!owner.is_driver) ChildEnded(owner, ok);
}

}  // namespace hoplite::task::sim
