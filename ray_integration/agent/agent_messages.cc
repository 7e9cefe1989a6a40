// What processes and other agents tell an agent.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/base/id_prefix.h"
#include "hoplite/base/overloaded.h"
#include "hoplite/runtime/clock.h"
#include "ray_integration/agent/agent.h"
#include "ray_integration/agent/agent_report.h"
#include "ray_integration/agent/agent_trace.h"

namespace hoplite::task {
namespace {

// What travels with a task and its answer: no more than this, nor than a round
// trip's worth.
constexpr std::uint64_t kSmallBytesMax = 64 << 10;
constexpr std::uint64_t kSmallBytesMin = 4 << 10;

Resources FromList(const ResourceList& list) {
  Resources resources;
  for (const auto& [name, milli] : list) resources.Set(name, milli);
  return resources;
}

absl::Status AnotherBuild(const ProgramInfo& program) {
  return absl::FailedPreconditionError(
      absl::StrCat("the program ", program.path,
                   " is another build here than its driver's: copy it to "
                   "this node again"));
}

std::uint64_t SmallBytes(const NodeStatus& status) {
  const double round_trip =
      2 * absl::ToDoubleSeconds(status.latency) * status.bytes_per_second;
  return std::clamp(static_cast<std::uint64_t>(round_trip), kSmallBytesMin,
                    kSmallBytesMax);
}

}  // namespace

void Agent::OnMessage(Peer& peer, Message message) {
  if (!peer.introduced && !std::holds_alternative<message::Hello>(message)) {
    if (const LinkPtr link = peer.link.lock()) link->Close();
    return;
  }
  const WorkerNumber number = peer.from.process.worker;
  std::visit(
      Overloaded{
          [&](const message::Hello& hello)
              ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { OnHello(peer, hello); },
          [&](message::LeaseRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(
              mutex_) { OnRequest(peer, std::move(request)); },
          [&](const message::LeaseWithdraw& withdraw)
              ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                Schedule(scheduler_event::LeaseWithdrawn{
                    {.owner = peer.from.process, .number = withdraw.number}});
              },
          [&](const message::LeaseReturn&
                  returned) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
            const auto token = life_->tokens.find(returned.worker);
            if (token == life_->tokens.end()) return;
            const LeaseId lease =
                std::exchange(life_->workers.at(token->second).lease, {});
            Schedule(scheduler_event::LeaseReturned{lease, returned.worker});
          },
          [&](const message::EndWorker& end)
              ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                const auto token = life_->tokens.find(end.worker);
                if (token != life_->tokens.end())
                  children_->Kill(token->second);
              },
          [&](const message::Blocked&) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
            Schedule(scheduler_event::WorkerBlocked{number});
          },
          [&](const message::Resumed&) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
            Schedule(scheduler_event::WorkerResumed{number});
          },
          [&](const message::Owns& owns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
            Schedule(scheduler_event::WorkerOwns{number, owns.owns});
          },
          [&](const message::Loads& loads)
              ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { OnLoads(peer, loads); },
          [&](const message::ProcessEnded& ended)
              ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { OnProcessEnded(ended); },
          [&](const message::Report&) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
            peer.Send(message::Report{.text = Report()});
          },
          [&](const message::SpansWait&) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
            const auto token = life_->tokens.find(number);
            if (token == life_->tokens.end()) return;
            TakeSpans(life_->workers.at(token->second), life_->trace);
          },
          [&](const message::Trace&) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
            peer.Send(AgentTrace(*life_, NodeList(), node_->Transfers()));
          },
          [](const auto&) {},  // for processes
      },
      message);
}

void Agent::OnHello(Peer& peer, const message::Hello& hello) {
  const LinkPtr link = peer.link.lock();
  if (link == nullptr) return;
  if (hello.version != message::kProtocolVersion) {
    peer.Send(message::Registered{
        .error = ToInfo(absl::FailedPreconditionError(absl::StrCat(
            "this program speaks version ", hello.version,
            " of the protocol, and its node version ",
            message::kProtocolVersion, ": build both from one source")))});
    return;
  }
  peer.introduced = true;
  peer.role = hello.role;
  if (hello.role == message::Role::kObserver) return;
  if (hello.role == message::Role::kAgent) {
    peer.from = hello.from;
    return;
  }
  if (!hello.from.process) {
    Register(peer, hello);
    return;
  }
  // An owner of another node, or one of this that is ready to be sent to.
  peer.from = hello.from;
  const bool is_driver = hello.role == message::Role::kDriver;
  const ProcessId driver =
      is_driver ? hello.from.process : hello.driver.process;
  peer.program = KeyOf(hello.program, driver);
  life_->programs[peer.program] = {
      .info = hello.program,
      .driver = driver,
      .driver_address = is_driver ? hello.from.address : hello.driver.address};
  auto known = std::make_shared<Peer>(peer);
  life_->processes[hello.from.process] = known;
  if (hello.from.process.node != life_->self.ref) return;
  peer.Send(NodeList());
  const auto token = life_->tokens.find(hello.from.process.worker);
  if (token == life_->tokens.end()) return;
  WorkerState& worker = life_->workers.at(token->second);
  worker.endpoint = hello.from;
  Schedule(scheduler_event::WorkerStarted{worker.start, worker.number});
}

void Agent::Register(Peer& peer, const message::Hello& hello) {
  message::Registered registered{.sockets = absl::StrCat(socket_, ".tasks."),
                                 .host = options_.host};
  const auto worker = life_->workers.find(hello.token);
  if (hello.role == message::Role::kWorker) {
    if (worker == life_->workers.end() || worker->second.number) {
      registered.error = ToInfo(absl::FailedPreconditionError(
          "this node has not started this worker"));
    } else {
      const auto program = life_->programs.find(worker->second.program);
      if (program == life_->programs.end()) {
        registered.error = ToInfo(absl::CancelledError("the driver has ended"));
      } else {
        registered.driver = {program->second.driver,
                             program->second.driver_address};
        if (program->second.info.build != hello.program.build) {
          registered.error = ToInfo(AnotherBuild(program->second.info));
        }
      }
    }
  }
  if (registered.error.code == 0) {
    const NodeReport report = node_->Report();
    registered.process = {.node = life_->self.ref,
                          .worker = WorkerNumber(++life_->last_number)};
    registered.plain = report.status.schedule == Schedule::kPlain;
    registered.small_bytes = SmallBytes(report.status);
    peer.from.process = registered.process;
    if (worker != life_->workers.end()) {
      peer.token = hello.token;
      worker->second.number = registered.process.worker;
      life_->tokens[registered.process.worker] = hello.token;
    }
  }
  peer.Send(registered);
}

void Agent::OnRequest(Peer& peer, message::LeaseRequest request) {
  LeaseRequest wanted{
      .lease = {.owner = peer.from.process, .number = request.number},
      .program = peer.program,
      .need = FromList(request.resources),
      .depth = request.depth,
      .host = std::move(request.host),
      .spread = request.spread,
      .for_actor = request.actor,
      .hops = request.hops};
  for (const message::LeaseArgument& argument : request.arguments) {
    LeaseArgument& one = wanted.arguments.emplace_back();
    one.object = argument.id;
    one.bytes = argument.size;
    if (argument.location) one.nodes.push_back(argument.location);
  }
  Schedule(scheduler_event::LeaseRequested{std::move(wanted)});
}

void Agent::OnLoads(Peer& peer, const message::Loads& loads) {
  bool new_host = false;
  for (const message::Load& load : loads.loads) {
    if (!life_->members.contains(load.node)) continue;
    new_host |= !life_->loads.contains(load.node);
    life_->loads[load.node] = load;
  }
  if (is_head()) {
    for (const auto& [node, member] : life_->members) {
      if (node != peer.from.process.node) SendAgent(node, loads);
    }
  }
  scheduler_event::NodesChanged changed;
  for (const auto& [node, load] : life_->loads) {
    changed.nodes.push_back({.node = node,
                             .host = load.host,
                             .free = FromList(load.free),
                             .total = FromList(load.total),
                             .queued = load.queued});
  }
  Schedule(changed);
  if (new_host) SendLocals(NodeList());
}

void Agent::OnProcessEnded(const message::ProcessEnded& ended) {
  if (is_head()) TellAll(ended);
  if (ended.process.node == life_->self.ref) return;  // known already
  node_->EndPrefix(IdPrefix::Of(MakeObjectId(ended.process, 1)));
  Schedule(scheduler_event::OwnerLost{ended.process});
  life_->processes.erase(ended.process);
  EndPrograms(ended.process);
  SendLocals(ended);
}

void Agent::EndPrograms(const ProcessId& driver) {
  std::vector<std::string> ended;
  for (const auto& [key, program] : life_->programs) {
    const ProcessId& of = program.driver;
    if (of.node == driver.node &&
        (!driver.worker || of.worker == driver.worker)) {
      ended.push_back(key);
    }
  }
  for (const std::string& key : ended) {
    life_->programs.erase(key);
    Schedule(scheduler_event::ProgramEnded{key});
  }
}

void Agent::OnLinkClosed(const std::shared_ptr<Peer>& peer) {
  if (peer->role == message::Role::kAgent) {
    life_->agents.erase(peer->from.process.node);
    return;
  }
  const ProcessId process = peer->from.process;
  if (!process) return;
  if (process.node != life_->self.ref) {
    const auto it = life_->processes.find(process);
    if (it != life_->processes.end() && it->second->link.lock() == nullptr) {
      life_->processes.erase(it);
    }
    return;
  }
  // A process of this node that lets its link go has ended, or has to.
  if (peer->token != 0) {
    children_->Kill(peer->token);
  } else {
    ProcessGone(process, "the driver has ended");
  }
}

void Agent::OnWorkerProcessEnded(std::uint64_t token, const std::string& why) {
  const auto it = life_->workers.find(token);
  if (it == life_->workers.end()) return;
  const WorkerState worker = std::move(it->second);
  life_->workers.erase(it);
  if (!worker.endpoint.process) {
    if (worker.number) life_->tokens.erase(worker.number);
    Schedule(scheduler_event::WorkerStartFailed{
        worker.start,
        absl::UnavailableError(absl::StrCat("a worker did not start: ", why))});
    return;
  }
  life_->tokens.erase(worker.number);
  TakeLastSpans(worker, why, SystemClock::Now(), life_->trace);
  if (worker.lease) {
    SendOwner(
        worker.lease.owner,
        message::WorkerEnded{.worker = worker.endpoint.process,
                             .why = why,
                             .begun = worker.memory->begun().Read().result});
  }
  Schedule(scheduler_event::WorkerLost{worker.number});
  ProcessGone(worker.endpoint.process, why);
}

void Agent::ProcessGone(const ProcessId& process, const std::string& why) {
  life_->processes.erase(process);
  EndPrograms(process);
  node_->EndPrefix(IdPrefix::Of(MakeObjectId(process, 1)));
  Schedule(scheduler_event::OwnerLost{process});
  const message::ProcessEnded ended{.process = process, .why = why};
  SendLocals(ended);
  TellAll(ended);
}

void Agent::OnLine(std::uint64_t token, bool error, std::string line) {
  const auto worker = life_->workers.find(token);
  if (worker == life_->workers.end()) return;
  const auto program = life_->programs.find(worker->second.program);
  if (program == life_->programs.end()) return;
  SendOwner(program->second.driver,
            message::Output{.process = worker->second.endpoint.process,
                            .host = options_.host,
                            .error = error,
                            .line = std::move(line)});
}

std::string Agent::Report() const {
  return AgentReport(*life_, options_.host, SystemClock::Now());
}

}  // namespace hoplite::task
