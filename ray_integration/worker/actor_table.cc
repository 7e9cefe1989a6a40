#include "ray_integration/worker/actor_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"

namespace hoplite::task {
namespace {

using message::ActorPhase;

// Of a call that has not been sent; the actor's calls count from 1.
constexpr std::uint64_t kUnsent = UINT64_MAX;

bool Covers(const ProcessId& ended, const ProcessId& process) {
  return ended.node == process.node &&
         (!ended.worker || ended.worker == process.worker);
}

// Keeps an actor known while its calls are told of it, of which each may be
// the last that refers to it.
class Kept {
 public:
  Kept(ObjectTable& objects, const ObjectId& actor)
      : objects_(objects), actor_(actor) {
    objects_.Hold(actor_);
  }
  ~Kept() { objects_.LetGo(actor_); }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

 private:
  ObjectTable& objects_;
  const ObjectId actor_;
};

}  // namespace

void ActorTable::Create(const TaskPtr& creation, int restarts,
                        bool retry_calls) {
  const ObjectId actor = creation->info.result;
  Owned& owned = owned_[actor];
  owned.creation = creation;
  owned.restarts_left = restarts;
  owned.state.actor = actor;
  owned.state.retry_calls = retry_calls;
  creation->info.creates = true;
  creation->info.actor = actor;
  objects_.Own(actor).actor = true;
  tasks_.Submit(creation);
}

void ActorTable::AddEnded(const ObjectId& actor, const absl::Status& why) {
  Owned& owned = owned_[actor];
  owned.creation = std::make_shared<Task>();
  owned.state = {
      .actor = actor, .phase = ActorPhase::kEnded, .why = ToInfo(why)};
}

ActorTable::Called& ActorTable::CalledOf(const ObjectId& actor) {
  const auto [it, is_new] = called_.try_emplace(actor);
  if (!is_new) return it->second;
  it->second.state.actor = actor;
  const auto owned = owned_.find(actor);
  if (owned != owned_.end()) {
    it->second.state = owned->second.state;
  } else if (const ObjectEntry* entry = objects_.Find(actor);
             !entry->error.ok()) {  // it has ended with its owner
    it->second.state.phase = ActorPhase::kEnded;
    it->second.state.why = ToInfo(entry->error);
  } else {
    const ReferenceInfo info = objects_.InfoOf(actor);
    surroundings_.Send({OwnerOf(actor), info.owner_address},
                       message::WatchActor{.actor = actor});
  }
  return it->second;
}

void ActorTable::Call(const TaskPtr& call) {
  Called& called = CalledOf(call->info.actor);
  call->info.sequence = kUnsent;
  called.unsent.push_back(call);
  const Kept kept(objects_, call->info.actor);
  tasks_.Submit(call);
  if (called.state.phase == ActorPhase::kEnded) SendWhatMay(call->info.actor);
}

void ActorTable::CallReady(const TaskPtr& call) {
  call->phase = TaskPhase::kQueued;
  SendWhatMay(call->info.actor);
}

void ActorTable::SendWhatMay(const ObjectId& actor) {
  const Kept kept(objects_, actor);
  Called& called = called_.at(actor);
  while (!called.unsent.empty()) {
    const TaskPtr call = called.unsent.front();
    if (called.state.phase == ActorPhase::kEnded) {
      called.unsent.pop_front();
      tasks_.Fail(call, ToStatus(called.state.why));
      continue;
    }
    if (called.state.phase != ActorPhase::kAlive ||
        call->phase != TaskPhase::kQueued) {
      return;
    }
    called.unsent.pop_front();
    call->info.sequence = ++last_sequence_;
    called.sent[call->info.sequence] = call;
    Send(called, call);
  }
}

void ActorTable::Send(Called& called, const TaskPtr& call) {
  call->info.incarnation = called.state.incarnation;
  call->info.answered = called.sent.begin()->first;
  call->phase = TaskPhase::kSent;
  call->worker = called.state.at;
  tasks_.Push(call);
}

void ActorTable::CallDone(const TaskPtr& call) {
  const auto it = called_.find(call->info.actor);
  if (it == called_.end()) return;
  Called& called = it->second;
  const auto sent = called.sent.find(call->info.sequence);
  if (sent != called.sent.end() && sent->second == call) {
    called.sent.erase(sent);
  } else if (called.state.phase != ActorPhase::kEnded) {  // else all go
    if (std::erase(called.unsent, call) > 0) SendWhatMay(call->info.actor);
  }
}

void ActorTable::Created(const TaskPtr& creation, const absl::Status& status) {
  const auto it = owned_.find(creation->info.result);
  if (it == owned_.end()) return;
  Owned& owned = it->second;
  const ObjectId actor = it->first;
  if (!status.ok() || owned.state.phase == ActorPhase::kEnded) {
    if (owned.state.phase != ActorPhase::kEnded) End(actor, owned, status);
    tasks_.leases().EndLease(creation->lease);
    return;
  }
  owned.state.phase = ActorPhase::kAlive;
  owned.state.at = creation->worker;
  by_worker_[creation->worker.process] = actor;
  Tell(owned);
  // From here on it lives as long as others refer to it.
  if (std::erase(creation->held, actor) > 0) objects_.LetGo(actor);
}

void ActorTable::Tell(Owned& owned) {
  for (const Endpoint& watcher : owned.watchers) {
    surroundings_.Send(watcher, owned.state);
  }
  const message::ActorIs state = owned.state;
  OnState(state);
}

void ActorTable::End(const ObjectId& actor, Owned& owned,
                     const absl::Status& why) {
  const Kept kept(objects_, actor);
  owned.state.phase = ActorPhase::kEnded;
  owned.state.why = ToInfo(why);
  by_worker_.erase(owned.state.at.process);
  // What its factory was given is needed no more.
  for (const ObjectId& id : std::exchange(owned.creation->held, {})) {
    objects_.LetGo(id);
  }
  Tell(owned);
}

void ActorTable::Kill(const ObjectId& actor) {
  const auto it = owned_.find(actor);
  if (it == owned_.end()) {
    const ObjectEntry* entry = objects_.Find(actor);
    if (entry == nullptr || entry->owned) return;  // it is no more
    surroundings_.Send({OwnerOf(actor), entry->reference.owner_address},
                       message::KillActor{.actor = actor});
    return;
  }
  Owned& owned = it->second;
  if (owned.state.phase == ActorPhase::kEnded) return;
  const TaskPtr creation = owned.creation;
  owned.restarts_left = 0;
  if (owned.state.phase == ActorPhase::kStarting) {
    tasks_.Cancel(actor, /*force=*/true);
  }
  tasks_.leases().EndLease(creation->lease);
  const auto still = owned_.find(actor);
  if (still != owned_.end() &&
      still->second.state.phase != ActorPhase::kEnded) {
    End(actor, still->second, absl::CancelledError("the actor was killed"));
  }
}

void ActorTable::Unreferenced(const ObjectId& actor) {
  called_.erase(actor);
  const auto it = owned_.find(actor);
  if (it == owned_.end()) return;
  const TaskPtr creation = it->second.creation;
  if (it->second.state.phase == ActorPhase::kAlive) {
    tasks_.leases().EndLease(creation->lease);
  }
  by_worker_.erase(it->second.state.at.process);
  owned_.erase(it);
  for (const ObjectId& id : std::exchange(creation->held, {})) {
    objects_.LetGo(id);
  }
}

void ActorTable::OnWatch(const Endpoint& from, const ObjectId& actor) {
  const auto it = owned_.find(actor);
  if (it == owned_.end()) {
    message::ActorIs state{.actor = actor, .phase = ActorPhase::kEnded};
    state.why = ToInfo(absl::NotFoundError("the actor has ended"));
    surroundings_.Send(from, state);
    return;
  }
  std::erase_if(it->second.watchers, [&](const Endpoint& watcher) {
    return watcher.process == from.process;
  });
  it->second.watchers.push_back(from);
  surroundings_.Send(from, it->second.state);
}

void ActorTable::OnState(const message::ActorIs& state) {
  const auto it = called_.find(state.actor);
  if (it == called_.end()) return;
  const Kept kept(objects_, state.actor);
  Called& called = it->second;
  const bool moved = state.incarnation != called.state.incarnation ||
                     state.phase == ActorPhase::kEnded;
  called.state = state;
  if (moved) {
    std::deque<TaskPtr> again;
    for (auto& [sequence, call] : std::exchange(called.sent, {})) {
      call->info.sequence = kUnsent;
      if (state.retry_calls && state.phase != ActorPhase::kEnded &&
          !call->cancelled) {
        call->phase = TaskPhase::kQueued;
        ++call->info.attempt;
        again.push_back(call);
        continue;
      }
      const absl::Status why = ToStatus(state.why);
      tasks_.Fail(call, absl::UnavailableError(
                            absl::StrCat("the actor died before it answered",
                                         why.ok() ? "" : ": ", why.message())));
    }
    called.unsent.insert(called.unsent.begin(), again.begin(), again.end());
  }
  SendWhatMay(state.actor);
}

void ActorTable::OnWorkerEnded(const ProcessId& worker,
                               const std::string& why) {
  std::vector<ObjectId> ended;
  for (const auto& [process, actor] : by_worker_) {
    if (Covers(worker, process)) ended.push_back(actor);
  }
  for (const ObjectId& actor : ended) {
    if (!owned_.contains(actor)) continue;  // it went with one before
    const Kept kept(objects_, actor);
    Owned& owned = owned_.at(actor);
    by_worker_.erase(owned.state.at.process);
    const absl::Status died = absl::UnavailableError(
        absl::StrCat("actor of ", owned.creation->info.function, " died with ",
                     ToString(owned.state.at.process), ": ", why));
    if (owned.restarts_left == 0) {
      End(actor, owned, died);
      continue;
    }
    --owned.restarts_left;
    owned.state.phase = ActorPhase::kStarting;
    ++owned.state.incarnation;
    owned.state.why = ToInfo(died);
    const TaskPtr creation = owned.creation;
    creation->info.incarnation = owned.state.incarnation;
    Tell(owned);
    const std::vector<ObjectId> held = std::exchange(creation->held, {});
    ++creation->info.attempt;
    tasks_.Submit(creation);
    for (const ObjectId& id : held) objects_.LetGo(id);
  }
}

void ActorTable::OnOwnerEnded(const ProcessId& owner, const std::string& why) {
  std::vector<message::ActorIs> ended;
  for (const auto& [actor, called] : called_) {
    if (!Covers(owner, OwnerOf(actor))) continue;
    message::ActorIs state = called.state;
    state.phase = ActorPhase::kEnded;
    state.why = ToInfo(absl::UnavailableError(
        absl::StrCat("the actor ended with its owner, ",
                     ToString(OwnerOf(actor)), ": ", why)));
    ended.push_back(std::move(state));
  }
  for (const message::ActorIs& state : ended) OnState(state);
}

void ActorTable::OnLinkClosed(const ProcessId& process) {
  for (auto& [actor, called] : called_) {
    if (called.state.phase == ActorPhase::kAlive &&
        called.state.at.process == process) {
      for (const auto& [sequence, call] : called.sent) Send(called, call);
    }
    // Its owner forgets who watches when the connection to him breaks.
    if (OwnerOf(actor) == process && !owned_.contains(actor)) {
      const ObjectEntry* entry = objects_.Find(actor);
      if (entry == nullptr) continue;
      surroundings_.Send({process, entry->reference.owner_address},
                         message::WatchActor{.actor = actor});
    }
  }
}

}  // namespace hoplite::task
