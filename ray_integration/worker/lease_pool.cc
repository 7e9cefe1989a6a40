#include "ray_integration/worker/lease_pool.h"

#include <algorithm>
#include <utility>

#include "hoplite/base/check.h"
#include "ray_integration/wire/pack.h"

namespace hoplite::task {
namespace {

// What is sent ahead to a worker takes about so long.
constexpr std::uint32_t kAheadMicros = 1000;
constexpr std::size_t kAheadMax = 256;
// Who runs one task for so long hands back what it has not begun.
constexpr absl::Duration kAheadPatience = absl::Milliseconds(3);
// An idle lease is kept so long.
constexpr absl::Duration kIdleKept = absl::Milliseconds(100);
// Requests of one group that are under way.
constexpr std::size_t kRequestsMax = 64;
// A task that took longer counts as one of this length.
constexpr std::uint32_t kMicrosMax = 1'000'000;
// A full queue is asked again after this long.
constexpr absl::Duration kRefusedPause = absl::Milliseconds(100);

bool Covers(const ProcessId& ended, const ProcessId& process) {
  return ended.node == process.node &&
         (!ended.worker || ended.worker == process.worker);
}

}  // namespace

std::string LeasePool::KeyOf(const Task& task) {
  std::string key;
  Pack(task.info.depth, key);
  Pack(task.resources, key);
  Pack(task.host, key);
  Pack(task.spread, key);
  // An actor has its worker for itself.
  if (task.info.creates) Pack(task.info.result, key);
  for (const ArgumentInfo& argument : task.info.arguments) {
    if (argument.reference.id != ObjectId()) {
      Pack(argument.reference.id, key);
    }
  }
  return key;
}

void LeasePool::Enqueue(const TaskPtr& task) {
  HOPLITE_CHECK(task->phase != TaskPhase::kSent);
  const std::string key = KeyOf(*task);
  Group& group = groups_[key];
  if (group.key.empty()) group.key = key;
  group.actor = task->info.creates;
  task->phase = TaskPhase::kQueued;
  task->queued_at = surroundings_.Now();
  group.queue.push_back(task);
  Pump(group);
}

void LeasePool::Remove(const TaskPtr& task) {
  const auto it = groups_.find(KeyOf(*task));
  if (it == groups_.end()) return;
  std::erase(it->second.queue, task);
  Pump(it->second);
}

std::size_t LeasePool::WindowOf(const Lease& lease) {
  if (lease.reclaimed || lease.asked_back) return 0;
  if (lease.group->actor || !lease.micros.has_value()) return 1;
  return std::clamp<std::size_t>(kAheadMicros / (*lease.micros + 1), 1,
                                 kAheadMax);
}

LeasePool::Lease* LeasePool::FreestOf(Group& group) {
  Lease* freest = nullptr;
  for (const std::uint64_t number : group.leases) {
    Lease& lease = leases_.at(number);
    if (lease.sent.size() >= WindowOf(lease)) continue;
    if (freest == nullptr || lease.sent.size() < freest->sent.size()) {
      freest = &lease;
    }
  }
  return freest;
}

void LeasePool::Pump(Group& group) {
  while (!group.queue.empty()) {
    Lease* lease = FreestOf(group);
    if (lease == nullptr) break;
    const TaskPtr task = std::move(group.queue.front());
    group.queue.pop_front();
    task->phase = TaskPhase::kSent;
    task->worker = lease->worker;
    task->lease = lease->number;
    task->sent_at = surroundings_.Now();
    lease->sent.push_back(task);
    if (lease->sent.size() == 2) Wake(kAheadPatience);
    calls_.push(task);
  }
  if (group.queue.empty()) {
    WithdrawAll(group);
    EraseIfIdle(group);
  } else {
    AskForLeases(group);
  }
}

void LeasePool::AskForLeases(Group& group) {
  if (surroundings_.Now() < group.not_before) {
    surroundings_.WakeAt(group.not_before);
    return;
  }
  group.not_before = absl::InfinitePast();
  const std::size_t wanted = std::min(group.queue.size(), kRequestsMax);
  while (group.requests.size() < wanted) {
    const std::uint64_t number = next_number_++;
    group.requests.insert(number);
    Request& request = requests_[number];
    request = {.group = &group,
               .asked = surroundings_.home(),
               .made = surroundings_.Now()};
    Ask(number, request);
  }
}

void LeasePool::Ask(std::uint64_t number, const Request& request) {
  const Task& task = *request.group->queue.front();
  surroundings_.SendAgent(
      request.asked, message::LeaseRequest{.number = number,
                                           .resources = task.resources,
                                           .depth = task.info.depth,
                                           .arguments = calls_.arguments(task),
                                           .host = task.host,
                                           .spread = task.spread,
                                           .actor = task.info.creates,
                                           .hops = request.hops});
}

void LeasePool::WithdrawAll(Group& group) {
  for (const std::uint64_t number : group.requests) {
    const auto it = requests_.find(number);
    surroundings_.SendAgent(it->second.asked,
                            message::LeaseWithdraw{.number = number});
    requests_.erase(it);
  }
  group.requests.clear();
}

void LeasePool::EraseIfIdle(Group& group) {
  if (group.queue.empty() && group.leases.empty() && group.requests.empty()) {
    groups_.erase(std::string(group.key));
  }
}

void LeasePool::OnGranted(const NodeInfo& from,
                          const message::LeaseGranted& granted) {
  const auto it = requests_.find(granted.number);
  if (it == requests_.end()) {  // withdrawn meanwhile
    surroundings_.SendAgent(
        from, message::LeaseReturn{.worker = granted.worker.process.worker});
    return;
  }
  Group& group = *it->second.group;
  group.requests.erase(granted.number);
  requests_.erase(it);
  leases_[granted.number] = {.number = granted.number,
                             .worker = granted.worker,
                             .node = from,
                             .group = &group,
                             .idle_since = surroundings_.Now()};
  group.leases.insert(granted.number);
  by_worker_[granted.worker.process] = granted.number;
  Wake(kIdleKept);
  Pump(group);
}

void LeasePool::OnForwarded(const message::LeaseForwarded& forwarded) {
  const auto it = requests_.find(forwarded.number);
  if (it == requests_.end()) return;
  it->second.asked = forwarded.to;
  ++it->second.hops;
  Ask(forwarded.number, it->second);
}

void LeasePool::OnRefused(const message::LeaseRefused& refused) {
  const auto it = requests_.find(refused.number);
  if (it == requests_.end()) return;
  Group& group = *it->second.group;
  const absl::Time made = it->second.made;
  group.requests.erase(refused.number);
  requests_.erase(it);
  const absl::Status why = ToStatus(refused.error);
  // Its queue is full, or there is a worker that does run them: later.
  if (absl::IsUnavailable(why) || !group.leases.empty()) {
    group.not_before = surroundings_.Now() + kRefusedPause;
    Wake(kRefusedPause);
    return;
  }
  // Those that have waited as long as the request; others ask for themselves.
  std::vector<TaskPtr> failed;
  std::erase_if(group.queue, [&](const TaskPtr& task) {
    if (task->queued_at > made) return false;
    failed.push_back(task);
    return true;
  });
  Pump(group);
  for (const TaskPtr& task : failed) calls_.fail(task, why);
}

void LeasePool::OnReclaim(const NodeInfo& from, const WorkerNumber& worker) {
  const auto it =
      by_worker_.find(ProcessId{.node = from.node, .worker = worker});
  if (it == by_worker_.end()) return;
  Lease& lease = leases_.at(it->second);
  if (lease.group->actor) return;
  lease.reclaimed = true;
  if (lease.sent.empty()) {
    Return(lease.number);
  } else if (lease.sent.size() > 1 && !std::exchange(lease.asked_back, true)) {
    surroundings_.Send(lease.worker, message::ReturnTasks{});
  }
}

void LeasePool::Return(std::uint64_t number) {
  const auto it = leases_.find(number);
  Lease& lease = it->second;
  HOPLITE_CHECK(lease.sent.empty());
  Group& group = *lease.group;
  surroundings_.SendAgent(
      lease.node, message::LeaseReturn{.worker = lease.worker.process.worker});
  by_worker_.erase(lease.worker.process);
  group.leases.erase(number);
  leases_.erase(it);
  Pump(group);
}

void LeasePool::Answered(const Task& task, std::uint32_t micros) {
  const auto it = leases_.find(task.lease);
  if (it == leases_.end()) return;
  Lease& lease = it->second;
  // Mostly the first.
  const auto sent =
      std::find_if(lease.sent.begin(), lease.sent.end(),
                   [&](const TaskPtr& one) { return one.get() == &task; });
  if (sent == lease.sent.end()) return;
  lease.sent.erase(sent);
  micros = std::min(micros, kMicrosMax);
  lease.micros =
      lease.micros.has_value() ? (3 * *lease.micros + micros) / 4 : micros;
  if (lease.sent.empty()) {
    lease.idle_since = surroundings_.Now();
    lease.asked_back = false;  // there was nothing left to hand back
    if (lease.reclaimed) {
      Return(lease.number);
      return;
    }
    Wake(kIdleKept);
  } else {
    lease.sent.front()->sent_at = surroundings_.Now();
  }
  Pump(*lease.group);
}

void LeasePool::OnReturned(const ProcessId& worker,
                           const std::vector<ObjectId>& results) {
  const auto it = by_worker_.find(worker);
  if (it == by_worker_.end()) return;
  Lease& lease = leases_.at(it->second);
  lease.asked_back = false;
  lease.micros = kAheadMicros;  // one at a time, until it is quick again
  std::vector<TaskPtr> cancelled;
  for (auto result = results.rbegin(); result != results.rend(); ++result) {
    const auto sent = std::find_if(
        lease.sent.begin(), lease.sent.end(),
        [&](const TaskPtr& one) { return one->info.result == *result; });
    if (sent == lease.sent.end()) continue;
    const TaskPtr task = *sent;
    lease.sent.erase(sent);
    task->phase = TaskPhase::kQueued;
    task->queued_at = surroundings_.Now();
    if (task->cancelled) {
      cancelled.push_back(task);
    } else {
      lease.group->queue.push_front(task);
    }
  }
  if (lease.sent.empty()) lease.idle_since = surroundings_.Now();
  if (lease.sent.empty() && lease.reclaimed) {
    Return(lease.number);
  } else {
    Pump(*lease.group);
  }
  for (const TaskPtr& task : cancelled) {
    calls_.fail(task, absl::CancelledError("it was cancelled before it began"));
  }
}

std::vector<TaskPtr> LeasePool::TakeTasksOf(const ProcessId& ended) {
  std::vector<TaskPtr> taken;
  std::vector<Group*> touched;
  for (auto it = leases_.begin(); it != leases_.end();) {
    Lease& lease = it->second;
    if (!Covers(ended, lease.worker.process)) {
      ++it;
      continue;
    }
    for (const TaskPtr& task : lease.sent) {
      task->phase = TaskPhase::kWaiting;
      taken.push_back(task);
    }
    by_worker_.erase(lease.worker.process);
    lease.group->leases.erase(lease.number);
    touched.push_back(lease.group);
    it = leases_.erase(it);
  }
  // A group may be erased by its own Pump, hence once each.
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  for (Group* group : touched) Pump(*group);
  return taken;
}

void LeasePool::OnAgentLost(const NodeRef& node) {
  for (auto& [number, request] : requests_) {
    if (request.asked.node != node) continue;
    request.asked = surroundings_.home();
    request.hops = 0;
    Ask(number, request);
  }
}

void LeasePool::EndWorkerOf(const Task& task) { EndLease(task.lease); }

void LeasePool::EndWorker(const ProcessId& worker) {
  const auto it = by_worker_.find(worker);
  if (it != by_worker_.end()) EndLease(it->second);
}

void LeasePool::EndLease(std::uint64_t number) {
  const auto it = leases_.find(number);
  if (it == leases_.end()) return;
  surroundings_.SendAgent(
      it->second.node,
      message::EndWorker{.worker = it->second.worker.process.worker});
}

void LeasePool::OnTimer(absl::Time now) {
  std::vector<std::uint64_t> idle;
  for (auto& [number, lease] : leases_) {
    if (lease.sent.empty() && !lease.group->actor) {
      if (now - lease.idle_since >= kIdleKept) {
        idle.push_back(number);
      } else {
        surroundings_.WakeAt(lease.idle_since + kIdleKept);
      }
    }
    if (lease.sent.size() < 2) continue;
    if (now - lease.sent.front()->sent_at < kAheadPatience) {
      Wake(kAheadPatience);
    } else if (!std::exchange(lease.asked_back, true)) {
      surroundings_.Send(lease.worker, message::ReturnTasks{});
    }
  }
  for (const std::uint64_t number : idle) Return(number);
  std::vector<Group*> paused;
  for (auto& [key, group] : groups_) {
    if (!group.queue.empty() && group.not_before != absl::InfinitePast()) {
      paused.push_back(&group);
    }
  }
  for (Group* group : paused) Pump(*group);
}

void LeasePool::Wake(absl::Duration after) {
  surroundings_.WakeAt(surroundings_.Now() + after);
}

}  // namespace hoplite::task
