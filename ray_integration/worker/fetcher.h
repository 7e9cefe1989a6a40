// Brings the values of references to this process: from their owners, where
// they are small, and else from the node's store, in place.
//
// A value that turns out to be lost is made again by its owner, and fetched
// again.
//
// Thread safety: as its runtime; Fetch under the runtime's lock.

#ifndef HOPLITE_RAY_INTEGRATION_WORKER_FETCHER_H_
#define HOPLITE_RAY_INTEGRATION_WORKER_FETCHER_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/id.h"
#include "ray_integration/api/value.h"
#include "ray_integration/wire/values.h"
#include "ray_integration/worker/object_table.h"
#include "ray_integration/worker/surroundings.h"
#include "ray_integration/worker/task_table.h"

namespace hoplite::task {

// Makes the program's handles of references and actors that are known.
class HandleMaker {
 public:
  virtual ~HandleMaker() = default;
  virtual Reference HandleOf(const ObjectId& id) = 0;
  virtual ActorReference ActorHandleOf(const ObjectId& id) = 0;
};

class Fetcher {
 public:
  // Called under the lock; perhaps before Fetch returns.
  using Done = std::function<void(absl::StatusOr<Stored>)>;

  Fetcher(Surroundings& surroundings, ObjectTable& objects, TaskTable& tasks,
          HandleMaker& handles, Client& client)
      : surroundings_(surroundings),
        objects_(objects),
        tasks_(tasks),
        handles_(handles),
        client_(client) {}

  // Waits, without a deadline, until the object is ready or failed.
  // `begun`: it is being made in the store, where waiting for it is worth it.
  // REQUIRES: the object is known, and held until `done` is called.
  void Fetch(const ObjectId& id, bool begun, Done done);
  // What came with a message. REQUIRES: not in the store; what it refers to is
  // known.
  Stored Open(const ValuePtr& value);

 private:
  void OnSettled(const ObjectId& id, int tries, const Done& done);
  void OnBuffer(const ObjectId& id, int tries, const Done& done,
                const absl::StatusOr<Buffer>& buffer);
  void AddHandles(const ValueInfo& value, Stored& stored);

  Surroundings& surroundings_;
  ObjectTable& objects_;
  TaskTable& tasks_;
  HandleMaker& handles_;
  Client& client_;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_WORKER_FETCHER_H_
