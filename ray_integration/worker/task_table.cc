#include "ray_integration/worker/task_table.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"
#include "ray_integration/api/task_error.h"

namespace hoplite::task {
namespace {

using message::ObjectPhase;

bool IsReference(const ArgumentInfo& argument) {
  return argument.reference.id != ObjectId();
}

}  // namespace

TaskTable::TaskTable(Surroundings& surroundings, ObjectTable& objects,
                     TaskCalls calls, std::uint64_t lineage_bytes_max)
    : surroundings_(surroundings),
      objects_(objects),
      lineage_bytes_max_(lineage_bytes_max),
      calls_(std::move(calls)),
      leases_(surroundings,
              {.push = [this](const TaskPtr& task) { Push(task); },
               .fail = [this](const TaskPtr& task,
                              const absl::Status& why) { Fail(task, why); },
               .arguments =
                   [this](const Task& task) { return LeaseArguments(task); }}) {
}

void TaskTable::Submit(const TaskPtr& task) {
  ObjectEntry& entry = objects_.Own(task->info.result);
  entry.task = task;
  ++unanswered_;
  HoldArguments(task);
  WaitForArguments(task);
}

void TaskTable::HoldArguments(const TaskPtr& task) {
  const auto hold = [&](const ObjectId& id) {
    objects_.Hold(id);
    task->held.push_back(id);
  };
  hold(task->info.result);
  if (task->is_call()) hold(task->info.actor);
  for (const ArgumentInfo& argument : task->info.arguments) {
    if (IsReference(argument)) hold(argument.reference.id);
    for (const ReferenceInfo& in : argument.value.references) hold(in.id);
    for (const ReferenceInfo& in : argument.value.actors) hold(in.id);
  }
}

void TaskTable::WaitForArguments(const TaskPtr& task) {
  task->phase = TaskPhase::kWaiting;
  // One more, so that it does not go before all have been looked at.
  task->unsettled = 1;
  const auto settled = [this, task] {
    if (--task->unsettled == 0 && task->phase == TaskPhase::kWaiting) {
      Proceed(task);
    }
  };
  for (const ArgumentInfo& argument : task->info.arguments) {
    if (!IsReference(argument)) continue;
    const ObjectEntry* entry = objects_.Find(argument.reference.id);
    if (entry->suspect) Recover(argument.reference.id);
    if (entry->settled()) continue;
    // It is placed now, and waits there for what is being made.
    if (entry->in_reduction) continue;
    ++task->unsettled;
    objects_.WhenSettled(argument.reference.id, settled);
  }
  settled();
}

void TaskTable::Proceed(const TaskPtr& task) {
  for (std::size_t i = 0; i < task->info.arguments.size(); ++i) {
    const ArgumentInfo& argument = task->info.arguments[i];
    if (!IsReference(argument)) continue;
    const ObjectEntry* entry = objects_.Find(argument.reference.id);
    if (entry->phase != ObjectPhase::kFailed) continue;
    End(task, NotRunTask(task->info.function, i, entry->error));
    return;
  }
  if (task->is_call()) {
    calls_.call_ready(task);
  } else {
    leases_.Enqueue(task);
  }
}

void TaskTable::Push(const TaskPtr& task) {
  message::PushTask push{.task = task->info};
  for (ArgumentInfo& argument : push.task.arguments) {
    if (!IsReference(argument)) continue;
    const ObjectEntry* entry = objects_.Find(argument.reference.id);
    // What a reduction makes is fetched while it is being made.
    argument.value.in_store = entry->in_reduction;
    if (entry->value == nullptr) continue;
    argument.has_value = true;
    argument.value = *entry->value;
  }
  surroundings_.Send(task->worker, push);
}

std::vector<message::LeaseArgument> TaskTable::LeaseArguments(
    const Task& task) {
  std::vector<message::LeaseArgument> arguments;
  for (const ArgumentInfo& argument : task.info.arguments) {
    if (!IsReference(argument)) continue;
    const ObjectEntry* entry = objects_.Find(argument.reference.id);
    if (entry == nullptr) continue;
    message::LeaseArgument wanted{.id = argument.reference.id};
    if (entry->value != nullptr && entry->value->in_store) {
      wanted.size = entry->value->size;
      wanted.location = entry->value->location;
    } else if (!entry->in_reduction) {
      continue;  // it travels with the task
    }
    arguments.push_back(wanted);
  }
  return arguments;
}

void TaskTable::Finish(const TaskPtr& task) {
  if (task->phase == TaskPhase::kDone) return;
  task->phase = TaskPhase::kDone;
  --unanswered_;
  if (task->is_call()) calls_.call_done(task);
  if (task->info.creates) return;  // restarts need its arguments
  KeepRecipe(task);
  for (const ObjectId& id : std::exchange(task->held, {})) objects_.LetGo(id);
  surroundings_.Changed();
}

void TaskTable::KeepRecipe(const TaskPtr& task) {
  // With larger arguments it is not kept, to be run again.
  constexpr std::uint64_t kRecipeBytesMax = 64 << 10;
  *lineage_bytes_ -= std::exchange(task->recipe_bytes, 0);
  task->recipes.clear();
  std::uint64_t bytes = sizeof(Task);
  for (const ArgumentInfo& argument : task->info.arguments) {
    bytes += sizeof(argument) + argument.value.bytes.size();
  }
  ObjectEntry* result = objects_.Find(task->info.result);
  if (result == nullptr) return;
  if (task->is_call() || result->phase != ObjectPhase::kReady ||
      bytes > kRecipeBytesMax || *lineage_bytes_ + bytes > lineage_bytes_max_) {
    result->task = nullptr;
    return;
  }
  for (const ArgumentInfo& argument : task->info.arguments) {
    const ObjectEntry* entry = objects_.Find(argument.reference.id);
    task->recipes.push_back(entry == nullptr ? nullptr : entry->task);
  }
  task->recipe_bytes = bytes;
  task->lineage_bytes = lineage_bytes_;
  *lineage_bytes_ += bytes;
}

void TaskTable::Fail(const TaskPtr& task, const absl::Status& why) {
  End(task, FailedTask(task->info.function, why));
}

void TaskTable::End(const TaskPtr& task, const absl::Status& error) {
  if (task->phase == TaskPhase::kDone) return;
  if (task->info.creates) {
    Finish(task);
    calls_.created(task, error);
    return;
  }
  objects_.SetFailed(task->info.result, error);
  Finish(task);
}

void TaskTable::OnAnswer(const Endpoint& from,
                         const message::TaskAnswer& answer) {
  const ObjectEntry* entry = objects_.Find(answer.result);
  if (entry == nullptr || entry->task == nullptr) return;
  const TaskPtr task = entry->task;
  // Of an attempt that was given up, or an actor that is no more.
  if (task->phase != TaskPhase::kSent || task->info.attempt != answer.attempt ||
      task->worker.process != from.process) {
    return;
  }
  if (!task->is_call()) leases_.Answered(*task, answer.run_micros);
  const absl::Status status = ToStatus(answer.error);
  if (!status.ok()) {
    const bool again =
        task->retry_errors && !task->cancelled && !task->is_call();
    if (again && Retry(task)) return;
    End(task, status);
  } else if (task->info.creates) {
    Finish(task);
    calls_.created(task, status);
  } else {
    Accept(from, task, answer);
  }
}

void TaskTable::Accept(const Endpoint& from, const TaskPtr& task,
                       const message::TaskAnswer& answer) {
  const ObjectId id = task->info.result;
  objects_.Find(id)->reduced = answer.reduced;
  // The worker lets go of what is in the result when this process has it.
  const auto missing = std::make_shared<std::size_t>(1);
  const auto known = [this, missing, from, id, receipt = answer.receipt] {
    if (--*missing > 0 || !receipt) return;
    surroundings_.Send(from, message::TaskReceipt{.result = id});
  };
  const auto know = [&](const ReferenceInfo& reference, bool actor) {
    objects_.Know(reference, actor);
    ++*missing;
    objects_.RegisterBorrow(reference.id, known);
  };
  for (const auto& inner : answer.value.references) know(inner, false);
  for (const auto& inner : answer.value.actors) know(inner, true);
  objects_.SetReady(id, std::make_shared<const ValueInfo>(answer.value));
  known();
  Finish(task);
}

bool TaskTable::Retry(const TaskPtr& task) {
  if (task->retries_left == 0) return false;
  --task->retries_left;
  ++task->info.attempt;
  WaitForArguments(task);
  return true;
}

void TaskTable::OnWorkerEnded(const ProcessId& worker, const std::string& why,
                              const ObjectId& begun) {
  ProcessId last;  // where nothing is known, the first of each has begun
  for (const TaskPtr& task : leases_.TakeTasksOf(worker)) {
    const bool first = task->worker.process != last;
    const bool ran = begun == ObjectId() ? first : task->info.result == begun;
    last = task->worker.process;
    if (task->cancelled) {
      Fail(task, absl::CancelledError("it was cancelled"));
    } else if (!ran) {
      leases_.Enqueue(task);
    } else if (!Retry(task)) {
      Fail(task, absl::UnavailableError(
                     absl::StrCat(ToString(worker), " died while it ran: ", why,
                                  "; it may not be tried again")));
    }
  }
}

void TaskTable::Cancel(const ObjectId& result, bool force) {
  const ObjectEntry* entry = objects_.Find(result);
  if (entry == nullptr || entry->task == nullptr) return;
  const TaskPtr task = entry->task;
  if (task->phase == TaskPhase::kDone) return;
  task->cancelled = true;
  if (task->phase == TaskPhase::kSent) {
    surroundings_.Send(task->worker, message::CancelTask{.result = result});
    if (force && !task->is_call()) leases_.EndWorkerOf(*task);
    return;
  }
  if (task->phase == TaskPhase::kQueued && !task->is_call()) {
    leases_.Remove(task);
  }
  Fail(task, absl::CancelledError("it was cancelled before it began"));
}

TaskPtr TaskTable::Copy(const Task& task) {
  auto copy = std::make_shared<Task>();
  copy->info = task.info;
  copy->info.result = objects_.NewId();
  copy->info.attempt = 0;
  copy->resources = task.resources;
  copy->host = task.host;
  copy->spread = task.spread;
  copy->retry_errors = task.retry_errors;
  copy->retries_left = task.retries_left;
  copy->recipes = task.recipes;
  return copy;
}

void TaskTable::Recover(const ObjectId& id) {
  ObjectEntry* entry = objects_.Find(id);
  if (entry == nullptr || !entry->suspect) return;
  entry->suspect = false;
  if (entry->task != nullptr) {
    // Where a copy is left after all, its Put finds that, and takes it.
    Remake(id);
  } else {
    surroundings_.LookInStore(id);
  }
}

void TaskTable::Lost(const ObjectId& id) {
  const ObjectEntry* entry = objects_.Find(id);
  if (entry != nullptr && entry->task == nullptr) Remake(id);
}

bool TaskTable::AddRecipes(std::vector<TaskPtr>& order) {
  const auto is_gone = [this](const ReferenceInfo& one) {
    return objects_.Find(one.id) == nullptr;
  };
  // Each once, also where several are made of it: by its old id, the new one.
  absl::flat_hash_map<ObjectId, ReferenceInfo> again;
  // Not by recursion: a chain may be long.
  for (std::size_t i = 0; i < order.size(); ++i) {
    const TaskPtr task = order[i];
    for (std::size_t k = 0; k < task->info.arguments.size(); ++k) {
      ArgumentInfo& argument = task->info.arguments[k];
      const ValueInfo& value = argument.value;
      if (std::any_of(value.references.begin(), value.references.end(),
                      is_gone) ||
          std::any_of(value.actors.begin(), value.actors.end(), is_gone)) {
        return false;
      }
      if (!IsReference(argument) || !is_gone(argument.reference)) continue;
      const auto [it, is_new] = again.try_emplace(argument.reference.id);
      if (is_new) {
        if (k >= task->recipes.size() || task->recipes[k] == nullptr) {
          return false;
        }
        order.push_back(Copy(*task->recipes[k]));
        it->second = objects_.Own(order.back()->info.result).reference;
      }
      argument.reference = it->second;
    }
  }
  return true;
}

void TaskTable::Remake(const ObjectId& id) {
  ObjectEntry* lost = objects_.Find(id);
  if (lost == nullptr || !lost->owned || lost->phase != ObjectPhase::kReady ||
      !lost->value->in_store) {
    return;
  }
  const absl::Status impossible = absl::DataLossError(absl::StrCat(
      "object ", id.ToHex(),
      " was lost with the node that had it, and cannot be made again: it was "
      "Put, or an actor made it, or a reduction, or how is not known any "
      "more"));
  std::vector<TaskPtr> order;
  if (lost->task != nullptr) order.push_back(lost->task);
  objects_.Reopen(id);
  if (order.empty() || !AddRecipes(order)) {
    objects_.SetFailed(id, impossible);
    for (std::size_t i = 1; i < order.size(); ++i) {  // nobody knows them
      objects_.Hold(order[i]->info.result);
      objects_.LetGo(order[i]->info.result);
    }
    return;
  }
  // From the last, on which those before depend.
  for (auto task = order.rbegin(); task != order.rend(); ++task) {
    ++(*task)->info.attempt;
    Submit(*task);
  }
}

}  // namespace hoplite::task
