// What other processes, agents and timers tell a process of the task runtime.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hoplite/base/overloaded.h"
#include "ray_integration/worker/plain_reduce.h"
#include "ray_integration/worker/process_runtime.h"

namespace hoplite::task {
namespace {

// A worker that was not ended because of what it owns looks so often whether
// it still does.
constexpr absl::Duration kOwnsAgain = absl::Seconds(1);

}  // namespace

void ProcessRuntime::OnMessage(const Endpoint& from, Message message) {
  std::visit(
      Overloaded{
          [&](message::PushTask& push) {
            executor_.OnPush(from, std::move(push.task));
          },
          [&](const message::TaskAnswer& answer) {
            tasks_.OnAnswer(from, answer);
          },
          [&](const message::TaskReceipt& receipt) {
            executor_.OnReceipt(receipt.result);
          },
          [&](const message::ReturnTasks&) { executor_.ReturnUnbegun(); },
          [&](const message::TasksReturned& returned) {
            tasks_.leases().OnReturned(from.process, returned.results);
          },
          [&](const message::CancelTask& cancel) {
            executor_.OnCancel(cancel.result);
          },
          [&](const message::Subscribe& subscribe) {
            objects_.OnSubscribe(from, subscribe.id);
          },
          [&](const message::ObjectState& state) { objects_.OnState(state); },
          [&](const message::Borrow& borrow) {
            objects_.OnBorrow(from, borrow.id);
          },
          [&](const message::Borrowed& borrowed) {
            objects_.OnBorrowed(borrowed.id);
          },
          [&](const message::Release& release) {
            objects_.OnRelease(from.process, release.id);
          },
          [&](const message::Lost& lost) { tasks_.Remake(lost.id); },
          [&](const message::Store& store) {
            if (objects_.Find(store.id) != nullptr) {
              objects_.WantInStore(store.id);
            }
          },
          [&](const message::WatchActor& watch) {
            actors_.OnWatch(from, watch.actor);
          },
          [&](const message::ActorIs& state) { actors_.OnState(state); },
          [&](const message::KillActor& kill) { actors_.Kill(kill.actor); },
          [](const auto&) {},  // for agents
      },
      message);
}

void ProcessRuntime::OnAgentMessage(const NodeInfo& from, Message message) {
  std::visit(Overloaded{
                 [&](message::Registered& registered) {
                   MutexLock lock(mutex_);
                   if (!registered_.has_value())
                     registered_ = std::move(registered);
                   Changed();
                 },
                 [&](const message::LeaseGranted& granted) {
                   MutexLock lock(mutex_);
                   tasks_.leases().OnGranted(from, granted);
                 },
                 [&](const message::LeaseForwarded& forwarded) {
                   MutexLock lock(mutex_);
                   tasks_.leases().OnForwarded(forwarded);
                 },
                 [&](const message::LeaseRefused& refused) {
                   MutexLock lock(mutex_);
                   tasks_.leases().OnRefused(refused);
                 },
                 [&](const message::LeaseReclaim& reclaim) {
                   MutexLock lock(mutex_);
                   tasks_.leases().OnReclaim(from, reclaim.worker);
                 },
                 [&](const message::WorkerEnded& ended) {
                   MutexLock lock(mutex_);
                   tasks_.OnWorkerEnded(ended.worker, ended.why, ended.begun);
                   actors_.OnWorkerEnded(ended.worker, ended.why);
                 },
                 [&](const message::Nodes& nodes) {
                   MutexLock lock(mutex_);
                   OnNodes(nodes);
                 },
                 [&](const message::ProcessEnded& ended) {
                   MutexLock lock(mutex_);
                   OnProcessEnded(ended.process, ended.why);
                 },
                 [&](const message::EndWorker&) {
                   // The node does not need it; unless something needs what it
                   // has.
                   MutexLock lock(mutex_);
                   SweepDropped();
                   if (!objects_.OwnsReferenced()) {
                     ended_ =
                         absl::CancelledError("the node ended this worker");
                   }
                   Changed();
                 },
                 [&](const message::Output& output) {
                   std::FILE* const to = output.error ? stderr : stdout;
                   absl::FPrintF(to, "(%s, %s) %s\n", ToString(output.process),
                                 output.host, output.line);
                 },
                 [](const auto&) {},
             },
             message);
}

void ProcessRuntime::OnNodes(const message::Nodes& nodes) {
  std::vector<NodeInfo> before = std::exchange(nodes_, nodes.nodes);
  for (const NodeInfo& node : before) {
    const bool lives =
        std::any_of(nodes_.begin(), nodes_.end(),
                    [&](const NodeInfo& one) { return one.node == node.node; });
    if (lives) continue;
    OnProcessEnded({.node = node.node},
                   absl::StrCat("its node, ", node.host, ", died"));
    peers_.ForgetAgent(node.node);
    tasks_.leases().OnAgentLost(node.node);
    for (const ObjectId& id : objects_.OnNodeLost(node.node)) {
      tasks_.Recover(id);
    }
  }
}

void ProcessRuntime::OnProcessEnded(const ProcessId& process,
                                    const std::string& why) {
  peers_.SetEnded(process);
  if (process.worker) peers_.Forget(process);
  executor_.OnCallerEnded(process);
  tasks_.OnWorkerEnded(process, why, ObjectId());
  actors_.OnWorkerEnded(process, why);
  objects_.OnProcessEnded(process, why);
  actors_.OnOwnerEnded(process, why);
  Changed();
}

void ProcessRuntime::OnLinkClosed(const ProcessId& process) {
  if (!ended_.ok()) return;  // all are being closed
  peers_.Forget(process);
  // Whoever has died is reported by its agent. Else the connection has broken,
  // and what was under way over it is lost: a leased worker is not asked what
  // it has got, it is ended.
  tasks_.leases().EndWorker(process);
  Later([this, process] {
    actors_.OnLinkClosed(process);
    objects_.OnLinkClosed(process);
  });
}

void ProcessRuntime::OnAgentClosed(const NodeRef& node,
                                   const absl::Status& why) {
  if (!registered_.has_value() || node == home_.node) {
    // A worker may be in the middle of a task, which nobody waits for.
    if (options_.is_worker()) _exit(1);
    if (ended_.ok()) {
      ended_ = absl::UnavailableError(
          absl::StrCat("the node of this process has gone: ", why.message()));
    }
    Changed();
    return;
  }
  if (!ended_.ok()) return;
  peers_.ForgetAgent(node);
  // Where it lives, what was asked is asked again; its death will be told.
  poller_->At(Now() + absl::Milliseconds(100), [this, node] {
    MutexLock lock(mutex_);
    tasks_.leases().OnAgentLost(node);
  });
}

void ProcessRuntime::SayThatItOwns() {
  if (std::exchange(says_it_owns_, true)) return;
  SendAgent(home_, message::Owns{.owns = true});
  WakeAt(Now() + kOwnsAgain);
}

void ProcessRuntime::OnTimer() {
  next_wake_ = absl::InfiniteFuture();
  SweepDropped();
  if (says_it_owns_) {
    if (objects_.OwnsReferenced()) {
      WakeAt(Now() + kOwnsAgain);
    } else {
      says_it_owns_ = false;
      SendAgent(home_, message::Owns{.owns = false});
    }
  }
  tasks_.leases().OnTimer(Now());
}

Reference ProcessRuntime::Reduce(std::vector<Reference> sources, ReduceOp op,
                                 DataType type,
                                 std::optional<std::uint32_t> count) {
  if (sources.empty() || count.value_or(1) == 0 ||
      count.value_or(0) > sources.size()) {
    return FailedReference(absl::InvalidArgumentError(
        absl::StrCat("a Reduce of ", count.value_or(0), " of ", sources.size(),
                     " sources: it takes from one to all")));
  }
  return plain_ ? Submit(PlainReduceCall(sources, op, type, count))
                : ReduceInStore(sources, op, type, count);
}

Reference ProcessRuntime::ReduceInStore(const std::vector<Reference>& sources,
                                        ReduceOp op, DataType type,
                                        std::optional<std::uint32_t> count) {
  MutexLock lock(mutex_);
  SweepDropped();
  Reduction reduction{.target = objects_.NewId()};
  ObjectEntry& entry = objects_.Own(reduction.target);
  entry.in_reduction = true;
  const Reference reference = HandleOf(reduction.target);
  objects_.Hold(reduction.target);
  for (const Reference& source : sources) {
    reduction.sources.push_back(source->id);
    objects_.Hold(source->id);
    objects_.WantInStore(source->id);
  }
  reductions_.push_back(reduction);
  client_
      ->ReduceAsync(reduction.target, reduction.sources,
                    {.op = op, .type = type, .count = count})
      .Then([this, reduction](const absl::StatusOr<ReduceResult>& result) {
        Later([this, reduction, result] { OnReduced(reduction, result); });
      });
  return reference;
}

void ProcessRuntime::OnReduced(const Reduction& reduction,
                               const absl::StatusOr<ReduceResult>& result) {
  const auto end = [this, reduction] {
    std::erase_if(reductions_, [&](const Reduction& one) {
      return one.target == reduction.target;
    });
    for (const ObjectId& source : reduction.sources) objects_.LetGo(source);
    objects_.LetGo(reduction.target);
  };
  ObjectEntry* entry = objects_.Find(reduction.target);
  if (!result.ok()) {
    entry->in_reduction = false;
    // A source that failed says why, better than the reduction does.
    absl::Status why = result.status();
    for (const ObjectId& source : reduction.sources) {
      const ObjectEntry* one = objects_.Find(source);
      if (one != nullptr && !one->error.ok()) why = one->error;
    }
    objects_.SetFailed(
        reduction.target,
        absl::Status(why.code(), absl::StrCat("Reduce: ", why.message())));
    end();
    return;
  }
  entry->reduced = result->sources;
  // Type and shape are those of any source.
  const ObjectId source = result->sources.front();
  objects_.WhenSettled(source, [this, reduction, source, end] {
    const ObjectEntry* one = objects_.Find(source);
    ObjectEntry* target = objects_.Find(reduction.target);
    target->in_reduction = false;
    ValueInfo info{.in_store = true};
    if (one->value != nullptr) {
      info.size = one->value->size;
      info.meta = one->value->meta;
    }
    objects_.SetReady(reduction.target,
                      std::make_shared<const ValueInfo>(std::move(info)));
    end();
  });
}

}  // namespace hoplite::task
