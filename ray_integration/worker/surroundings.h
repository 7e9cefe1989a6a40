// What the parts of a process of the task runtime ask of the whole.
//
// The parts (objects, tasks, leases, actors) decide; they send, store and wait
// through this, and are called under the runtime's one lock.
//
// Thread safety: called under the runtime's lock; never calls back.

#ifndef HOPLITE_RAY_INTEGRATION_WORKER_SURROUNDINGS_H_
#define HOPLITE_RAY_INTEGRATION_WORKER_SURROUNDINGS_H_

#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "ray_integration/wire/message.h"
#include "ray_integration/wire/values.h"

namespace hoplite::task {

using ValuePtr = std::shared_ptr<const ValueInfo>;

class Surroundings {
 public:
  virtual ~Surroundings() = default;

  virtual const Endpoint& self() const = 0;
  // The node that this process belongs to.
  virtual NodeInfo home() const = 0;
  virtual absl::Time Now() const = 0;

  // To another process, in order; to nobody where it is gone.
  virtual void Send(const Endpoint& to, const Message& message) = 0;
  // To the agent of a node, likewise.
  virtual void SendAgent(const NodeInfo& node, const Message& message) = 0;
  // Those that wait look again at what they wait for.
  virtual void Changed() = 0;
  // Runs it soon, under the lock, on a polling thread. From any thread.
  virtual void Later(std::function<void()> work) = 0;
  // The parts' timers look at the time then.
  virtual void WakeAt(absl::Time when) = 0;

  // Starts; ends in ObjectTable::Stored.
  virtual void PutIntoStore(const ObjectId& id, const ValuePtr& value) = 0;
  // Starts; ends in TaskTable::Lost where no copy is found.
  virtual void LookInStore(const ObjectId& id) = 0;
  virtual void DeleteFromStore(const ObjectId& id) = 0;
  // Nothing in this process, and where it owns it elsewhere, refers any more
  // to an actor.
  virtual void ActorUnreferenced(const ObjectId& actor) = 0;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_WORKER_SURROUNDINGS_H_
