#include "ray_integration/scheduler/testing/scheduler_driver.h"

#include <cstdio>
#include <variant>

#include "hoplite/base/check.h"

namespace hoplite::task {

SchedulerConfig SchedulerDriver::Config(std::int64_t cpus) {
  SchedulerConfig config;
  config.node = TestNode(1);
  config.host = "here";
  config.total = Resources::Cpus(cpus);
  config.store_bytes = 400;
  return config;
}

LeaseRequest SchedulerDriver::Request(std::uint32_t owner) {
  return {.lease = {TestOwner(owner), ++last_number_},
          .program = "p",
          .need = Resources::Cpus(1)};
}

LeaseId SchedulerDriver::Ask(LeaseRequest request) {
  const LeaseId lease = request.lease;
  Handle(scheduler_event::LeaseRequested{std::move(request)});
  return lease;
}

void SchedulerDriver::Return(const LeaseId& lease) {
  const WorkerNumber worker = workers.at(lease);
  workers.erase(lease);
  Handle(scheduler_event::LeaseReturned{lease, worker});
}

void SchedulerDriver::Handle(const SchedulerEvent& event) {
  answers_.push_back(event);
  while (!answers_.empty()) {
    const SchedulerEvent next = std::move(answers_.front());
    answers_.pop_front();
    SchedulerCommands commands;
    scheduler_.Handle(now, next, commands);
    Execute(commands);
  }
}

void SchedulerDriver::Advance(absl::Duration by) {
  const absl::Time end = now + by;
  while (scheduler_.NextTimeout() && *scheduler_.NextTimeout() <= end) {
    if (*scheduler_.NextTimeout() > now) now = *scheduler_.NextTimeout();
    SchedulerCommands commands;
    scheduler_.HandleTimeout(now, commands);
    Execute(commands);
    while (!answers_.empty()) {
      const SchedulerEvent next = std::move(answers_.front());
      answers_.pop_front();
      Handle(next);
    }
  }
  now = end;
}

void SchedulerDriver::Execute(const SchedulerCommands& commands) {
  for (const SchedulerCommand& each : commands) {
    std::visit([this](const auto& command) { Do(command); }, each);
  }
  const std::string wrong = scheduler_.CheckInvariants();
  if (!wrong.empty()) std::fprintf(stderr, "%s\n", wrong.c_str());
  HOPLITE_CHECK(wrong.empty());
}

void SchedulerDriver::Do(const scheduler_command::StartWorker& start) {
  started.push_back(start.start);
  if (!answer_starts) return;
  answers_.push_back(scheduler_event::WorkerStarted{
      start.start, WorkerNumber(++last_worker_)});
}

void SchedulerDriver::Do(const scheduler_command::EndWorker& end) {
  ended.push_back(end.worker);
  answers_.push_back(scheduler_event::WorkerLost{end.worker});
}

void SchedulerDriver::Do(const scheduler_command::FailBlockedCall& fail) {
  failed_calls.push_back(fail.worker);
}

void SchedulerDriver::Do(const scheduler_command::FetchArguments& fetch) {
  fetched.emplace_back(fetch.fetch, fetch.lease);
  if (!answer_fetches) return;
  answers_.push_back(scheduler_event::ArgumentsReady{fetch.fetch});
}

void SchedulerDriver::Do(const scheduler_command::DropArguments& drop) {
  dropped.push_back(drop.fetch);
}

void SchedulerDriver::Do(const scheduler_command::GrantLease& grant) {
  granted.push_back(grant.lease);
  workers[grant.lease] = grant.worker;
}

void SchedulerDriver::Do(const scheduler_command::ForwardLease& forward) {
  forwarded.emplace_back(forward.lease, forward.node);
}

void SchedulerDriver::Do(const scheduler_command::RefuseLease& refuse) {
  refused.emplace_back(refuse.lease, refuse.reason);
}

void SchedulerDriver::Do(const scheduler_command::ReclaimLease& reclaim) {
  reclaimed.push_back(reclaim.lease);
}

void SchedulerDriver::Do(const scheduler_command::PublishLoad& load) {
  published.push_back(load);
}

}  // namespace hoplite::task
