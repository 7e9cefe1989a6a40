// Requests: where each goes, and what becomes of those that wait.

#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"
#include "ray_integration/scheduler/scheduler_parts.h"

namespace hoplite::task {
namespace {

// Empty where a request may be taken up, else what is wrong with it.
std::string WhatIsInvalid(const LeaseRequest& request) {
  if (!request.lease || !request.lease.owner) return "it names no owner";
  if (request.hops > kHopsMax) return "it was handed on too often";
  if (request.need.AnyNegative()) return "it needs less than nothing";
  if (request.need.amounts().size() > kResourceKindsMax) {
    return absl::StrCat("it names more than ", kResourceKindsMax, " resources");
  }
  if (request.arguments.size() > kArgumentsMax) {
    return absl::StrCat("it has more than ", kArgumentsMax, " arguments");
  }
  return "";
}

}  // namespace

void Scheduler::Parts::On(const on::LeaseRequested& event) {
  const LeaseRequest& request = event.request;
  const LeaseId& lease = request.lease;
  if (waiting.contains(lease) || leases.contains(lease)) return;
  if (lost.Contains(lease.owner)) return;
  if (const std::string wrong = WhatIsInvalid(request); !wrong.empty()) {
    Refuse(lease, RefuseReason::kInvalid, absl::InvalidArgumentError(wrong));
    return;
  }
  const Place place = Choose(request);
  if (place.kind == Place::Kind::kThere) {
    Forward(lease, place.node);
  } else if (place.kind == Place::Kind::kRefused ||
             waiting.size() >= config.queued_max) {
    Refuse(lease, RefuseReason::kQueueFull,
           absl::ResourceExhaustedError(absl::StrCat(
               waiting.size(), " requests wait on ", config.host)));
  } else {
    Enter(request, place.kind == Place::Kind::kNowhere);
  }
}

// The node with free resources that holds most of the arguments' bytes, else
// one that could take it; nullopt where there is none, or it may not go on.
std::optional<NodeRef> Scheduler::Parts::ChooseOther(
    const LeaseRequest& request) {
  if (request.hops >= kHopsMax) return std::nullopt;
  std::optional<NodeRef> node =
      table.TakeFree(request.need, request.arguments, request.host);
  if (!node) node = table.TakeAny(request.need, request.host, UINT32_MAX);
  return node;
}

Scheduler::Parts::Place Scheduler::Parts::Choose(const LeaseRequest& request) {
  const bool could = config.total.Hold(request.need);
  const bool anywhere = request.host.empty();
  if (could && !anywhere && request.host == config.host) return {};
  if (could && anywhere) return ChooseAmongAll(request);
  const std::optional<NodeRef> node = ChooseOther(request);
  if (!node) return {.kind = Place::Kind::kNowhere};
  return {Place::Kind::kThere, *node};
}

// Of a request that this node could take, and others too.
Scheduler::Parts::Place Scheduler::Parts::ChooseAmongAll(
    const LeaseRequest& request) {
  if (request.spread && request.hops == 0) {
    if (spread_turn++ % (table.size() + 1) == 0) return {};
    const std::optional<NodeRef> node = ChooseOther(request);
    return node ? Place{Place::Kind::kThere, *node} : Place{};
  }
  const bool full = waiting.size() >= config.queued_max;
  const bool place = !request.for_actor || HasPlaceForActor(0);
  if (!full && place && available.Hold(request.need)) return {};
  if (request.hops < kHopsMax) {
    std::optional<NodeRef> node =
        table.TakeFree(request.need, request.arguments, "");
    if (!node && full) {
      node = table.TakeAny(request.need, "", config.queued_max / 2);
    }
    if (node) return {Place::Kind::kThere, *node};
  }
  return {.kind = full ? Place::Kind::kRefused : Place::Kind::kHere};
}

void Scheduler::Parts::Enter(const LeaseRequest& request, bool nowhere) {
  if (!nowhere && !room.CouldHold(request.arguments)) {
    Refuse(request.lease, RefuseReason::kNoRoom,
           absl::ResourceExhaustedError(absl::StrCat(
               "the arguments are larger than three quarters of the store of ",
               config.host, ", which has ", config.store_bytes, " bytes")));
    return;
  }
  WaitingLease& lease = waiting[request.lease];
  lease.request = request;
  lease.shape = {request.program, request.need, request.for_actor};
  lease.arrival = ++last_arrival;
  lease.since = now;
  if (nowhere) {
    unplaceable.emplace(lease.arrival, request.lease);
  } else if (lease.plain()) {
    MakeReady(lease);
  } else {
    lease.state = WaitingLease::State::kArguments;
    with_arguments.emplace(lease.arrival, request.lease);
    room.Add(lease.room(), request.arguments);
  }
}

void Scheduler::Parts::MakeReady(WaitingLease& lease) {
  lease.state = WaitingLease::State::kReady;
  lease.ready = ready.Add(now, lease.request.lease, lease.shape,
                          lease.request.depth, lease.arrival, lease.plain());
}

Scheduler::Parts::Waiting::iterator Scheduler::Parts::Remove(
    Waiting::iterator at) {
  const WaitingLease& lease = at->second;
  if (lease.state == WaitingLease::State::kReady) {
    ready.Remove(lease.ready, lease.shape, lease.plain());
  }
  if (lease.state == WaitingLease::State::kUnplaceable) {
    unplaceable.erase(lease.arrival);
  } else if (!lease.plain()) {
    const FetchId fetch = room.Remove(lease.room());
    with_arguments.erase(lease.arrival);
    if (fetch) out->push_back(order::DropArguments{fetch});
  }
  return waiting.erase(at);
}

void Scheduler::Parts::Forward(const LeaseId& lease, const NodeRef& node) {
  out->push_back(order::ForwardLease{lease, node});
}

void Scheduler::Parts::Refuse(const LeaseId& lease, RefuseReason reason,
                              absl::Status why) {
  out->push_back(order::RefuseLease{lease, reason, std::move(why)});
}

void Scheduler::Parts::On(const on::LeaseWithdrawn& event) {
  const auto at = waiting.find(event.lease);
  if (at != waiting.end()) Remove(at);
}

// Drops the requests of all processes of [first, last], and ends their
// workers.
void Scheduler::Parts::Lose(const ProcessId& first, const ProcessId& last) {
  auto at = waiting.lower_bound(LeaseId{first, 0});
  while (at != waiting.end() && at->first.owner <= last) at = Remove(at);
  for (auto held = leases.lower_bound(LeaseId{first, 0});
       held != leases.end() && held->first.owner <= last; ++held) {
    EndWorker(held->second);
  }
}

void Scheduler::Parts::On(const on::OwnerLost& event) {
  lost.Add(event.owner);
  Lose(event.owner, event.owner);
}

void Scheduler::Parts::On(const on::NodeLost& event) {
  lost.Add(event.node);
  table.Forget(event.node);
  Lose({event.node, WorkerNumber()}, {event.node, WorkerNumber(UINT32_MAX)});
}

void Scheduler::Parts::On(const on::NodesChanged& event) {
  table.Replace(event.nodes);
  spill = true;
  RetryUnplaceable();
}

void Scheduler::Parts::RetryUnplaceable() {
  for (auto at = unplaceable.begin(); at != unplaceable.end();) {
    const auto lease = waiting.find(at->second);
    ++at;
    const std::optional<NodeRef> node = ChooseOther(lease->second.request);
    if (!node) continue;
    Forward(lease->first, *node);
    Remove(lease);
  }
}

void Scheduler::Parts::ExpireUnplaceable() {
  while (!unplaceable.empty()) {
    const auto at = waiting.find(unplaceable.begin()->second);
    const LeaseRequest& request = at->second.request;
    const absl::Time due = at->second.since + config.patience;
    if (now < due) return WantTimeout(due);
    if (!request.host.empty() && request.host != config.host &&
        !table.HasHost(request.host)) {
      Refuse(at->first, RefuseReason::kNoSuchHost,
             absl::UnavailableError(
                 absl::StrCat("no living node is host ", request.host)));
    } else {
      Refuse(at->first, RefuseReason::kNoSuchResources,
             absl::FailedPreconditionError(absl::StrCat(
                 "no node has ", ToString(request.need),
                 request.host.empty() ? "" : " on host ", request.host)));
    }
    Remove(at);
  }
}

void Scheduler::Parts::On(const on::ArgumentsReady& event) {
  const RoomKey* key = room.Find(event.fetch);
  if (key == nullptr) return;
  WaitingLease& lease = waiting.at(with_arguments.at(key->arrival));
  if (lease.state == WaitingLease::State::kArguments) MakeReady(lease);
}

void Scheduler::Parts::On(const on::ArgumentsFailed& event) {
  const RoomKey* key = room.Find(event.fetch);
  if (key == nullptr) return;
  const auto at = waiting.find(with_arguments.at(key->arrival));
  if (at->second.state != WaitingLease::State::kArguments) return;
  Refuse(at->first, RefuseReason::kArgumentsFailed, event.why);
  Remove(at);
}

void Scheduler::Parts::On(const on::ArgumentsUsed& event) {
  const auto at = leases.find(event.lease);
  if (at == leases.end()) return;
  ReleaseArguments(*pool.Find(at->second)->lease);
}

}  // namespace hoplite::task
