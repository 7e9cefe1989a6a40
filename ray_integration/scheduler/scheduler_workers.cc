// Workers: their starts and ends, and the leases that they are under.

#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"
#include "ray_integration/scheduler/scheduler_parts.h"

namespace hoplite::task {
namespace {

// Of failures in a row; programs come and go.
constexpr std::size_t kFailingProgramsMax = 1000;

}  // namespace

void Scheduler::Parts::EndLease(WorkerNumber number) {
  const bool blocked = pool.Find(number)->blocked;
  HeldLease lease = pool.EndLease(number);
  free.Add(blocked ? lease.shape.need.Without(kCpu) : lease.shape.need);
  leases.erase(lease.id);
  reclaimable.erase({lease.granted, number});
  if (lease.reclaimed) --reclaims;
  ReleaseArguments(lease);
}

void Scheduler::Parts::ReleaseArguments(HeldLease& lease) {
  if (!lease.arguments) return;
  out->push_back(order::DropArguments{room.Remove(*lease.arguments)});
  lease.arguments.reset();
}

void Scheduler::Parts::EndWorker(WorkerNumber number) {
  if (pool.Find(number)->ending) return;
  pool.SetEnding(number, true);
  out->push_back(order::EndWorker{number});
}

void Scheduler::Parts::On(const on::LeaseReturned& event) {
  const auto at = leases.find(event.lease);
  if (at == leases.end() || at->second != event.worker) return;
  EndLease(event.worker);
}

void Scheduler::Parts::On(const on::WorkerStarted& event) {
  const auto started = pool.EndStart(event.start);
  if (!started || !pool.Add(event.worker, started->first)) return;
  start_failures.erase(started->first);
  if (!started->second) EndWorker(event.worker);
}

void Scheduler::Parts::On(const on::WorkerStartFailed& event) {
  const auto started = pool.EndStart(event.start);
  if (!started || !started->second) return;
  if (start_failures.size() >= kFailingProgramsMax) start_failures.clear();
  std::uint32_t& failures = start_failures[started->first];
  if (++failures < config.start_failures_max) return;
  start_failures.erase(started->first);
  RefuseProgram(started->first, event.why);
}

void Scheduler::Parts::RefuseProgram(const std::string& program,
                                     const absl::Status& why) {
  for (auto at = waiting.begin(); at != waiting.end();) {
    if (at->second.request.program != program) {
      ++at;
      continue;
    }
    Refuse(at->first, RefuseReason::kProgramFails, why);
    at = Remove(at);
  }
}

void Scheduler::Parts::On(const on::WorkerLost& event) {
  const PooledWorker* worker = pool.Find(event.worker);
  if (worker == nullptr) return;
  if (worker->lease) EndLease(event.worker);
  pool.Remove(event.worker);
}

void Scheduler::Parts::On(const on::WorkerBlocked& event) {
  const PooledWorker* worker = pool.Find(event.worker);
  if (worker == nullptr || !worker->lease || worker->blocked) return;
  if (pool.blocked() >= config.blocked_max) {
    out->push_back(order::FailBlockedCall{event.worker});
    return;
  }
  const Resources& need = worker->lease->shape.need;
  free.Add({{std::string(kCpu), need.milli(kCpu)}});
  pool.SetBlocked(event.worker, true);
}

void Scheduler::Parts::On(const on::WorkerResumed& event) {
  const PooledWorker* worker = pool.Find(event.worker);
  if (worker == nullptr || !worker->lease || !worker->blocked) return;
  const Resources& need = worker->lease->shape.need;
  free.Subtract({{std::string(kCpu), need.milli(kCpu)}});
  pool.SetBlocked(event.worker, false);
}

void Scheduler::Parts::On(const on::WorkerOwns& event) {
  const PooledWorker* worker = pool.Find(event.worker);
  if (worker == nullptr) return;
  pool.SetOwns(event.worker, event.owns);
  // Instead of WorkerLost: an idle one has stayed for what it owns.
  if (event.owns && worker->ending && !worker->lease) {
    pool.SetEnding(event.worker, false);
  }
}

void Scheduler::Parts::On(const on::ProgramEnded& event) {
  pool.ForgetStarts(event.program);
  start_failures.erase(event.program);
  RefuseProgram(event.program,
                absl::CancelledError(
                    absl::StrCat("the driver of ", event.program, " is gone")));
  for (const auto& [number, worker] : pool.workers()) {
    if (worker.program == event.program && !worker.lease) EndWorker(number);
  }
}

}  // namespace hoplite::task
