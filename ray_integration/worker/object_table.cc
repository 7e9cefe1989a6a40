#include "ray_integration/worker/object_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"
#include "ray_integration/worker/task.h"

namespace hoplite::task {
namespace {

using message::ObjectPhase;

// Whoever has ended before the latest of them is not remembered.
constexpr std::size_t kEndedKept = 4096;

// A process, or one of its node's where it has no worker number.
bool Covers(const ProcessId& ended, const ProcessId& process) {
  return ended.node == process.node &&
         (!ended.worker || ended.worker == process.worker);
}

}  // namespace

ObjectId ObjectTable::NewId() {
  return MakeObjectId(surroundings_.self().process, next_counter_++);
}

ObjectEntry& ObjectTable::Own(const ObjectId& id) {
  ObjectEntry& entry = entries_[id];
  entry.reference = {.id = id, .owner_address = surroundings_.self().address};
  entry.owned = true;
  return entry;
}

ObjectEntry& ObjectTable::Know(const ReferenceInfo& reference, bool actor) {
  const auto [it, is_new] = entries_.try_emplace(reference.id);
  ObjectEntry& entry = it->second;
  if (!is_new) return entry;
  entry.reference = reference;
  entry.actor = actor;
  entry.owned = OwnerOf(reference.id) == surroundings_.self().process;
  if (entry.owned) {
    // Freed already: whoever sent it had no right to it any more.
    entry.phase = ObjectPhase::kFailed;
    entry.error = absl::NotFoundError(absl::StrCat(
        "object ", reference.id.ToHex(), " was freed by its owner"));
  } else if (const std::string* why = WhyEnded(OwnerOf(reference.id))) {
    FailWithOwner(entry, *why);
  }
  return entry;
}

const std::string* ObjectTable::WhyEnded(const ProcessId& process) const {
  for (const ProcessId& one : {process, ProcessId{.node = process.node}}) {
    const auto it = ended_.find(one);
    if (it != ended_.end()) return &it->second;
  }
  return nullptr;
}

void ObjectTable::FailWithOwner(ObjectEntry& entry, const std::string& why) {
  const ObjectId& id = entry.reference.id;
  entry.borrow_known = true;  // nobody is left to be told
  entry.phase = ObjectPhase::kFailed;
  entry.error = absl::DataLossError(
      absl::StrCat("object ", id.ToHex(), " is gone with its owner, ",
                   ToString(OwnerOf(id)), ": ", why));
}

ObjectEntry* ObjectTable::Find(const ObjectId& id) {
  const auto it = entries_.find(id);
  return it == entries_.end() ? nullptr : &it->second;
}

ReferenceInfo ObjectTable::InfoOf(const ObjectId& id) {
  const ObjectEntry* entry = Find(id);
  HOPLITE_CHECK(entry != nullptr);
  return entry->reference;
}

void ObjectTable::AddHandle(const ObjectId& id) { ++entries_.at(id).handles; }

void ObjectTable::DropHandle(const ObjectId& id) {
  ObjectEntry* entry = Find(id);
  if (entry == nullptr) return;
  HOPLITE_CHECK(entry->handles > 0);
  --entry->handles;
  MaybeFree(id);
}

void ObjectTable::Hold(const ObjectId& id) { ++entries_.at(id).holds; }

void ObjectTable::LetGo(const ObjectId& id) {
  ObjectEntry* entry = Find(id);
  if (entry == nullptr) return;
  HOPLITE_CHECK(entry->holds > 0);
  --entry->holds;
  MaybeFree(id);
}

void ObjectTable::RegisterBorrow(const ObjectId& id,
                                 std::function<void()> done) {
  ObjectEntry& entry = entries_.at(id);
  if (entry.owned || entry.borrow_known) {
    done();
    return;
  }
  entry.when_borrowed.push_back(std::move(done));
  if (std::exchange(entry.borrow_sent, true)) return;
  surroundings_.Send({OwnerOf(id), entry.reference.owner_address},
                     message::Borrow{id});
}

bool ObjectTable::IsHeld(const ObjectId& id, std::uint32_t except) const {
  const auto it = entries_.find(id);
  return it != entries_.end() && it->second.handles + it->second.holds > except;
}

bool ObjectTable::OwnsReferenced() const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [](const auto& pair) { return pair.second.owned; });
}

void ObjectTable::SetReady(const ObjectId& id, ValuePtr value) {
  ObjectEntry* entry = Find(id);
  if (entry == nullptr || entry->settled()) return;
  for (const ReferenceInfo& inner : value->references) Hold(inner.id);
  for (const ReferenceInfo& inner : value->actors) Hold(inner.id);
  entry->phase = ObjectPhase::kReady;
  entry->value = std::move(value);
  small_bytes_ += entry->value->bytes.size();
  if (entry->wanted_in_store) WantInStore(id);
  Settle(*entry);
}

void ObjectTable::SetFailed(const ObjectId& id, const absl::Status& why) {
  ObjectEntry* entry = Find(id);
  if (entry == nullptr || entry->settled()) return;
  entry->phase = ObjectPhase::kFailed;
  entry->error = why;
  // Ends Gets that wait in the store, and reductions leave it out.
  surroundings_.DeleteFromStore(id);
  Settle(*entry);
}

void ObjectTable::Reopen(const ObjectId& id) {
  ObjectEntry& entry = entries_.at(id);
  entry.phase = ObjectPhase::kPending;
  entry.suspect = false;
  const ValuePtr old = std::exchange(entry.value, nullptr);
  entry.order = 0;
  if (old == nullptr) return;
  small_bytes_ -= old->bytes.size();
  for (const ReferenceInfo& inner : old->references) LetGo(inner.id);
  for (const ReferenceInfo& inner : old->actors) LetGo(inner.id);
}

void ObjectTable::WantInStore(const ObjectId& id) {
  ObjectEntry& entry = entries_.at(id);
  entry.wanted_in_store = true;
  if (!entry.owned) {
    surroundings_.Send({OwnerOf(id), entry.reference.owner_address},
                       message::Store{id});
    return;
  }
  if (entry.phase == ObjectPhase::kFailed) surroundings_.DeleteFromStore(id);
  if (entry.phase != ObjectPhase::kReady || entry.value->in_store) return;
  if (std::exchange(entry.storing, true)) return;
  Hold(id);
  surroundings_.PutIntoStore(id, entry.value);
}

void ObjectTable::Stored(const ObjectId& id, const absl::Status& status) {
  ObjectEntry& entry = entries_.at(id);
  // A value that could not be put stays small; the reduction says what it
  // misses.
  entry.storing = status.ok() || absl::IsAlreadyExists(status);
  LetGo(id);
}

void ObjectTable::Learn(const ObjectId& id, const ValueInfo& value) {
  ObjectEntry& entry = entries_.at(id);
  if (entry.owned || entry.settled()) return;
  entry.phase = ObjectPhase::kReady;
  entry.value = std::make_shared<const ValueInfo>(value);
  Settle(entry);
}

void ObjectTable::WhenSettled(const ObjectId& id,
                              std::function<void()> settled) {
  ObjectEntry& entry = entries_.at(id);
  if (entry.settled()) {
    settled();
    return;
  }
  entry.when_settled.push_back(std::move(settled));
  Subscribe(entry);
}

void ObjectTable::Subscribe(ObjectEntry& entry) {
  if (entry.owned || std::exchange(entry.subscribed, true)) return;
  surroundings_.Send(
      {OwnerOf(entry.reference.id), entry.reference.owner_address},
      message::Subscribe{entry.reference.id});
}

void ObjectTable::Settle(ObjectEntry& entry) {
  entry.order = next_order_++;
  const message::ObjectState state = StateOf(entry);
  for (const Endpoint& subscriber : std::exchange(entry.subscribers, {})) {
    surroundings_.Send(subscriber, state);
  }
  for (auto& settled : std::exchange(entry.when_settled, {})) {
    to_call_.push_back(std::move(settled));
  }
  surroundings_.Changed();
  if (std::exchange(calling_, true)) return;
  // They may look at the table, and change it; and settle others, not by
  // recursion, as a chain of them may be long.
  while (!to_call_.empty()) {
    const std::function<void()> settled = std::move(to_call_.front());
    to_call_.pop_front();
    settled();
  }
  calling_ = false;
}

message::ObjectState ObjectTable::StateOf(const ObjectEntry& entry) const {
  message::ObjectState state{.id = entry.reference.id, .phase = entry.phase};
  if (entry.value != nullptr) state.value = *entry.value;
  state.error = ToInfo(entry.error);
  state.reduced = entry.reduced;
  return state;
}

void ObjectTable::MaybeFree(const ObjectId& id) {
  doubtful_.push_back(id);
  if (std::exchange(freeing_, true)) return;
  // Freeing one may free those inside it; not by recursion, they may be many.
  while (!doubtful_.empty()) {
    const ObjectId next = doubtful_.back();
    doubtful_.pop_back();
    ObjectEntry* entry = Find(next);
    if (entry != nullptr && entry->handles == 0 && entry->holds == 0 &&
        entry->borrowers.empty()) {
      Free(*entry);
    }
  }
  freeing_ = false;
}

void ObjectTable::Free(ObjectEntry& entry) {
  const ObjectId id = entry.reference.id;
  if (entry.actor) surroundings_.ActorUnreferenced(id);
  if (!entry.owned) {
    if (entry.borrow_sent) {
      surroundings_.Send({OwnerOf(id), entry.reference.owner_address},
                         message::Release{id});
    }
  } else if (!entry.actor && entry.value != nullptr &&
             (entry.value->in_store || entry.storing)) {
    surroundings_.DeleteFromStore(id);
  }
  const ValuePtr value = entry.owned ? entry.value : nullptr;
  if (value != nullptr) small_bytes_ -= value->bytes.size();
  const std::shared_ptr<Task> task = std::move(entry.task);
  // Whoever waits to let go once its owner knows need not wait any more.
  const auto when_borrowed = std::move(entry.when_borrowed);
  entries_.erase(id);
  for (const auto& done : when_borrowed) done();
  if (value == nullptr) return;
  for (const ReferenceInfo& inner : value->references) LetGo(inner.id);
  for (const ReferenceInfo& inner : value->actors) LetGo(inner.id);
}

void ObjectTable::OnSubscribe(const Endpoint& from, const ObjectId& id) {
  ObjectEntry* entry = Find(id);
  if (entry == nullptr) {
    message::ObjectState state{.id = id, .phase = ObjectPhase::kFailed};
    state.error = ToInfo(absl::NotFoundError(
        absl::StrCat("object ", id.ToHex(), " was freed by its owner, ",
                     ToString(surroundings_.self().process))));
    surroundings_.Send(from, state);
    return;
  }
  if (entry->settled()) {
    surroundings_.Send(from, StateOf(*entry));
  } else {
    entry->subscribers.push_back(from);
    if (!entry->owned) Subscribe(*entry);
  }
}

void ObjectTable::OnState(const message::ObjectState& state) {
  ObjectEntry* entry = Find(state.id);
  if (entry == nullptr || entry->owned) return;
  entry->subscribed = false;
  if (state.phase == ObjectPhase::kPending) {
    entry->phase = state.phase;
    Subscribe(*entry);
    return;
  }
  if (entry->settled()) return;  // a caller has said so before
  entry->phase = state.phase;
  entry->value = std::make_shared<const ValueInfo>(state.value);
  entry->error = ToStatus(state.error);
  entry->reduced = state.reduced;
  Settle(*entry);
}

void ObjectTable::OnBorrow(const Endpoint& from, const ObjectId& id) {
  AddBorrower(id, from.process);
  surroundings_.Send(from, message::Borrowed{id});
}

void ObjectTable::AddBorrower(const ObjectId& id, const ProcessId& borrower) {
  ObjectEntry* entry = Find(id);
  if (entry == nullptr || !entry->owned || WhyEnded(borrower)) return;
  entry->borrowers.insert(borrower);
}

void ObjectTable::OnBorrowed(const ObjectId& id) {
  ObjectEntry* entry = Find(id);
  if (entry == nullptr) return;
  entry->borrow_known = true;
  for (const auto& done : std::exchange(entry->when_borrowed, {})) done();
}

void ObjectTable::OnRelease(const ProcessId& from, const ObjectId& id) {
  ObjectEntry* entry = Find(id);
  if (entry == nullptr || entry->borrowers.erase(from) == 0) return;
  MaybeFree(id);
}

std::vector<ObjectId> ObjectTable::OnNodeLost(const NodeRef& node) {
  std::vector<ObjectId> wanted;
  for (auto& [id, entry] : entries_) {
    if (!entry.owned || entry.value == nullptr || !entry.value->in_store ||
        entry.value->location != node) {
      continue;
    }
    entry.suspect = true;
    if (entry.holds > 0 || !entry.borrowers.empty()) wanted.push_back(id);
  }
  return wanted;
}

void ObjectTable::OnLinkClosed(const ProcessId& process) {
  for (auto& [id, entry] : entries_) {
    if (entry.owned || OwnerOf(id) != process) continue;
    const Endpoint owner{process, entry.reference.owner_address};
    if (entry.borrow_sent && !entry.borrow_known) {
      surroundings_.Send(owner, message::Borrow{id});
    }
    if (std::exchange(entry.subscribed, false)) Subscribe(entry);
  }
}

void ObjectTable::OnProcessEnded(const ProcessId& process,
                                 const std::string& why) {
  if (ended_.size() >= kEndedKept) ended_.erase(ended_.begin());
  ended_[process] = why;
  std::vector<ObjectId> orphaned;
  std::vector<ObjectId> released;
  for (auto& [id, entry] : entries_) {
    if (!entry.owned && Covers(process, OwnerOf(id))) orphaned.push_back(id);
    if (entry.owned &&
        absl::erase_if(entry.borrowers, [&](const ProcessId& borrower) {
          return Covers(process, borrower);
        }) > 0) {
      released.push_back(id);
    }
  }
  for (const ObjectId& id : orphaned) {
    ObjectEntry* entry = Find(id);
    if (entry == nullptr) continue;
    OnBorrowed(id);  // nobody is left to say so
    entry = Find(id);
    if (entry == nullptr) continue;
    FailWithOwner(*entry, why);
    Settle(*entry);
  }
  for (const ObjectId& id : released) MaybeFree(id);
}

}  // namespace hoplite::task
