// What an agent does at its scheduler's orders.

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"
#include "ray_integration/agent/agent.h"

namespace hoplite::task {
namespace {

ResourceList ToList(const Resources& resources) {
  ResourceList list;
  for (const Resource& one : resources.amounts()) {
    list.emplace_back(one.name, one.milli);
  }
  return list;
}

// What owners make of it: kUnavailable is asked again.
absl::Status RefusalOf(const scheduler_command::RefuseLease& refuse) {
  switch (refuse.reason) {
    case RefuseReason::kQueueFull:
    case RefuseReason::kNoRoom:
    case RefuseReason::kTooManyActors:
      return absl::UnavailableError(refuse.why.message());
    case RefuseReason::kNoSuchHost:  // which is final
      return absl::FailedPreconditionError(refuse.why.message());
    default:
      return refuse.why;
  }
}

}  // namespace

void Agent::Do(const scheduler_command::StartWorker& start) {
  const auto program = life_->programs.find(start.program);
  const std::uint64_t token = next_token_++;
  absl::Status started = absl::NotFoundError("no driver wants it any more");
  if (program != life_->programs.end()) {
    const absl::StatusOr<int> memory = WorkerMemory::MakeFile();
    if (memory.ok()) {
      // Its own descriptor stays open: the child's copy has its number.
      started = children_->Start(token, program->second.info,
                                 {absl::StrCat("HOPLITE_TASK_TOKEN=", token),
                                  absl::StrCat("HOPLITE_TASK_BEGUN=", *memory),
                                  absl::StrCat("HOPLITE_NODE=", socket_)},
                                 *memory);
      WorkerState& worker = life_->workers[token];
      worker.start = start.start;
      worker.program = start.program;
      worker.memory = std::make_unique<WorkerMemory>(*memory);
      close(*memory);
    } else {
      started = memory.status();
    }
  }
  if (started.ok()) return;
  life_->workers.erase(token);
  poller_->At(absl::InfinitePast(), [this, start, started] {
    MutexLock lock(mutex_);
    if (!life_.has_value()) return;
    Schedule(scheduler_event::WorkerStartFailed{start.start, started});
  });
}

void Agent::Do(const scheduler_command::EndWorker& end) {
  const auto token = life_->tokens.find(end.worker);
  if (token == life_->tokens.end()) return;
  const WorkerState& worker = life_->workers.at(token->second);
  // An idle one may own something: it is asked, and says so by staying.
  if (!worker.lease) {
    SendOwner({.node = life_->self.ref, .worker = end.worker},
              message::EndWorker{.worker = end.worker});
  } else {
    children_->Kill(token->second);
  }
}

void Agent::Do(const scheduler_command::FailBlockedCall& fail) {
  // Its task is run again, later or elsewhere.
  const auto token = life_->tokens.find(fail.worker);
  if (token != life_->tokens.end()) children_->Kill(token->second);
}

void Agent::Do(const scheduler_command::FetchArguments& fetch) {
  if (client_ == nullptr && !socket_.empty()) {
    auto client = Client::Connect(socket_);
    if (client.ok()) client_ = *std::move(client);
  }
  std::vector<Future<Buffer>>& buffers = life_->fetches[fetch.fetch];
  const auto missing = std::make_shared<std::size_t>(1);
  // What cannot be had is the worker's to find out, and its owner's to make
  // again.
  const auto one_here = [this, missing, id = fetch.fetch]()
                            ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                              if (--*missing > 0 || !life_.has_value()) return;
                              if (life_->fetches.contains(id)) {
                                Schedule(scheduler_event::ArgumentsReady{id});
                              }
                            };
  const auto later = [this, one_here] {
    poller_->At(absl::InfinitePast(), [this, one_here] {
      MutexLock lock(mutex_);
      one_here();
    });
  };
  for (const ObjectId& object : fetch.objects) {
    if (client_ == nullptr) break;
    buffers.push_back(client_->GetAsync(object));
    ++*missing;
    buffers.back().Then([later](const absl::StatusOr<Buffer>&) { later(); });
  }
  later();
}

void Agent::Do(const scheduler_command::DropArguments& drop) {
  const auto it = life_->fetches.find(drop.fetch);
  if (it == life_->fetches.end()) return;
  for (const Future<Buffer>& one : it->second) one.Cancel();
  life_->fetches.erase(it);
}

void Agent::Do(const scheduler_command::GrantLease& grant) {
  const auto token = life_->tokens.find(grant.worker);
  if (token == life_->tokens.end()) return;  // its end is about to be told
  WorkerState& worker = life_->workers.at(token->second);
  worker.lease = grant.lease;
  SendOwner(grant.lease.owner,
            message::LeaseGranted{.number = grant.lease.number,
                                  .worker = worker.endpoint});
}

void Agent::Do(const scheduler_command::ForwardLease& forward) {
  const auto member = life_->members.find(forward.node);
  message::LeaseForwarded forwarded{.number = forward.lease.number};
  if (member == life_->members.end()) {  // died just now: ask here again
    forwarded.to = {.node = life_->self.ref,
                    .host = options_.host,
                    .agent_address = life_->self.agent_address};
  } else {
    forwarded.to = {.node = forward.node,
                    .host = "",
                    .agent_address = member->second.agent_address};
  }
  SendOwner(forward.lease.owner, forwarded);
}

void Agent::Do(const scheduler_command::RefuseLease& refuse) {
  SendOwner(refuse.lease.owner,
            message::LeaseRefused{.number = refuse.lease.number,
                                  .error = ToInfo(RefusalOf(refuse))});
}

void Agent::Do(const scheduler_command::ReclaimLease& reclaim) {
  SendOwner(reclaim.lease.owner,
            message::LeaseReclaim{.worker = reclaim.worker});
}

void Agent::Do(const scheduler_command::PublishLoad& publish) {
  message::Load load{.node = life_->self.ref,
                     .free = ToList(publish.free),
                     .total = ToList(publish.total),
                     .queued = publish.queued,
                     .host = options_.host,
                     .last_number = life_->last_number};
  life_->loads[load.node] = load;
  TellAll(message::Loads{.loads = {std::move(load)}});
}

}  // namespace hoplite::task
