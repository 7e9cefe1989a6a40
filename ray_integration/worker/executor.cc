#include "ray_integration/worker/executor.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "ray_integration/api/task_error.h"

namespace hoplite::task {

void Executor::OnPush(const Endpoint& from, TaskInfo info) {
  if (info.sequence != 0 && !IsNew(from, info)) return;
  auto incoming = std::make_shared<Incoming>();
  incoming->from = from;
  incoming->info = std::move(info);
  waiting_.push_back(incoming);
  Gather(incoming);
  if (HasNext()) surroundings_.Changed();
}

bool Executor::IsNew(const Endpoint& from, const TaskInfo& info) {
  Caller& caller = callers_[from.process];
  caller.answers.erase(caller.answers.begin(),
                       caller.answers.lower_bound(info.answered));
  if (info.sequence > caller.last_sequence) {
    caller.last_sequence = info.sequence;
    return true;
  }
  // Its caller has lost the connection and sends it again.
  const auto answer = caller.answers.find(info.sequence);
  if (answer != caller.answers.end()) surroundings_.Send(from, answer->second);
  return false;
}

void Executor::Know(Incoming& incoming, const ReferenceInfo& reference,
                    bool actor) {
  objects_.Know(reference, actor);
  objects_.Hold(reference.id);
  incoming.known.push_back(reference.id);
}

void Executor::Gather(const IncomingPtr& incoming) {
  std::vector<ArgumentInfo>& arguments = incoming->info.arguments;
  incoming->arguments.resize(arguments.size());
  ++incoming->missing;  // until all have been looked at
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    ArgumentInfo& argument = arguments[i];
    for (const auto& inner : argument.value.references) {
      Know(*incoming, inner, false);
    }
    for (const auto& inner : argument.value.actors) {
      Know(*incoming, inner, true);
    }
    const bool by_reference = argument.reference.id != ObjectId();
    if (!by_reference || (argument.has_value && !argument.value.in_store)) {
      incoming->arguments[i] = fetcher_.Open(
          std::make_shared<const ValueInfo>(std::move(argument.value)));
      continue;
    }
    Know(*incoming, argument.reference, false);
    if (argument.has_value) {
      objects_.Learn(argument.reference.id, argument.value);
    }
    ++incoming->missing;
    fetcher_.Fetch(argument.reference.id, argument.value.in_store,
                   [this, incoming, i](absl::StatusOr<Stored> stored) {
                     if (stored.ok()) {
                       incoming->arguments[i] = *std::move(stored);
                     } else {
                       incoming->failure = stored.status();
                       incoming->failed_argument = i;
                     }
                     if (--incoming->missing == 0) surroundings_.Changed();
                   });
  }
  --incoming->missing;
}

std::deque<IncomingPtr>::const_iterator Executor::FindNext() const {
  if (!is_actor()) {
    return !waiting_.empty() && waiting_.front()->missing == 0
               ? waiting_.begin()
               : waiting_.end();
  }
  // Nobody overtakes himself; others do.
  absl::flat_hash_set<ProcessId> behind;
  for (auto it = waiting_.begin(); it != waiting_.end(); ++it) {
    const ProcessId& caller = (*it)->from.process;
    if ((*it)->missing == 0 && !behind.contains(caller)) return it;
    behind.insert(caller);
  }
  return waiting_.end();
}

bool Executor::HasNext() const { return FindNext() != waiting_.end(); }

IncomingPtr Executor::TakeNext() {
  const auto next = FindNext();
  if (next == waiting_.end()) return nullptr;
  running_ = *next;
  is_actor_ = is_actor_ || running_->info.creates;
  waiting_.erase(next);
  return running_;
}

absl::StatusOr<Encoded> Executor::Run(Incoming& incoming) {
  const std::string& name = incoming.info.function;
  if (incoming.cancelled) {
    return FailedTask(name,
                      absl::CancelledError("it was cancelled before it began"));
  }
  if (!incoming.failure.ok()) {
    return NotRunTask(name, incoming.failed_argument, incoming.failure);
  }
  const RegisteredFunction* function = Registry::Global().Find(name);
  if (function == nullptr) {
    return FailedTask(
        name, absl::FailedPreconditionError(
                  "it is not registered in this worker: is its program that "
                  "of the driver?"));
  }
  absl::StatusOr<Encoded> result =
      function->invoke(instance_, incoming.arguments);
  if (!result.ok()) return FailedTask(name, result.status());
  return result;
}

void Executor::Answer(const IncomingPtr& incoming, message::TaskAnswer answer,
                      Encoded kept) {
  const Endpoint from = incoming->from;
  if (running_ == incoming) running_ = nullptr;
  for (const auto* inner : {&answer.value.references, &answer.value.actors}) {
    for (const ReferenceInfo& reference : *inner) {
      const ProcessId owner = OwnerOf(reference.id);
      if (owner == surroundings_.self().process) {
        objects_.AddBorrower(reference.id, from.process);
      }
      // Also of its own: the caller may just have said that it borrows it no
      // more.
      if (owner != from.process) answer.receipt = true;
    }
  }
  if (answer.receipt) unreceived_[answer.result] = std::move(kept);
  // What is still held here is borrowed, and its owner knows it before the
  // caller lets go: the caller itself by the order of messages, another by
  // having said so.
  const auto missing = std::make_shared<std::size_t>(1);
  const auto known = [this, missing, from, info = incoming->info,
                      answer = std::move(answer)] {
    if (--*missing == 0) SendAnswer(from, answer, info);
  };
  for (const ObjectId& id : incoming->known) {
    objects_.LetGo(id);
    if (!objects_.IsHeld(id, 0)) continue;
    if (OwnerOf(id) == from.process) {
      objects_.RegisterBorrow(id, [] {});
    } else {
      ++*missing;
      objects_.RegisterBorrow(id, known);
    }
  }
  known();
}

void Executor::SendAnswer(const Endpoint& to, const message::TaskAnswer& answer,
                          const TaskInfo& info) {
  if (info.sequence != 0) {
    callers_[to.process].answers[info.sequence] = answer;
  }
  surroundings_.Send(to, answer);
}

void Executor::OnCancel(const ObjectId& result) {
  if (running_ != nullptr && running_->info.result == result) {
    running_->cancelled = true;
    surroundings_.Changed();
  }
  const auto it = std::find_if(
      waiting_.begin(), waiting_.end(),
      [&](const IncomingPtr& one) { return one->info.result == result; });
  if (it == waiting_.end()) return;
  const IncomingPtr one = *it;
  one->cancelled = true;
  if (one->missing == 0) return;  // its turn comes
  // What it waits for may never come.
  waiting_.erase(it);
  Answer(one,
         {.result = result,
          .attempt = one->info.attempt,
          .error = ToInfo(Run(*one).status())},
         {});
  surroundings_.Changed();  // for those behind it
}

void Executor::ReturnUnbegun() {
  if (is_actor() || waiting_.empty()) return;
  std::map<ProcessId, std::pair<Endpoint, message::TasksReturned>> returned;
  for (const IncomingPtr& one : std::exchange(waiting_, {})) {
    auto& [endpoint, message] = returned[one->from.process];
    endpoint = one->from;
    message.results.push_back(one->info.result);
    for (const ObjectId& id : one->known) objects_.LetGo(id);
    one->known.clear();
  }
  for (const auto& [process, one] : returned) {
    surroundings_.Send(one.first, one.second);
  }
}

void Executor::OnCallerEnded(const ProcessId& caller) {
  const auto is_of_it = [&](const ProcessId& process) {
    return process.node == caller.node &&
           (!caller.worker || process.worker == caller.worker);
  };
  absl::erase_if(callers_,
                 [&](const auto& pair) { return is_of_it(pair.first); });
  std::erase_if(unreceived_, [&](const auto& pair) {
    return is_of_it(OwnerOf(pair.first));
  });
}

void Executor::OnReceipt(const ObjectId& result) { unreceived_.erase(result); }

}  // namespace hoplite::task
