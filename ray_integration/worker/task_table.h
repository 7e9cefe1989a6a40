// The tasks that a process owns: from their submission to their result, and
// again where a result is lost.
//
// A task waits for its arguments, then for a worker (LeasePool) or its turn at
// an actor (ActorTable), and is done with its answer. One whose worker dies is
// sent again, as often as it may. A result that is lost is made again by the
// same task, its lost arguments first.
//
// Thread safety: none; the runtime's lock.

#ifndef HOPLITE_RAY_INTEGRATION_WORKER_TASK_TABLE_H_
#define HOPLITE_RAY_INTEGRATION_WORKER_TASK_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "hoplite/base/id.h"
#include "ray_integration/base/process_id.h"
#include "ray_integration/wire/message.h"
#include "ray_integration/wire/values.h"
#include "ray_integration/worker/lease_pool.h"
#include "ray_integration/worker/object_table.h"
#include "ray_integration/worker/surroundings.h"
#include "ray_integration/worker/task.h"

namespace hoplite::task {

// Where a task goes that is no ordinary one.
struct TaskCalls {
  // An actor's call whose arguments are there.
  std::function<void(const TaskPtr& task)> call_ready;
  // An actor's call that has its answer, or goes without.
  std::function<void(const TaskPtr& task)> call_done;
  // The answer to an actor's factory.
  std::function<void(const TaskPtr& task, const absl::Status& status)> created;
};

class TaskTable {
 public:
  // What is beyond the bound cannot be made again when it is lost.
  static constexpr std::uint64_t kLineageBytesMax = 256 << 20;

  TaskTable(Surroundings& surroundings, ObjectTable& objects, TaskCalls calls,
            std::uint64_t lineage_bytes_max = kLineageBytesMax);

  // Its result is owned from here on, and pending. REQUIRES: the references
  // among its arguments, and in them, are known.
  void Submit(const TaskPtr& task);
  // The message that has it run.
  void Push(const TaskPtr& task);
  // It ends with an error, which names it.
  void Fail(const TaskPtr& task, const absl::Status& why);
  // How many are not done.
  std::size_t unanswered() const { return unanswered_; }

  void OnAnswer(const Endpoint& from, const message::TaskAnswer& answer);
  // A worker, or with no number each of its node's, is gone. `begun`: the
  // result of the task that it ran, or none.
  void OnWorkerEnded(const ProcessId& worker, const std::string& why,
                     const ObjectId& begun);
  void Cancel(const ObjectId& result, bool force);
  // The bytes of an object that this process owns are gone: makes them again,
  // or says with its state why that cannot be.
  void Remake(const ObjectId& id);

  // An owned object that is suspect: makes sure that it is there, or is made
  // again.
  void Recover(const ObjectId& id);
  // No copy of it is left, and it cannot be made again.
  void Lost(const ObjectId& id);

  LeasePool& leases() { return leases_; }

 private:
  void Proceed(const TaskPtr& task);
  // Its arguments are held, and waited for.
  void WaitForArguments(const TaskPtr& task);
  void HoldArguments(const TaskPtr& task);
  void Finish(const TaskPtr& task);
  void KeepRecipe(const TaskPtr& task);
  void End(const TaskPtr& task, const absl::Status& error);
  void Accept(const Endpoint& from, const TaskPtr& task,
              const message::TaskAnswer& answer);
  // False where it may not.
  bool Retry(const TaskPtr& task);
  TaskPtr Copy(const Task& task);
  // Behind each task those that make its arguments, where they are gone. False
  // where one cannot be made.
  bool AddRecipes(std::vector<TaskPtr>& order);
  std::vector<message::LeaseArgument> LeaseArguments(const Task& task);

  Surroundings& surroundings_;
  ObjectTable& objects_;
  // Of all recipes that are kept; each subtracts its own when it goes.
  const std::shared_ptr<std::uint64_t> lineage_bytes_ =
      std::make_shared<std::uint64_t>(0);
  const std::uint64_t lineage_bytes_max_;
  const TaskCalls calls_;
  LeasePool leases_;
  std::size_t unanswered_ = 0;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_WORKER_TASK_TABLE_H_
