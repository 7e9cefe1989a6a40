#include "ray_integration/worker/process_runtime.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hoplite/base/check.h"
#include "hoplite/base/status_macros.h"
#include "ray_integration/worker/plain_reduce.h"
#include "ray_integration/worker/program.h"
#include "ray_integration/worker/running_task.h"

namespace hoplite::task {
namespace {

// So many tasks may be unanswered; a further Remote waits.
constexpr std::size_t kUnansweredMax = 100'000;
// So many bytes of small values are kept here; further ones go to the store.
constexpr std::uint64_t kSmallBytesKept = std::uint64_t{256} << 20;
// A Get that waits says so this often.
constexpr absl::Duration kSayEvery = absl::Seconds(10);
constexpr std::int64_t kMilli = 1000;

absl::Time DeadlineAfter(absl::Time now, absl::Duration timeout) {
  return timeout == absl::InfiniteDuration() ? absl::InfiniteFuture()
                                             : now + timeout;
}

ResourceList ResourcesOf(int cpus, const Resources& resources) {
  ResourceList list;
  if (cpus > 0) list.emplace_back("cpu", cpus * kMilli);
  for (const auto& [name, amount] : resources) {
    list.emplace_back(name, std::llround(amount * kMilli));
  }
  return list;
}

// The program's handle: the runtime hears when it goes.
template <typename State, typename Id>
class Handle final : public State {
 public:
  Handle(ProcessRuntime* runtime, const ObjectId& id)
      : State(Id{id}), runtime_(runtime), id_(id) {}
  ~Handle() override { runtime_->Dropped(id_); }

 private:
  ProcessRuntime* const runtime_;
  const ObjectId id_;
};

}  // namespace

Reference ProcessRuntime::HandleOf(const ObjectId& id) {
  objects_.AddHandle(id);
  return std::make_shared<Handle<ReferenceState, ObjectId>>(this, id);
}

ActorReference ProcessRuntime::ActorHandleOf(const ObjectId& id) {
  objects_.AddHandle(id);
  return std::make_shared<Handle<ActorState, ActorId>>(this, id);
}

void ProcessRuntime::Dropped(const ObjectId& id) {
  MutexLock lock(dropped_mutex_);
  dropped_.push_back(id);
  // One visit for many; those who submit look by themselves.
  if (dropped_.size() > 1) return;
  poller_->At(Now() + absl::Milliseconds(2), [this] {
    MutexLock lock(mutex_);
    SweepDropped();
  });
}

void ProcessRuntime::SweepDropped() {
  std::vector<ObjectId> dropped;
  {
    MutexLock lock(dropped_mutex_);
    dropped.swap(dropped_);
  }
  for (const ObjectId& id : dropped) objects_.DropHandle(id);
}

bool ProcessRuntime::Await(absl::FunctionRef<bool()> done,
                           absl::Time deadline) {
  Incoming* const task = RunningTask();
  bool met = false;
  const auto over = [&] {
    MutexLock lock(mutex_);
    met = done();
    return met || !ended_.ok() || (task != nullptr && task->cancelled);
  };
  if (over()) return met;
  if (deadline <= Now()) return false;
  const bool gives_back = task != nullptr && !executor_.is_actor();
  if (gives_back) {
    MutexLock lock(mutex_);
    executor_.ReturnUnbegun();
    SendAgent(home_, message::Blocked{});
  }
  poller_->Wait(over, deadline);
  if (gives_back) {
    MutexLock lock(mutex_);
    SendAgent(home_, message::Resumed{});
  }
  return met;
}

absl::Status ProcessRuntime::WhyNot(absl::Time deadline,
                                    const std::string& what) {
  const Incoming* const task = RunningTask();
  if (task != nullptr && task->cancelled) {
    return absl::CancelledError(
        absl::StrCat(what, " ended: this task was cancelled"));
  }
  {
    MutexLock lock(mutex_);
    if (!ended_.ok()) return ended_;
  }
  return absl::DeadlineExceededError(
      absl::StrCat(what, " did not end by ", absl::FormatTime(deadline)));
}

void ProcessRuntime::AddInner(const Encoded& value, ValueInfo& info) {
  for (const Reference& inner : value.references) {
    info.references.push_back(objects_.InfoOf(inner->id));
  }
  for (const ActorReference& inner : value.actors) {
    info.actors.push_back(objects_.InfoOf(inner->id.id));
  }
}

ValueInfo ProcessRuntime::InlineValue(const Encoded& value) {
  ValueInfo info{.size = value.size_bytes(), .meta = value.meta};
  value.AppendTo(info.bytes);
  AddInner(value, info);
  return info;
}

ArgumentInfo ProcessRuntime::MakeArgument(const Argument& argument,
                                          std::vector<Reference>& kept) {
  if (const auto* reference = std::get_if<Reference>(&argument)) {
    return {.reference = objects_.InfoOf((*reference)->id)};
  }
  const Encoded& value = std::get<Encoded>(argument);
  HOPLITE_CHECK(value.size_bytes() <= small_bytes_ || !kept.empty());
  if (value.size_bytes() <= small_bytes_) {
    return {.has_value = true, .value = InlineValue(value)};
  }
  const Reference reference = std::move(kept.front());
  kept.erase(kept.begin());
  return {.reference = objects_.InfoOf(reference->id)};
}

TaskPtr ProcessRuntime::MakeTask(Call call) {
  // Large values go into the store first; that waits for room.
  std::vector<Reference> put;
  absl::Status failed;
  for (const Argument& argument : call.arguments) {
    const auto* value = std::get_if<Encoded>(&argument);
    if (value == nullptr || value->size_bytes() <= small_bytes_) continue;
    auto reference = PutLarge(*value);
    if (!reference.ok()) failed = reference.status();
    put.push_back(reference.ok() ? *std::move(reference)
                                 : FailedReference(failed));
  }
  auto task = std::make_shared<Task>();
  task->info.function = std::move(call.function);
  task->info.depth = RunningDepth() + 1;
  task->resources = ResourcesOf(call.options.cpus, call.options.resources);
  task->host = call.options.host;
  task->spread = call.options.spread;
  task->retry_errors = call.options.retry_errors;
  task->retries_left = std::max(0, call.options.retries);
  std::vector<Reference> kept = put;
  MutexLock lock(mutex_);
  SweepDropped();
  task->info.result = objects_.NewId();
  for (const Argument& argument : call.arguments) {
    task->info.arguments.push_back(MakeArgument(argument, kept));
    // Held from here on: `put` goes with this method.
    const ArgumentInfo& made = task->info.arguments.back();
    if (made.reference.id != ObjectId()) {
      objects_.Hold(made.reference.id);
      task->held.push_back(made.reference.id);
    }
  }
  return task;
}

Reference ProcessRuntime::Submit(Call call) {
  const TaskPtr task = MakeTask(std::move(call));
  for (;;) {
    {
      MutexLock lock(mutex_);
      if (tasks_.unanswered() < kUnansweredMax || !ended_.ok()) {
        objects_.Own(task->info.result);
        const Reference reference = HandleOf(task->info.result);
        tasks_.Submit(task);
        if (!ended_.ok()) tasks_.Fail(task, ended_);
        return reference;
      }
    }
    Await([&] { return tasks_.unanswered() < kUnansweredMax; },
          absl::InfiniteFuture());
    if (IsCancelled())
      return FailedReference(absl::CancelledError("cancelled"));
  }
}

ActorReference ProcessRuntime::CreateActor(Call factory, ActorOptions options) {
  factory.options.cpus = options.cpus;
  factory.options.resources = options.resources;
  factory.options.host = options.host;
  const TaskPtr task = MakeTask(std::move(factory));
  MutexLock lock(mutex_);
  objects_.Own(task->info.result).actor = true;
  const ActorReference actor = ActorHandleOf(task->info.result);
  actors_.Create(task, std::max(0, options.restarts), options.retry_calls);
  return actor;
}

Reference ProcessRuntime::CallActor(const ActorReference& actor, Call call) {
  const TaskPtr task = MakeTask(std::move(call));
  MutexLock lock(mutex_);
  task->info.actor = actor->id.id;
  objects_.Own(task->info.result);
  const Reference reference = HandleOf(task->info.result);
  actors_.Call(task);
  return reference;
}

absl::Status ProcessRuntime::WriteToStore(const ObjectId& id,
                                          const Encoded& value) {
  auto buffer = client_->Create(id, value.size_bytes());
  HOPLITE_RETURN_IF_ERROR(buffer.status());
  value.CopyTo(buffer->data().data());
  return buffer->Seal();
}

absl::StatusOr<Reference> ProcessRuntime::PutLarge(const Encoded& value) {
  ObjectId id;
  {
    MutexLock lock(mutex_);
    id = objects_.NewId();
  }
  HOPLITE_RETURN_IF_ERROR(WriteToStore(id, value));
  MutexLock lock(mutex_);
  ValueInfo info{.in_store = true,
                 .size = value.size_bytes(),
                 .meta = value.meta,
                 .location = home_.node};
  AddInner(value, info);
  objects_.Own(id);
  const Reference reference = HandleOf(id);
  objects_.SetReady(id, std::make_shared<const ValueInfo>(std::move(info)));
  return reference;
}

absl::StatusOr<Reference> ProcessRuntime::Put(const Encoded& value) {
  if (value.size_bytes() > small_bytes_) return PutLarge(value);
  {
    MutexLock lock(mutex_);
    SweepDropped();
    if (objects_.small_bytes() < kSmallBytesKept) {
      const ObjectId id = objects_.NewId();
      objects_.Own(id);
      const Reference reference = HandleOf(id);
      objects_.SetReady(id,
                        std::make_shared<const ValueInfo>(InlineValue(value)));
      return reference;
    }
  }
  return PutLarge(value);
}

absl::StatusOr<Stored> ProcessRuntime::Get(const Reference& reference,
                                           absl::Duration timeout) {
  const absl::Time start = Now();
  const absl::Time deadline = DeadlineAfter(start, timeout);
  const ObjectId id = reference->id;
  const auto got = std::make_shared<std::optional<absl::StatusOr<Stored>>>();
  {
    MutexLock lock(mutex_);
    SweepDropped();
    objects_.Hold(id);
    fetcher_.Fetch(id, /*begun=*/false,
                   [this, id, got](absl::StatusOr<Stored> stored) {
                     *got = std::move(stored);
                     objects_.LetGo(id);
                   });
  }
  for (absl::Time say = start + kSayEvery;; say += kSayEvery) {
    if (Await([&] { return got->has_value(); }, std::min(say, deadline))) {
      return **std::move(got);
    }
    const bool over = Now() >= deadline || IsCancelled();
    std::string what;
    {
      MutexLock lock(mutex_);
      what = absl::StrCat("Get of ", DescribeLocked(id));
      if (over || !ended_.ok()) break;
    }
    absl::FPrintF(stderr, "%s waits since %s\n", what,
                  absl::FormatDuration(Now() - start));
  }
  return WhyNot(deadline, absl::StrCat("Get of ", id.ToHex()));
}

std::string ProcessRuntime::DescribeLocked(const ObjectId& id) {
  const ObjectEntry* entry = objects_.Find(id);
  if (entry == nullptr || entry->task == nullptr) {
    return absl::StrCat("object ", id.ToHex());
  }
  const Task& task = *entry->task;
  switch (task.phase) {
    case TaskPhase::kWaiting:
      return absl::StrCat("the result of ", task.info.function,
                          ", which waits for its arguments,");
    case TaskPhase::kQueued:
      return absl::StrCat("the result of ", task.info.function,
                          ", which waits for a worker,");
    default:
      return absl::StrCat("the result of ", task.info.function, ", on ",
                          ToString(task.worker.process), ",");
  }
}

absl::StatusOr<std::vector<std::size_t>> ProcessRuntime::Wait(
    std::span<const Reference> references, std::size_t k,
    absl::Duration timeout) {
  {
    MutexLock lock(mutex_);
    SweepDropped();
    for (const Reference& reference : references) {
      ObjectEntry* entry = objects_.Find(reference->id);
      if (!entry->settled()) objects_.Subscribe(*entry);
    }
  }
  // (order, index) of those that are ready.
  std::vector<std::pair<std::uint64_t, std::size_t>> ready;
  const auto look = [&] {
    ready.clear();
    for (std::size_t i = 0; i < references.size(); ++i) {
      ObjectEntry* entry = objects_.Find(references[i]->id);
      if (entry->settled()) {
        ready.emplace_back(entry->order, i);
      } else {
        objects_.Subscribe(*entry);
      }
    }
    return ready.size() >= k;
  };
  const absl::Time deadline = DeadlineAfter(Now(), timeout);
  if (!Await(look, deadline) && (IsCancelled() || Now() < deadline)) {
    return WhyNot(deadline, "Wait");
  }
  std::sort(ready.begin(), ready.end());
  if (ready.size() > k) ready.resize(k);
  std::vector<std::size_t> indices;
  for (const auto& [order, index] : ready) indices.push_back(index);
  std::sort(indices.begin(), indices.end());
  return indices;
}

absl::StatusOr<std::vector<ObjectId>> ProcessRuntime::ReducedRefs(
    const Reference& target, absl::Duration timeout) {
  const Reference references[] = {target};
  HOPLITE_ASSIGN_OR_RETURN(const auto ready, Wait(references, 1, timeout));
  if (ready.empty()) {
    return absl::DeadlineExceededError("the reduction has not ended");
  }
  MutexLock lock(mutex_);
  const ObjectEntry* entry = objects_.Find(target->id);
  HOPLITE_RETURN_IF_ERROR(entry->error);
  if (entry->reduced.empty()) {
    return absl::InvalidArgumentError("it is not the result of a Reduce");
  }
  return entry->reduced;
}

void ProcessRuntime::Cancel(const Reference& reference, bool force) {
  MutexLock lock(mutex_);
  tasks_.Cancel(reference->id, force);
}

void ProcessRuntime::Kill(const ActorReference& actor) {
  MutexLock lock(mutex_);
  actors_.Kill(actor->id.id);
}

bool ProcessRuntime::IsCancelled() {
  const Incoming* const task = RunningTask();
  return task != nullptr && task->cancelled;
}

Reference ProcessRuntime::FailedReference(absl::Status why) {
  MutexLock lock(mutex_);
  const ObjectId id = objects_.NewId();
  objects_.Own(id);
  const Reference reference = HandleOf(id);
  objects_.SetFailed(id, why);
  return reference;
}

ActorReference ProcessRuntime::FailedActor(absl::Status why) {
  MutexLock lock(mutex_);
  const ObjectId id = objects_.NewId();
  objects_.Own(id).actor = true;
  const ActorReference actor = ActorHandleOf(id);
  actors_.AddEnded(id, why);
  return actor;
}

}  // namespace hoplite::task
