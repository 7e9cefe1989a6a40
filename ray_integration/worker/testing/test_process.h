// A process without its surroundings: its objects, tasks, leases and actors,
// and workers that are played by hand.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_RAY_INTEGRATION_WORKER_TESTING_TEST_PROCESS_H_
#define HOPLITE_RAY_INTEGRATION_WORKER_TESTING_TEST_PROCESS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "ray_integration/base/process_id.h"
#include "ray_integration/wire/message.h"
#include "ray_integration/wire/values.h"
#include "ray_integration/worker/actor_table.h"
#include "ray_integration/worker/object_table.h"
#include "ray_integration/worker/task.h"
#include "ray_integration/worker/task_table.h"
#include "ray_integration/worker/testing/fake_surroundings.h"

namespace hoplite::task {

ValuePtr SmallValue(const std::string& bytes);
// Made by that node.
ValuePtr LargeValue(std::uint32_t node = 1, std::uint64_t size = 1 << 20);

struct TestProcess {
  explicit TestProcess(
      std::uint64_t lineage_bytes_max = TaskTable::kLineageBytesMax);

  FakeSurroundings surroundings;
  ObjectTable objects{surroundings};
  TaskTable tasks;
  ActorTable actors{surroundings, objects, tasks};

  // A pending object of this process, with one handle.
  ObjectId NewObject();
  // As the runtime makes one; its result is owned and has one handle.
  TaskPtr NewTask(const std::string& function,
                  const std::vector<ObjectId>& arguments = {});
  TaskPtr Submit(const std::string& function,
                 const std::vector<ObjectId>& arguments = {});

  // An actor with one handle, not yet alive.
  TaskPtr NewActor(int restarts = 0, bool retry_calls = false);
  TaskPtr Call(const ObjectId& actor,
               const std::vector<ObjectId>& arguments = {});

  // Grants the oldest request for a lease that has not been taken.
  void Grant(const Endpoint& worker);
  // What has been sent to be run, in order.
  std::vector<message::PushTask> TakePushed();
  // The answer of the worker that has the task.
  void Answer(const TaskPtr& task, ValuePtr value);
  void AnswerError(const TaskPtr& task, const absl::Status& error);
  void EndWorker(const Endpoint& worker, const ObjectId& begun = {});
  // Grants the factory's lease, and answers for it.
  void StartActor(const TaskPtr& creation, const Endpoint& worker);

  const ObjectEntry& EntryOf(const ObjectId& id);
  absl::Status ErrorOf(const TaskPtr& task);
  void Pass(absl::Duration time);
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_WORKER_TESTING_TEST_PROCESS_H_
