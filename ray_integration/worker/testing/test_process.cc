#include "ray_integration/worker/testing/test_process.h"

#include <memory>

#include "hoplite/base/check.h"

namespace hoplite::task {

ValuePtr SmallValue(const std::string& bytes) {
  auto value = std::make_shared<ValueInfo>();
  value->bytes = bytes;
  value->size = bytes.size();
  return value;
}

ValuePtr LargeValue(std::uint32_t node, std::uint64_t size) {
  auto value = std::make_shared<ValueInfo>();
  value->in_store = true;
  value->size = size;
  value->location = TestNodeInfo(node).node;
  return value;
}

TestProcess::TestProcess(std::uint64_t lineage_bytes_max)
    : tasks(
          surroundings, objects,
          {.call_ready =
               [this](const TaskPtr& call) { actors.CallReady(call); },
           .call_done = [this](const TaskPtr& call) { actors.CallDone(call); },
           .created =
               [this](const TaskPtr& task, const absl::Status& status) {
                 actors.Created(task, status);
               }},
          lineage_bytes_max) {
  surroundings.OnUnreferenced(
      [this](const ObjectId& actor) { actors.Unreferenced(actor); });
}

ObjectId TestProcess::NewObject() {
  const ObjectId id = objects.NewId();
  objects.Own(id);
  objects.AddHandle(id);
  return id;
}

TaskPtr TestProcess::NewTask(const std::string& function,
                             const std::vector<ObjectId>& arguments) {
  auto task = std::make_shared<Task>();
  task->info.function = function;
  task->info.result = NewObject();
  task->info.depth = 1;
  task->resources = {{"cpu", 1000}};
  task->retries_left = 3;
  for (const ObjectId& id : arguments) {
    task->info.arguments.push_back({.reference = objects.InfoOf(id)});
  }
  return task;
}

TaskPtr TestProcess::Submit(const std::string& function,
                            const std::vector<ObjectId>& arguments) {
  TaskPtr task = NewTask(function, arguments);
  tasks.Submit(task);
  return task;
}

TaskPtr TestProcess::NewActor(int restarts, bool retry_calls) {
  TaskPtr creation = NewTask("MakeActor");
  creation->resources = {};
  objects.Own(creation->info.result).actor = true;
  actors.Create(creation, restarts, retry_calls);
  return creation;
}

TaskPtr TestProcess::Call(const ObjectId& actor,
                          const std::vector<ObjectId>& arguments) {
  TaskPtr call = NewTask("Method", arguments);
  call->info.actor = actor;
  actors.Call(call);
  return call;
}

void TestProcess::Grant(const Endpoint& worker) {
  auto requests = surroundings.TakeOfAgents<message::LeaseRequest>();
  HOPLITE_CHECK(!requests.empty());
  for (std::size_t i = 1; i < requests.size(); ++i) {
    surroundings.SendAgent(requests[i].first, requests[i].second);
  }
  tasks.leases().OnGranted(
      requests[0].first,
      {.number = requests[0].second.number, .worker = worker});
}

std::vector<message::PushTask> TestProcess::TakePushed() {
  std::vector<message::PushTask> pushed;
  for (auto& [to, push] : surroundings.Take<message::PushTask>()) {
    pushed.push_back(std::move(push));
  }
  return pushed;
}

void TestProcess::Answer(const TaskPtr& task, ValuePtr value) {
  tasks.OnAnswer(task->worker, {.result = task->info.result,
                                .attempt = task->info.attempt,
                                .value = *value,
                                .run_micros = 10});
}

void TestProcess::AnswerError(const TaskPtr& task, const absl::Status& error) {
  tasks.OnAnswer(task->worker, {.result = task->info.result,
                                .attempt = task->info.attempt,
                                .error = ToInfo(error),
                                .run_micros = 10});
}

void TestProcess::EndWorker(const Endpoint& worker, const ObjectId& begun) {
  tasks.OnWorkerEnded(worker.process, "killed by signal 9", begun);
  actors.OnWorkerEnded(worker.process, "killed by signal 9");
}

void TestProcess::StartActor(const TaskPtr& creation, const Endpoint& worker) {
  TakePushed();
  Grant(worker);
  HOPLITE_CHECK(TakePushed().size() == 1);
  Answer(creation, SmallValue(""));
}

const ObjectEntry& TestProcess::EntryOf(const ObjectId& id) {
  const ObjectEntry* const entry = objects.Find(id);
  HOPLITE_CHECK(entry != nullptr);
  return *entry;
}

absl::Status TestProcess::ErrorOf(const TaskPtr& task) {
  return EntryOf(task->info.result).error;
}

void TestProcess::Pass(absl::Duration time) {
  surroundings.Pass(time,
                    [this] { tasks.leases().OnTimer(surroundings.Now()); });
}

}  // namespace hoplite::task
