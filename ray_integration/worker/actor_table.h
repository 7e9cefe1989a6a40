// The actors that a process owns, and those that it calls.
//
// The owner starts an actor, starts it again as often as it may, and tells
// whoever calls it where it is. A caller sends its calls in order, each when
// its arguments are there and all earlier ones have been sent.
//
// Not responsible for: the calls' results (TaskTable).
// Thread safety: none; the runtime's lock.

#ifndef HOPLITE_RAY_INTEGRATION_WORKER_ACTOR_TABLE_H_
#define HOPLITE_RAY_INTEGRATION_WORKER_ACTOR_TABLE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "hoplite/base/id.h"
#include "ray_integration/base/process_id.h"
#include "ray_integration/wire/message.h"
#include "ray_integration/wire/values.h"
#include "ray_integration/worker/object_table.h"
#include "ray_integration/worker/surroundings.h"
#include "ray_integration/worker/task.h"
#include "ray_integration/worker/task_table.h"

namespace hoplite::task {

class ActorTable {
 public:
  // TaskTable::Push and the others are called.
  ActorTable(Surroundings& surroundings, ObjectTable& objects, TaskTable& tasks)
      : surroundings_(surroundings), objects_(objects), tasks_(tasks) {}

  // The factory's task, whose result stands for the actor.
  void Create(const TaskPtr& creation, int restarts, bool retry_calls);
  // One that never was: its calls fail with `why`.
  void AddEnded(const ObjectId& actor, const absl::Status& why);
  // The next call of this process to it. REQUIRES: the actor is known.
  void Call(const TaskPtr& call);
  void Kill(const ObjectId& actor);

  // What TaskTable says.
  void CallReady(const TaskPtr& call);
  void CallDone(const TaskPtr& call);
  void Created(const TaskPtr& creation, const absl::Status& status);
  // Nothing here refers to it any more; to one that this process owns, nothing
  // anywhere.
  void Unreferenced(const ObjectId& actor);

  void OnWatch(const Endpoint& from, const ObjectId& actor);
  void OnState(const message::ActorIs& state);
  // A worker, or with no number each of its node's, is gone.
  void OnWorkerEnded(const ProcessId& worker, const std::string& why);
  // An owner of actors, or with no worker number all of a node, is gone.
  void OnOwnerEnded(const ProcessId& owner, const std::string& why);
  // A connection has broken: what was sent there is sent again.
  void OnLinkClosed(const ProcessId& process);

 private:
  struct Owned {
    TaskPtr creation;
    int restarts_left = 0;
    message::ActorIs state;
    std::vector<Endpoint> watchers;
  };
  struct Called {
    message::ActorIs state;
    std::deque<TaskPtr> unsent;             // in order
    std::map<std::uint64_t, TaskPtr> sent;  // by sequence, unanswered
  };

  Called& CalledOf(const ObjectId& actor);
  void Tell(Owned& owned);
  void End(const ObjectId& actor, Owned& owned, const absl::Status& why);
  void SendWhatMay(const ObjectId& actor);
  void Send(Called& called, const TaskPtr& call);

  Surroundings& surroundings_;
  ObjectTable& objects_;
  TaskTable& tasks_;
  // Of this process's calls to any actor: one that it has let go of and borrows
  // again has heard of all lower ones.
  std::uint64_t last_sequence_ = 0;
  absl::node_hash_map<ObjectId, Owned> owned_;
  absl::node_hash_map<ObjectId, Called> called_;
  absl::flat_hash_map<ProcessId, ObjectId> by_worker_;  // owned and alive
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_WORKER_ACTOR_TABLE_H_
