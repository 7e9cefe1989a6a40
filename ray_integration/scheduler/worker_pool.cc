#include "ray_integration/scheduler/worker_pool.h"

#include <functional>

#include "hoplite/base/check.h"

namespace hoplite::task {
namespace {

bool IsIdle(const PooledWorker& worker) {
  return !worker.lease && !worker.ending;
}

// Blocked workers, and idle ones that have to stay, have bounds of their own.
bool IsCounted(const PooledWorker& worker) {
  return !worker.blocked && !(IsIdle(worker) && worker.owns);
}

}  // namespace

StartId WorkerPool::Start(const std::string& program) {
  last_start_ = last_start_.Next();
  starts_.emplace(last_start_, StartState{program});
  ++wanted_starts_[program];
  return last_start_;
}

std::optional<std::pair<std::string, bool>> WorkerPool::EndStart(
    StartId start) {
  const auto at = starts_.find(start);
  if (at == starts_.end()) return std::nullopt;
  const StartState state = std::move(at->second);
  starts_.erase(at);
  if (state.wanted) {
    const auto count = wanted_starts_.find(state.program);
    if (--count->second == 0) wanted_starts_.erase(count);
  }
  return std::pair(state.program, state.wanted);
}

void WorkerPool::ForgetStarts(absl::string_view program) {
  for (auto& [start, state] : starts_) {
    if (state.program == program) state.wanted = false;
  }
  wanted_starts_.erase(std::string(program));
}

std::size_t WorkerPool::starting(absl::string_view program) const {
  const auto at = wanted_starts_.find(std::string(program));
  return at == wanted_starts_.end() ? 0 : at->second;
}

void WorkerPool::Count(WorkerNumber number, const PooledWorker& worker,
                       int by) {
  const auto add = [by](std::size_t& count, bool holds) {
    if (holds) count += static_cast<std::size_t>(by);
  };
  add(counted_, IsCounted(worker));
  add(leased_, worker.lease.has_value());
  add(blocked_, worker.blocked);
  add(actors_, worker.lease && worker.lease->shape.for_actor);
  add(ending_, worker.ending && IsCounted(worker));
  add(idle_count_, IsIdle(worker));
  if (!IsIdle(worker)) return;
  if (by > 0) {
    idle_[worker.program].emplace(worker.idle_since, number);
    return;
  }
  const auto line = idle_.find(worker.program);
  HOPLITE_CHECK(line != idle_.end());
  line->second.erase({worker.idle_since, number});
  if (line->second.empty()) idle_.erase(line);
}

bool WorkerPool::Add(WorkerNumber number, const std::string& program) {
  const auto [at, added] = workers_.try_emplace(number);
  if (!added) return false;
  at->second.program = program;
  at->second.idle_since = ++idle_clock_;
  Count(number, at->second, +1);
  return true;
}

void WorkerPool::Remove(WorkerNumber number) {
  Count(number, workers_.at(number), -1);
  workers_.erase(number);
}

void WorkerPool::Lease(WorkerNumber number, HeldLease lease) {
  PooledWorker& worker = workers_.at(number);
  HOPLITE_CHECK(IsIdle(worker));
  Count(number, worker, -1);
  worker.lease = std::move(lease);
  Count(number, worker, +1);
}

HeldLease WorkerPool::EndLease(WorkerNumber number) {
  PooledWorker& worker = workers_.at(number);
  HOPLITE_CHECK(worker.lease.has_value());
  Count(number, worker, -1);
  HeldLease lease = *std::move(worker.lease);
  worker.lease.reset();
  worker.blocked = false;
  worker.idle_since = ++idle_clock_;
  Count(number, worker, +1);
  return lease;
}

void WorkerPool::SetBlocked(WorkerNumber number, bool blocked) {
  PooledWorker& worker = workers_.at(number);
  HOPLITE_CHECK(worker.lease.has_value());
  Count(number, worker, -1);
  worker.blocked = blocked;
  Count(number, worker, +1);
}

void WorkerPool::SetOwns(WorkerNumber number, bool owns) {
  PooledWorker& worker = workers_.at(number);
  Count(number, worker, -1);
  worker.owns = owns;
  Count(number, worker, +1);
}

void WorkerPool::SetEnding(WorkerNumber number, bool ending) {
  PooledWorker& worker = workers_.at(number);
  Count(number, worker, -1);
  worker.ending = ending;
  Count(number, worker, +1);
}

PooledWorker* WorkerPool::Find(WorkerNumber number) {
  const auto at = workers_.find(number);
  return at == workers_.end() ? nullptr : &at->second;
}

std::optional<WorkerNumber> WorkerPool::IdleOf(
    const std::string& program) const {
  const auto line = idle_.find(program);
  if (line == idle_.end()) return std::nullopt;
  return line->second.rbegin()->second;
}

std::optional<WorkerNumber> WorkerPool::IdleToEnd(
    absl::string_view not_of) const {
  std::optional<std::pair<std::uint64_t, WorkerNumber>> oldest;
  for (const auto& [program, line] : idle_) {
    if (program == not_of) continue;
    for (const auto& each : line) {
      if (workers_.at(each.second).owns) continue;
      if (!oldest || each < *oldest) oldest = each;
      break;
    }
  }
  if (!oldest) return std::nullopt;
  return oldest->second;
}

std::string WorkerPool::CheckInvariants() const {
  std::size_t counted = 0, leased = 0, blocked = 0, idle = 0;
  for (const auto& [number, worker] : workers_) {
    if (worker.blocked && !worker.lease) return "an idle worker is blocked";
    counted += IsCounted(worker);
    leased += worker.lease.has_value();
    blocked += worker.blocked;
    idle += IsIdle(worker);
  }
  if (counted != counted_ || leased != leased_ || blocked != blocked_ ||
      idle != idle_count_) {
    return "the workers are counted wrongly";
  }
  return "";
}

}  // namespace hoplite::task
