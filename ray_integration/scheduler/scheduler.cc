#include "ray_integration/scheduler/scheduler.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "hoplite/base/check.h"
#include "ray_integration/scheduler/scheduler_parts.h"

namespace hoplite::task {

Scheduler::Parts::Parts(SchedulerConfig options)
    : config(std::move(options)),
      free(config.total),
      available(config.total),
      room(config.store_bytes),
      table(config.node),
      publisher(config.load_interval, config.load_interval_min) {
  HOPLITE_CHECK(static_cast<bool>(config.node));
  HOPLITE_CHECK(!config.total.AnyNegative());
  HOPLITE_CHECK(config.queued_max > 0 && config.workers_max > 0);
  HOPLITE_CHECK(config.start_failures_max > 0);
}

Scheduler::Scheduler(SchedulerConfig config)
    : parts_(std::make_unique<Parts>(std::move(config))) {}
Scheduler::~Scheduler() = default;
Scheduler::Scheduler(Scheduler&&) noexcept = default;

void Scheduler::Handle(absl::Time now, const SchedulerEvent& event,
                       SchedulerCommands& out) {
  HOPLITE_CHECK(now >= parts_->now);
  parts_->now = now;
  parts_->out = &out;
  std::visit([this](const auto& each) { parts_->On(each); }, event);
  parts_->Settle();
  parts_->out = nullptr;
}

void Scheduler::HandleTimeout(absl::Time now, SchedulerCommands& out) {
  HOPLITE_CHECK(now >= parts_->now);
  parts_->now = now;
  parts_->out = &out;
  parts_->Settle();
  parts_->out = nullptr;
}

std::optional<absl::Time> Scheduler::NextTimeout() const {
  return parts_->timeout;
}

SchedulerStatus Scheduler::Status() const {
  const Parts& parts = *parts_;
  const auto count = [](std::size_t value) {
    return static_cast<std::uint32_t>(value);
  };
  return {.free = parts.free,
          .total = parts.config.total,
          .queued = count(parts.waiting.size()),
          .unplaceable = count(parts.unplaceable.size()),
          .awaiting_room = count(parts.room.waiting()),
          .fetching = count(parts.waiting.size() - parts.unplaceable.size() -
                            parts.ready.size() - parts.room.waiting()),
          .starting = count(parts.pool.starting()),
          .idle = count(parts.pool.idle()),
          .leased = count(parts.pool.leased()),
          .blocked = count(parts.pool.blocked()),
          .actors = count(parts.pool.actors()),
          .argument_bytes = parts.room.bytes()};
}

std::string Scheduler::CheckInvariants() const {
  return parts_->CheckInvariants();
}

std::string Scheduler::Parts::CheckInvariants() const {
  for (std::string wrong : {room.CheckInvariants(), pool.CheckInvariants()}) {
    if (!wrong.empty()) return wrong;
  }
  Resources used;
  std::size_t leased = 0, asked = 0;
  for (const auto& [number, worker] : pool.workers()) {
    if (!worker.lease) continue;
    const HeldLease& lease = *worker.lease;
    used.Add(worker.blocked ? lease.shape.need.Without(kCpu)
                            : lease.shape.need);
    ++leased;
    asked += lease.reclaimed;
    const auto at = leases.find(lease.id);
    if (at == leases.end() || at->second != number) {
      return ToString(lease.id) + " is not known to be granted";
    }
  }
  used.Add(free);
  if (used != config.total) return "what is free and used is not the total";
  if (leased != leases.size()) return "a lease has no worker";
  if (asked != reclaims) return "the reclaims are counted wrongly";
  if (waiting.size() > config.queued_max) return "the queue is too long";
  std::size_t ready_count = 0, unplaceable_count = 0;
  for (const auto& [lease, each] : waiting) {
    ready_count += each.state == WaitingLease::State::kReady;
    unplaceable_count += each.state == WaitingLease::State::kUnplaceable;
    if (leases.contains(lease))
      return ToString(lease) + " waits and is granted";
  }
  if (ready_count != ready.size() || unplaceable_count != unplaceable.size()) {
    return "the requests that wait are counted wrongly";
  }
  return "";
}

}  // namespace hoplite::task
