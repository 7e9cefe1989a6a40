// The objects that a process owns or borrows: who holds them, and what is known
// of them.
//
// The owner of an object counts its holders: handles of its own program, tasks
// that have it as an argument, values that contain it, and borrowers, which are
// processes. It frees the object when there are none. A borrower counts its
// own, tells the owner that it borrows, and that it does so no more.
//
// Not responsible for: making an object; finding out that one is lost.
// Thread safety: none; the runtime's lock.

#ifndef HOPLITE_RAY_INTEGRATION_WORKER_OBJECT_TABLE_H_
#define HOPLITE_RAY_INTEGRATION_WORKER_OBJECT_TABLE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "hoplite/base/id.h"
#include "ray_integration/base/process_id.h"
#include "ray_integration/wire/message.h"
#include "ray_integration/wire/values.h"
#include "ray_integration/worker/surroundings.h"

namespace hoplite::task {

struct Task;

struct ObjectEntry {
  ReferenceInfo reference;
  bool owned = false;
  bool actor = false;

  std::uint32_t handles = 0;             // of the program
  std::uint32_t holds = 0;               // tasks, values, reductions
  absl::btree_set<ProcessId> borrowers;  // of an owned one
  bool borrow_sent = false;              // of a borrowed one
  bool borrow_known = false;             // its owner has said so
  std::vector<std::function<void()>> when_borrowed;

  message::ObjectPhase phase = message::ObjectPhase::kPending;
  ValuePtr value;                 // ready
  absl::Status error;             // failed
  std::vector<ObjectId> reduced;  // of a target: what went in
  std::uint64_t order = 0;        // in which it became ready, from 1
  bool subscribed = false;        // of a borrowed one
  // Its bytes may have gone with a node: who wants it has it recovered first.
  bool suspect = false;
  bool in_reduction = false;     // a target that is being made
  bool wanted_in_store = false;  // a reduction names it
  bool storing = false;
  std::vector<Endpoint> subscribers;
  std::vector<std::function<void()>> when_settled;
  std::shared_ptr<Task> task;  // that makes it, and can again

  bool settled() const { return phase != message::ObjectPhase::kPending; }
};

class ObjectTable {
 public:
  explicit ObjectTable(Surroundings& surroundings)
      : surroundings_(surroundings) {}

  ObjectId NewId();
  // A new one of this process, pending.
  ObjectEntry& Own(const ObjectId& id);
  // Of a reference that has come: this process's own, or a borrowed one.
  ObjectEntry& Know(const ReferenceInfo& reference, bool actor);
  ObjectEntry* Find(const ObjectId& id);
  ReferenceInfo InfoOf(const ObjectId& id);

  void AddHandle(const ObjectId& id);
  void DropHandle(const ObjectId& id);
  void Hold(const ObjectId& id);
  void LetGo(const ObjectId& id);
  // The owner is told that this process borrows it; then `done`, at once where
  // it knows already or is this process.
  void RegisterBorrow(const ObjectId& id, std::function<void()> done);
  // Whether anything here but `except` holds refers to it.
  bool IsHeld(const ObjectId& id, std::uint32_t except) const;
  // Whether any other process, or the program, needs what this one owns.
  bool OwnsReferenced() const;

  // Of an owned one. A second time changes nothing.
  void SetReady(const ObjectId& id, ValuePtr value);
  void SetFailed(const ObjectId& id, const absl::Status& why);
  // Its bytes are gone, and it is made again: pending once more.
  void Reopen(const ObjectId& id);
  // It will be in the store as soon as it is ready.
  void WantInStore(const ObjectId& id);
  // The answer to PutIntoStore.
  void Stored(const ObjectId& id, const absl::Status& status);

  // What a caller says of a borrowed one that is ready.
  void Learn(const ObjectId& id, const ValueInfo& value);
  // Calls `settled` when it is ready or failed, perhaps at once. Learns that
  // from its owner.
  void WhenSettled(const ObjectId& id, std::function<void()> settled);
  void Subscribe(ObjectEntry& entry);

  void OnSubscribe(const Endpoint& from, const ObjectId& id);
  void OnState(const message::ObjectState& state);
  void OnBorrow(const Endpoint& from, const ObjectId& id);
  void OnBorrowed(const ObjectId& id);
  void OnRelease(const ProcessId& from, const ObjectId& id);
  // Adds a borrower of which this process itself knows.
  void AddBorrower(const ObjectId& id, const ProcessId& borrower);
  // A process, or with no worker number all of a node, is gone.
  void OnProcessEnded(const ProcessId& process, const std::string& why);

  // A node is gone: those whose bytes may be gone with it and that somebody
  // wants now; the others become suspect.
  std::vector<ObjectId> OnNodeLost(const NodeRef& node);
  // What was asked over a connection that has broken is asked again.
  void OnLinkClosed(const ProcessId& process);

  std::size_t size() const { return entries_.size(); }
  // Of owned values that are not in the store.
  std::uint64_t small_bytes() const { return small_bytes_; }

 private:
  void Settle(ObjectEntry& entry);
  void MaybeFree(const ObjectId& id);
  void Free(ObjectEntry& entry);
  message::ObjectState StateOf(const ObjectEntry& entry) const;
  // Null where it has not, as far as this process knows.
  const std::string* WhyEnded(const ProcessId& process) const;
  void FailWithOwner(ObjectEntry& entry, const std::string& why);

  Surroundings& surroundings_;
  absl::node_hash_map<ObjectId, ObjectEntry> entries_;
  std::uint64_t next_counter_ = 1;
  std::uint64_t next_order_ = 1;
  std::vector<ObjectId> doubtful_;  // perhaps to be freed
  bool freeing_ = false;
  std::deque<std::function<void()>> to_call_;  // of what has settled
  bool calling_ = false;
  // Processes, and with no worker number nodes, that are gone, and why.
  absl::btree_map<ProcessId, std::string> ended_;
  std::uint64_t small_bytes_ = 0;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_WORKER_OBJECT_TABLE_H_
