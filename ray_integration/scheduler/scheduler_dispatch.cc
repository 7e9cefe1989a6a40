// What becomes possible after each event: fetches, grants, starts, forwards,
// reclaims.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"
#include "ray_integration/scheduler/scheduler_parts.h"

namespace hoplite::task {
namespace {

// One line of the ready queue, as far as Dispatch has gone through it.
struct Candidate {
  const LeaseShape* shape;
  absl::btree_map<ReadyKey, ReadyQueue::Entry>::const_iterator next;
  absl::btree_map<ReadyKey, ReadyQueue::Entry>::const_iterator end;
  bool stuck = false;
  bool no_idle = false;    // no worker of its program is left
  std::size_t wanted = 0;  // workers that are to be started
};

// The line whose next request is the first in the queue; nullptr at the end.
Candidate* First(std::vector<Candidate>& candidates) {
  Candidate* first = nullptr;
  for (Candidate& each : candidates) {
    if (each.stuck || each.next == each.end) continue;
    if (first == nullptr || each.next->first < first->next->first) {
      first = &each;
    }
  }
  return first;
}

// Of the resources that one wants, whether the other has any.
bool Share(const Resources& a, const Resources& b) {
  for (const Resource& each : a.amounts()) {
    if (b.milli(each.name) > 0) return true;
  }
  return false;
}

}  // namespace

void Scheduler::Parts::Settle() {
  timeout.reset();
  ExpireUnplaceable();
  PlanArguments();
  Dispatch();
  if (spill) Spill();
  spill = false;
  ExpireActors();
  ExpireRoom();
  Reclaim();
  Publish();
}

void Scheduler::Parts::WantTimeout(absl::Time when) {
  if (!timeout || when < *timeout) timeout = when;
}

void Scheduler::Parts::PlanArguments() {
  std::vector<ArgumentRoom::Change> changes;
  room.Plan(changes);
  for (const ArgumentRoom::Change& each : changes) {
    const LeaseId& id = with_arguments.at(each.key.arrival);
    if (!each.drop) {
      out->push_back(
          order::FetchArguments{each.fetch, id, room.ObjectsOf(each.key)});
      continue;
    }
    WaitingLease& lease = waiting.at(id);
    if (lease.state == WaitingLease::State::kReady) {
      ready.Remove(lease.ready, lease.shape, lease.plain());
    }
    lease.state = WaitingLease::State::kArguments;
    out->push_back(order::DropArguments{each.fetch});
  }
}

bool Scheduler::Parts::HasPlaceForActor(std::size_t promised) const {
  const std::size_t places =
      config.workers_max -
      std::min(config.workers_max, config.task_workers_min);
  return pool.actors() + promised < places;
}

// Goes through the queue in order. What fits gets an idle worker, or counts
// as given away until one has started; a request that has not fitted for long
// keeps what it needs from those after it.
void Scheduler::Parts::Dispatch() {
  stuck.clear();
  awaiting = 0;
  available = free;
  std::vector<Candidate> candidates;
  for (const auto& [shape, line] : ready.lines()) {
    candidates.push_back({&shape, line.leases.begin(), line.leases.end()});
  }
  std::vector<std::pair<LeaseId, WorkerNumber>> grants;
  std::size_t promised_actors = 0;
  while (Candidate* line = First(candidates)) {
    const LeaseShape& shape = *line->shape;
    const auto& [key, entry] = *line->next;
    const bool fits = available.Hold(shape.need);
    const bool place = !shape.for_actor || HasPlaceForActor(promised_actors);
    if (!fits || !place || awaiting >= config.workers_max) {
      stuck.push_back({shape, key, fits});
      line->stuck = true;
      const bool waits_long = now >= entry.since + config.yield_age;
      if (!fits && waits_long) available.Subtract(shape.need);
      continue;
    }
    available.Subtract(shape.need);
    promised_actors += shape.for_actor;
    ++line->next;
    std::optional<WorkerNumber> worker;
    if (!line->no_idle) worker = pool.IdleOf(shape.program);
    line->no_idle = !worker;
    if (worker) {
      pool.Lease(*worker,
                 HeldLease{.id = entry.lease, .shape = shape, .granted = now});
      grants.emplace_back(entry.lease, *worker);
      promised_actors -= shape.for_actor;
    } else {
      ++line->wanted;
      ++awaiting;
    }
  }
  std::map<std::string, std::size_t> wanted;
  for (const Candidate& each : candidates) {
    if (each.wanted > 0) wanted[each.shape->program] += each.wanted;
  }
  for (const auto& [lease, worker] : grants) Grant(lease, worker);
  StartWorkers(wanted);
  EndSurplus();
}

void Scheduler::Parts::Grant(const LeaseId& id, WorkerNumber worker) {
  const auto at = waiting.find(id);
  WaitingLease& lease = at->second;
  ready.Serve(lease.ready, lease.shape, lease.plain());
  free.Subtract(lease.shape.need);
  if (!lease.plain()) {
    room.Keep(lease.room());
    with_arguments.erase(lease.arrival);
    pool.Find(worker)->lease->arguments = lease.room();
  }
  if (!lease.shape.for_actor) reclaimable.emplace(now, worker);
  leases.emplace(id, worker);
  waiting.erase(at);
  out->push_back(order::GrantLease{id, worker});
}

void Scheduler::Parts::StartWorkers(
    const std::map<std::string, std::size_t>& wanted) {
  std::size_t without_place = 0;
  for (const auto& [program, count] : wanted) {
    for (std::size_t i = pool.starting(program); i < count; ++i) {
      const std::size_t all = pool.workers().size() + pool.starting();
      if (pool.counted() < config.workers_max &&
          all < config.workers_max + config.blocked_max) {
        out->push_back(order::StartWorker{pool.Start(program), program});
        continue;
      }
      ++without_place;
      if (pool.ending() >= without_place) continue;
      if (const auto idle = pool.IdleToEnd(program); idle) EndWorker(*idle);
    }
  }
  lacking = without_place - std::min(without_place, pool.ending());
}

// Blocked workers that have gone on may be beyond the bound.
void Scheduler::Parts::EndSurplus() {
  while (pool.counted() > config.workers_max + pool.ending()) {
    const std::optional<WorkerNumber> idle = pool.IdleToEnd("");
    if (!idle) return;
    EndWorker(*idle);
  }
}

// The table is new: what waits here in vain goes where there is something.
void Scheduler::Parts::Spill() {
  for (const Stuck& each : stuck) SpillLine(each);
  std::vector<Stuck> left;
  for (Stuck& each : stuck) {
    const auto line = ready.lines().find(each.shape);
    if (line == ready.lines().end()) continue;
    const auto from = line->second.leases.lower_bound(each.from);
    if (from == line->second.leases.end()) continue;
    each.from = from->first;
    left.push_back(std::move(each));
  }
  stuck = std::move(left);
  SpillRoom();
}

void Scheduler::Parts::SpillLine(const Stuck& line) {
  const auto& leases_of_line = ready.lines().at(line.shape).leases;
  std::vector<LeaseId> may_go;
  for (auto at = leases_of_line.lower_bound(line.from);
       at != leases_of_line.end(); ++at) {
    const LeaseId& id = at->second.lease;
    const LeaseRequest& request = waiting.at(id).request;
    if (request.hops < kHopsMax && request.host.empty()) may_go.push_back(id);
  }
  for (const LeaseId& id : may_go) {
    const auto at = waiting.find(id);
    const std::optional<NodeRef> node =
        table.TakeFree(line.shape.need, at->second.request.arguments, "");
    if (!node) return;
    Forward(id, *node);
    Remove(at);
  }
}

void Scheduler::Parts::SpillRoom() {
  std::vector<LeaseId> may_go;
  for (const RoomKey& key : room.waiting_keys()) {
    const LeaseId& id = with_arguments.at(key.arrival);
    const LeaseRequest& request = waiting.at(id).request;
    if (request.hops < kHopsMax && request.host.empty()) may_go.push_back(id);
  }
  for (const LeaseId& id : may_go) {
    const auto at = waiting.find(id);
    const LeaseRequest& request = at->second.request;
    const auto node = table.TakeFree(request.need, request.arguments, "");
    if (!node) continue;
    Forward(id, *node);
    Remove(at);
  }
}

// Actors for which there is no worker's place do not wait for ever.
void Scheduler::Parts::ExpireActors() {
  for (const Stuck& each : stuck) {
    if (!each.shape.for_actor || !each.fits || HasPlaceForActor(0)) continue;
    for (;;) {
      const auto line = ready.lines().find(each.shape);
      if (line == ready.lines().end()) break;
      const auto at = waiting.find(line->second.leases.begin()->second.lease);
      const absl::Time due = at->second.since + config.patience;
      if (now < due) {
        WantTimeout(due);
        break;
      }
      Refuse(at->first, RefuseReason::kTooManyActors,
             absl::ResourceExhaustedError(
                 absl::StrCat(pool.actors(), " actors are on ", config.host)));
      Remove(at);
    }
  }
}

// What waits for room that only blocked tasks and actors could give back would
// wait for ever: they may be waiting for it.
void Scheduler::Parts::ExpireRoom() {
  while (room.waiting() > 0) {
    const RoomKey key = *room.waiting_keys().begin();
    const auto at = waiting.find(with_arguments.at(key.arrival));
    const absl::Time due =
        std::max(at->second.since, room_checked) + config.patience;
    if (now < due) return WantTimeout(due);
    const std::size_t fetching = with_arguments.size() - room.waiting();
    if (fetching > 0 || pool.leased() > pool.blocked() + pool.actors()) {
      room_checked = now;
      return WantTimeout(now + config.patience);
    }
    Refuse(
        at->first, RefuseReason::kNoRoom,
        absl::ResourceExhaustedError(absl::StrCat(
            "the arguments of blocked tasks fill the store of ", config.host)));
    Remove(at);
  }
}

// How many wait in that line that the returned lease would not have served.
std::size_t Scheduler::Parts::WaitForOthersIn(const Stuck& each,
                                              const HeldLease& held) const {
  const auto line = ready.lines().find(each.shape);
  if (line == ready.lines().end()) return 0;
  std::size_t count = line->second.leases.size();
  if (each.shape != held.shape) return count;
  const auto own = line->second.plain.find(held.id.owner);
  return own == line->second.plain.end() ? count : count - own->second;
}

bool Scheduler::Parts::Helps(const HeldLease& held) const {
  if (held.arguments && room.waiting() > 0) return true;
  if (lacking > 0) return true;
  return std::any_of(stuck.begin(), stuck.end(), [&](const Stuck& each) {
    return (each.fits || Share(each.shape.need, held.shape.need)) &&
           WaitForOthersIn(each, held) > 0;
  });
}

void Scheduler::Parts::Reclaim() {
  const std::size_t waits = ready.size() - std::min(ready.size(), awaiting) +
                            lacking + room.waiting();
  if (waits == 0) return;
  for (auto at = reclaimable.begin();
       at != reclaimable.end() && reclaims < waits;) {
    const auto [granted, number] = *at;
    if (now < granted + config.lease_age) {
      return WantTimeout(granted + config.lease_age);
    }
    PooledWorker& worker = *pool.Find(number);
    if (worker.blocked || worker.ending || !Helps(*worker.lease)) {
      ++at;
      continue;
    }
    worker.lease->reclaimed = true;
    ++reclaims;
    out->push_back(order::ReclaimLease{worker.lease->id, number});
    at = reclaimable.erase(at);
  }
}

void Scheduler::Parts::Publish() {
  order::PublishLoad load{
      {}, config.total, static_cast<std::uint32_t>(waiting.size())};
  for (const Resource& each : available.amounts()) {
    if (each.milli > 0) load.free.Set(each.name, each.milli);
  }
  if (publisher.Due(now, load)) {
    out->push_back(std::move(load));
  } else if (publisher.next()) {
    WantTimeout(*publisher.next());
  }
}

}  // namespace hoplite::task
