// Runs the tasks, or the one actor's calls, that other processes send here.
//
// Tasks arrive on a polling thread, and wait until their arguments are here.
// The worker's main thread runs them, one at a time: tasks in order, an
// actor's calls in each caller's order.
//
// Thread safety: all but Run under the runtime's lock; Run on one thread.

#ifndef HOPLITE_RAY_INTEGRATION_WORKER_EXECUTOR_H_
#define HOPLITE_RAY_INTEGRATION_WORKER_EXECUTOR_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "hoplite/base/id.h"
#include "hoplite/base/mutex.h"
#include "ray_integration/api/registry.h"
#include "ray_integration/api/value.h"
#include "ray_integration/wire/message.h"
#include "ray_integration/wire/values.h"
#include "ray_integration/worker/fetcher.h"
#include "ray_integration/worker/object_table.h"
#include "ray_integration/worker/surroundings.h"

namespace hoplite::task {

struct Incoming {
  Endpoint from;
  TaskInfo info;
  std::vector<Stored> arguments;
  std::size_t missing = 0;          // arguments that are not here
  absl::Status failure;             // of an argument
  std::size_t failed_argument = 0;  // its index
  std::vector<ObjectId> known;      // held for it
  std::atomic<bool> cancelled = false;
  std::vector<ObjectId> reduced;  // what a plain Reduce says of itself
};
using IncomingPtr = std::shared_ptr<Incoming>;

class Executor {
 public:
  Executor(Surroundings& surroundings, ObjectTable& objects, Fetcher& fetcher)
      : surroundings_(surroundings), objects_(objects), fetcher_(fetcher) {}

  void OnPush(const Endpoint& from, TaskInfo info);
  void OnCancel(const ObjectId& result);
  // Hands back what is not begun; nothing of an actor's.
  void ReturnUnbegun();
  // What a caller, or with no worker number all of a node, has is gone with it.
  void OnCallerEnded(const ProcessId& caller);
  void OnReceipt(const ObjectId& result);

  // The next that may run, taken out; null where there is none.
  IncomingPtr TakeNext();
  bool HasNext() const;
  // From its factory's beginning on.
  bool is_actor() const { return is_actor_; }

  // Runs it, without the lock.
  absl::StatusOr<Encoded> Run(Incoming& incoming);
  // Sends its answer: `value` has its inner references known. `kept` are their
  // handles.
  void Answer(const IncomingPtr& incoming, message::TaskAnswer answer,
              Encoded kept);

 private:
  struct Caller {
    std::uint64_t last_sequence = 0;
    std::map<std::uint64_t, message::TaskAnswer> answers;
  };

  std::deque<IncomingPtr>::const_iterator FindNext() const;
  // False where it was here before.
  bool IsNew(const Endpoint& from, const TaskInfo& info);
  void Gather(const IncomingPtr& incoming);
  void Know(Incoming& incoming, const ReferenceInfo& reference, bool actor);
  void SendAnswer(const Endpoint& to, const message::TaskAnswer& answer,
                  const TaskInfo& info);

  Surroundings& surroundings_;
  ObjectTable& objects_;
  Fetcher& fetcher_;
  Instance instance_;
  bool is_actor_ = false;
  std::deque<IncomingPtr> waiting_;
  IncomingPtr running_;
  absl::flat_hash_map<ProcessId, Caller> callers_;  // of an actor
  // References in results whose receipt is awaited.
  std::map<ObjectId, Encoded> unreceived_;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_WORKER_EXECUTOR_H_
