// Agents: what they tell their scheduler, and how they do what it orders.

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ray_integration/scheduler/sim/simulation.h"

namespace hoplite::task::sim {

namespace on = scheduler_event;
namespace order = scheduler_command;

void Simulation::Tell(NodeModel& node, const SchedulerEvent& event) {
  ++result_.events;
  trace_.OnEvent(agenda_.now(), node.ref, event);
  node.checker->OnEvent(agenda_.now(), event);
  SchedulerCommands commands;
  if (plant_.mistake == Mistake::kNone) {
    node.scheduler->Handle(agenda_.now(), event, commands);
  } else {
    SchedulerEvent heard = event;
    if (!Distort(node, heard)) {
      node.scheduler->Handle(agenda_.now(), heard, commands);
    }
    if (std::holds_alternative<on::WorkerBlocked>(event) &&
        plant_.Once(Mistake::kFailCalls)) {
      commands.push_back(
          order::FailBlockedCall{std::get<on::WorkerBlocked>(event).worker});
    }
    Distort(node, commands);
  }
  Finish(node, commands);
}

// Shows and carries out what a scheduler has said, and sets its timer.
void Simulation::Finish(NodeModel& node, SchedulerCommands& commands) {
  for (const SchedulerCommand& each : commands) {
    trace_.OnCommand(agenda_.now(), node.ref, each);
    node.checker->OnCommand(agenda_.now(), each);
    std::visit([&](const auto& command) { Do(node, command); }, each);
  }
  node.checker->OnHandled(agenda_.now());
  if (options_.thorough) {
    const std::string wrong = node.scheduler->CheckInvariants();
    if (!wrong.empty()) Wrong("state", absl::StrCat(node.host, ": ", wrong));
  }
  const std::optional<absl::Time> next = node.scheduler->NextTimeout();
  if (!next || (node.timeout && *node.timeout <= *next)) return;
  node.timeout = std::max(*next, agenda_.now());
  agenda_.At(
      *node.timeout, [this, ref = node.ref] { Wake(ref); },
      hoplite::sim::Weight::kTimer);
}

void Simulation::Wake(const NodeRef& ref) {
  NodeModel* node = Find(ref);
  if (node == nullptr || !node->timeout || agenda_.now() < *node->timeout) {
    return;
  }
  node->timeout.reset();
  SchedulerCommands commands;
  node->scheduler->HandleTimeout(agenda_.now(), commands);
  if (plant_.mistake != Mistake::kNone) Distort(*node, commands);
  Finish(*node, commands);
}

// True where the scheduler does not hear it at all.
bool Simulation::Distort(NodeModel&, SchedulerEvent& event) {
  if (auto* requested = std::get_if<on::LeaseRequested>(&event)) {
    LeaseRequest& request = requested->request;
    if (plant_.Always(Mistake::kReverseDepth)) {
      request.depth = 1000 - request.depth;
    }
    if (plant_.Always(Mistake::kForgetHops)) request.hops = 0;
    return plant_.Once(Mistake::kLoseRequest);
  }
  if (std::holds_alternative<on::LeaseReturned>(event)) {
    return plant_.Once(Mistake::kForgetReturn);
  }
  if (std::holds_alternative<on::WorkerLost>(event)) {
    return plant_.Once(Mistake::kForgetWorker);
  }
  if (std::holds_alternative<on::OwnerLost>(event)) {
    return plant_.Always(Mistake::kForgetOwner);
  }
  if (auto* resumed = std::get_if<on::WorkerResumed>(&event)) {
    return resumed->worker && plant_.Always(Mistake::kForgetResumed);
  }
  return false;
}

void Simulation::GrantToAnother(NodeModel& node, SchedulerCommands& commands,
                                WorkerNumber worker) {
  const std::optional<LeaseId> other = node.checker->AnyOpen();
  for (const SchedulerCommand& each : commands) {
    const auto* grant = std::get_if<order::GrantLease>(&each);
    if (grant != nullptr && other == grant->lease) return;
  }
  if (!other || !plant_.Once(Mistake::kGrantTwice)) return;
  commands.push_back(order::GrantLease{*other, worker});
}

void Simulation::Distort(NodeModel& node, SchedulerCommands& commands) {
  const std::size_t count = commands.size();
  for (std::size_t i = 0; i < count && i < commands.size(); ++i) {
    if (std::holds_alternative<order::RefuseLease>(commands[i]) &&
        plant_.Once(Mistake::kLoseRefusal)) {
      commands.erase(commands.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
    const auto* found = std::get_if<order::GrantLease>(&commands[i]);
    if (found == nullptr) continue;
    const order::GrantLease grant = *found;
    if (plant_.Once(Mistake::kLoseGrant)) {
      commands.erase(commands.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
    GrantToAnother(node, commands, grant.worker);
    if (plant_.Once(Mistake::kAnswerTwice)) {
      commands.push_back(order::RefuseLease{
          grant.lease, RefuseReason::kQueueFull, absl::OkStatus()});
    }
    if (plant_.Once(Mistake::kReclaimAtOnce)) {
      commands.push_back(order::ReclaimLease{grant.lease, grant.worker});
    }
  }
}

void Simulation::Do(NodeModel& node, const order::StartWorker& command) {
  const bool fails = options_.start_fails_one_of > 0 &&
                     faults_.Chance(1, options_.start_fails_one_of);
  const absl::Duration delay =
      options_.start_time * timing_.Between(50, 150) / 100;
  agenda_.After(delay, [this, ref = node.ref, command, fails] {
    NodeModel* there = Find(ref);
    if (there == nullptr) return;
    if (fails) {
      Tell(*there, on::WorkerStartFailed{command.start,
                                         absl::InternalError("no memory")});
      return;
    }
    const Process& worker = AddProcess(*there, command.program);
    Tell(*there, on::WorkerStarted{command.start, worker.id.worker});
  });
}

void Simulation::Do(NodeModel& node, const order::EndWorker& command) {
  Send(node.ref, node.ref, [this, ref = node.ref, command] {
    KillProcess(*Find(ref), command.worker, true);
  });
}

// The call fails, and the task with it; what it had submitted is cancelled.
void Simulation::Do(NodeModel& node, const order::FailBlockedCall& command) {
  Send(node.ref, node.ref, [this, id = ProcessId{node.ref, command.worker}] {
    Process* worker = Find(id);
    if (worker == nullptr || !worker->run || !worker->run->blocked) return;
    worker->run->failed = true;
    worker->run->blocked = false;
    CancelTasksOf(*worker);
    EndRun(*worker);
  });
}

void Simulation::Do(NodeModel& node, const order::FetchArguments& command) {
  const bool fails = options_.fetch_fails_one_of > 0 &&
                     faults_.Chance(1, options_.fetch_fails_one_of);
  const absl::Duration delay =
      absl::Milliseconds(1 + options_.argument_bytes / options_.bytes_per_ms) *
      timing_.Between(50, 150) / 100;
  const on::ArgumentsReady ready{command.fetch};
  const on::ArgumentsFailed failed{command.fetch, absl::NotFoundError("lost")};
  if (!fails && plant_.Once(Mistake::kTakeUnready)) {
    SchedulerCommands commands;
    node.scheduler->Handle(agenda_.now(), ready, commands);
    Finish(node, commands);
    return;
  }
  agenda_.After(delay, [=, this, ref = node.ref] {
    NodeModel* there = Find(ref);
    if (there == nullptr) return;
    if (fails) {
      Tell(*there, failed);
    } else {
      Tell(*there, ready);
    }
  });
}

void Simulation::Do(NodeModel&, const order::DropArguments&) {}

void Simulation::Do(NodeModel& node, const order::GrantLease& command) {
  ++result_.grants;
  const ProcessId owner = command.lease.owner;
  Process* worker = Find(ProcessId{node.ref, command.worker});
  if (worker != nullptr) worker->lessee = command.lease;
  Send(node.ref, owner.node, [this, owner, command, ref = node.ref] {
    Process* process = Find(owner);
    if (process != nullptr) {
      OnGrant(*process, command.lease, ref, command.worker);
    }
  });
  if (worker != nullptr) return;
  // It died before its scheduler has heard of that.
  Send(node.ref, owner.node, [this, owner, number = command.lease.number] {
    if (Process* process = Find(owner)) OnLeaseBroken(*process, number);
  });
}

void Simulation::Do(NodeModel& node, const order::ForwardLease& command) {
  ++result_.forwards;
  const LeaseId lease = command.lease;
  Send(node.ref, lease.owner.node, [this, lease, to = command.node] {
    if (Process* owner = Find(lease.owner)) OnForward(*owner, lease.number, to);
  });
}

void Simulation::Do(NodeModel& node, const order::RefuseLease& command) {
  const LeaseId lease = command.lease;
  Send(node.ref, lease.owner.node, [this, lease, reason = command.reason] {
    if (Process* owner = Find(lease.owner)) {
      OnRefuse(*owner, lease.number, reason);
    }
  });
}

void Simulation::Do(NodeModel& node, const order::ReclaimLease& command) {
  const LeaseId lease = command.lease;
  Send(node.ref, lease.owner.node, [this, lease] {
    if (Process* owner = Find(lease.owner)) OnReclaim(*owner, lease.number);
  });
}

void Simulation::Do(NodeModel& node, const order::PublishLoad& command) {
  if (options_.load_lost_one_of > 0 &&
      faults_.Chance(1, options_.load_lost_one_of)) {
    return;
  }
  const absl::Duration delay =
      options_.load_delay * faults_.Below(100) / 100 + absl::Microseconds(200);
  agenda_.After(delay, [this, ref = node.ref, command] {
    NodeModel* there = Find(ref);
    if (there == nullptr) return;
    there->row =
        NodeLoad{ref, there->host, command.free, command.total, command.queued};
    table_is_new_ = true;
  });
}

}  // namespace hoplite::task::sim
