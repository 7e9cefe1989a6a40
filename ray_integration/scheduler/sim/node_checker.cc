#include "ray_integration/scheduler/sim/node_checker.h"

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"

namespace hoplite::task::sim {

namespace on = scheduler_event;
namespace order = scheduler_command;

void NodeChecker::Wrong(absl::string_view checker, std::string what) {
  violations_.Add(checker, now_, absl::StrCat(truth_.host, ": ", what));
}

void NodeChecker::OnEvent(absl::Time now, const SchedulerEvent& event) {
  now_ = now;
  std::visit([this](const auto& each) { On(each); }, event);
}

void NodeChecker::OnCommand(absl::Time now, const SchedulerCommand& command) {
  now_ = now;
  std::visit([this](const auto& each) { On(each); }, command);
}

void NodeChecker::OnHandled(absl::Time now) {
  now_ = now;
  if (open_.size() > truth_.queued_max) {
    Wrong("bounds", absl::StrCat(open_.size(), " requests wait"));
  }
}

// --- What happened. ---------------------------------------------------------

void NodeChecker::On(const on::LeaseRequested& event) {
  const LeaseId& lease = event.request.lease;
  const ProcessId all_of_node{lease.owner.node, WorkerNumber()};
  if (lost_.contains(lease.owner) || lost_.contains(all_of_node)) return;
  open_.emplace(lease, event.request);
}

void NodeChecker::On(const on::LeaseWithdrawn& event) {
  open_.erase(event.lease);
}

void NodeChecker::Release(Worker& worker) {
  const Resources& need = worker.lease->need;
  free_.Add(worker.blocked ? need.Without(kCpu) : need);
  blocked_ -= worker.blocked;
  worker.blocked = false;
  worker.lease.reset();
}

void NodeChecker::On(const on::LeaseReturned& event) {
  const auto at = workers_.find(event.worker);
  if (at == workers_.end() || !at->second.lease) return;
  if (at->second.lease->lease == event.lease) Release(at->second);
}

void NodeChecker::On(const on::OwnerLost& event) {
  lost_.insert(event.owner);
  auto at = open_.lower_bound(LeaseId{event.owner, 0});
  while (at != open_.end() && at->first.owner == event.owner) {
    at = open_.erase(at);
  }
}

void NodeChecker::On(const on::NodeLost& event) {
  const ProcessId first{event.node, WorkerNumber()};
  lost_.insert(first);
  auto at = open_.lower_bound(LeaseId{first, 0});
  while (at != open_.end() && at->first.owner.node == event.node) {
    at = open_.erase(at);
  }
}

void NodeChecker::On(const on::WorkerStarted& event) {
  --starts_;
  workers_.try_emplace(event.worker);
}

void NodeChecker::On(const on::WorkerStartFailed&) { --starts_; }

void NodeChecker::On(const on::WorkerLost& event) {
  const auto at = workers_.find(event.worker);
  if (at == workers_.end()) return;
  if (at->second.lease) Release(at->second);
  workers_.erase(at);
}

void NodeChecker::On(const on::WorkerBlocked& event) {
  const auto at = workers_.find(event.worker);
  if (at == workers_.end() || !at->second.lease || at->second.blocked) return;
  at->second.blocked = true;
  ++blocked_;
  free_.Add({{std::string(kCpu), at->second.lease->need.milli(kCpu)}});
}

void NodeChecker::On(const on::WorkerResumed& event) {
  const auto at = workers_.find(event.worker);
  if (at == workers_.end() || !at->second.blocked) return;
  at->second.blocked = false;
  --blocked_;
  free_.Subtract({{std::string(kCpu), at->second.lease->need.milli(kCpu)}});
}

void NodeChecker::On(const on::ArgumentsReady& event) {
  const auto at = fetches_.find(event.fetch);
  if (at != fetches_.end()) at->second.ready = true;
}

void NodeChecker::On(const on::ArgumentsFailed&) {}

// --- What the scheduler says. -----------------------------------------------

std::size_t NodeChecker::CountedWorkers() const {
  return workers_.size() - blocked_ + starts_;
}

void NodeChecker::On(const order::StartWorker&) {
  ++starts_;
  if (CountedWorkers() > truth_.workers_max) {
    Wrong("bounds", absl::StrCat(CountedWorkers(), " workers"));
  }
}

void NodeChecker::On(const order::EndWorker& command) {
  if (!workers_.contains(command.worker)) {
    Wrong("workers", "one is ended that is not there");
  }
}

void NodeChecker::On(const order::FailBlockedCall& command) {
  const auto at = workers_.find(command.worker);
  if (at == workers_.end() || !at->second.blocked) {
    Wrong("bounds", "a call fails that does not wait");
    return;
  }
  if (blocked_ <= truth_.blocked_max) {
    Wrong("bounds", "a call fails though there is room for blocked workers");
  }
  On(on::WorkerResumed{command.worker});
}

void NodeChecker::On(const order::FetchArguments& command) {
  const auto request = open_.find(command.lease);
  if (request == open_.end()) {
    Wrong("room", ToString(command.lease) + " fetches and does not wait");
    return;
  }
  Fetch& fetch = fetches_[command.fetch];
  fetch.lease = command.lease;
  fetch_of_[command.lease] = command.fetch;
  for (const LeaseArgument& each : request->second.arguments) {
    fetch.arguments.push_back(each);
    if (holders_[each.object]++ == 0) argument_bytes_ += each.bytes;
  }
  if (argument_bytes_ > truth_.store_bytes - truth_.store_bytes / 4) {
    Wrong("room", absl::StrCat("arguments take ", argument_bytes_, " bytes"));
  }
}

void NodeChecker::LetGo(const Fetch& fetch) {
  for (const LeaseArgument& each : fetch.arguments) {
    if (--holders_[each.object] > 0) continue;
    holders_.erase(each.object);
    argument_bytes_ -= each.bytes;
  }
}

void NodeChecker::On(const order::DropArguments& command) {
  const auto at = fetches_.find(command.fetch);
  if (at == fetches_.end()) {
    Wrong("room", "arguments are dropped that were not fetched");
    return;
  }
  LetGo(at->second);
  fetch_of_.erase(at->second.lease);
  fetches_.erase(at);
}

void NodeChecker::CheckArguments(const LeaseRequest& granted) {
  if (granted.arguments.empty()) return;
  const auto fetch = fetch_of_.find(granted.lease);
  if (fetch == fetch_of_.end() || !fetches_.at(fetch->second).ready) {
    Wrong("room", ToString(granted.lease) +
                      " runs before its arguments are "
                      "here");
  }
}

// Among requests that differ in nothing else, a deeper one goes first.
void NodeChecker::CheckOrder(const LeaseRequest& granted) {
  for (const auto& [lease, each] : open_) {
    if (each.depth > granted.depth && each.arguments.empty() &&
        each.need == granted.need && each.program == granted.program &&
        each.for_actor == granted.for_actor &&
        (each.host.empty() || each.host == truth_.host)) {
      Wrong("order", absl::StrCat(ToString(granted.lease), " of depth ",
                                  granted.depth, " goes before ",
                                  ToString(lease), " of depth ", each.depth));
      return;
    }
  }
}

void NodeChecker::On(const order::GrantLease& command) {
  const auto request = open_.find(command.lease);
  if (request == open_.end()) {
    Wrong("answers", ToString(command.lease) + " is granted and did not wait");
    return;
  }
  const LeaseRequest granted = std::move(request->second);
  open_.erase(request);
  const auto at = workers_.find(command.worker);
  if (at == workers_.end() || at->second.lease) {
    Wrong("workers", absl::StrCat("worker ", command.worker.value(),
                                  " is granted and not idle"));
    return;
  }
  CheckArguments(granted);
  if (thorough_) CheckOrder(granted);
  if (!free_.Hold(granted.need)) {
    Wrong("resources", absl::StrCat(ToString(granted.need), " is granted of ",
                                    ToString(free_)));
  }
  free_.Subtract(granted.need);
  at->second.lease = granted;
  at->second.granted = now_;
}

void NodeChecker::On(const order::ForwardLease& command) {
  const auto request = open_.find(command.lease);
  if (request == open_.end()) {
    Wrong("answers", ToString(command.lease) + " goes on and did not wait");
    return;
  }
  if (request->second.hops >= kHopsMax) {
    Wrong("answers", ToString(command.lease) + " is handed on too often");
  }
  if (command.node == truth_.node) {
    Wrong("answers", ToString(command.lease) + " is handed on to itself");
  }
  open_.erase(request);
}

void NodeChecker::On(const order::RefuseLease& command) {
  if (open_.erase(command.lease) == 0) {
    Wrong("answers", ToString(command.lease) + " is refused and did not wait");
  }
}

void NodeChecker::On(const order::ReclaimLease& command) {
  const auto at = workers_.find(command.worker);
  if (at == workers_.end() || !at->second.lease ||
      at->second.lease->lease != command.lease) {
    Wrong("reclaim", ToString(command.lease) + " is not a lease");
    return;
  }
  if (at->second.lease->for_actor) Wrong("reclaim", "an actor's lease");
  if (now_ < at->second.granted + truth_.lease_age) {
    Wrong("reclaim", "a lease that is not old");
  }
  if (open_.empty()) Wrong("reclaim", "and nobody waits");
}

void NodeChecker::On(const order::PublishLoad& command) {
  if (command.free.AnyNegative()) Wrong("resources", "less than nothing free");
}

void NodeChecker::AtEnd(absl::Time now, const SchedulerStatus& status) {
  now_ = now;
  for (const auto& [lease, request] : open_) {
    Wrong("answers", ToString(lease) + " has no answer");
  }
  for (const auto& [number, worker] : workers_) {
    if (!worker.lease) continue;
    Wrong("end", ToString(worker.lease->lease) + " was never returned");
  }
  if (!fetches_.empty()) Wrong("end", "arguments are still held");
  if (starts_ > 0) Wrong("end", "workers are still starting");
  if (status.free != truth_.total || status.queued > 0 || status.leased > 0) {
    Wrong("end", absl::StrCat("the scheduler believes in ", status.queued,
                              " requests, ", status.leased, " leases, free ",
                              ToString(status.free)));
  }
}

}  // namespace hoplite::task::sim
