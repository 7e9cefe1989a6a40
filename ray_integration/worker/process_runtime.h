// A process of the task runtime, driver or worker: what its program calls, and
// what other processes and agents tell it.
//
// All its parts are under one lock. Whoever waits, polls (link/poller.h): the
// thread that calls Get reads the answer itself.
//
// Thread safety: thread-safe; RunTasks on the main thread.

#ifndef HOPLITE_RAY_INTEGRATION_WORKER_PROCESS_RUNTIME_H_
#define HOPLITE_RAY_INTEGRATION_WORKER_PROCESS_RUNTIME_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/mutex.h"
#include "ray_integration/api/runtime.h"
#include "ray_integration/link/poller.h"
#include "ray_integration/worker/actor_table.h"
#include "ray_integration/worker/executor.h"
#include "ray_integration/worker/fetcher.h"
#include "ray_integration/worker/object_table.h"
#include "ray_integration/worker/peers.h"
#include "ray_integration/worker/surroundings.h"
#include "ray_integration/worker/task_table.h"
#include "ray_integration/worker/task_trace.h"
#include "ray_integration/worker/worker_memory.h"

namespace hoplite::task {

struct ProcessOptions {
  std::string node;         // its socket; empty: the only one here
  std::uint64_t token = 0;  // of a worker: what its agent started it with
  int memory = -1;          // of a worker: see worker_memory.h
  bool is_worker() const { return token != 0; }
};

class ProcessRuntime final : public Runtime,
                             private Surroundings,
                             private HandleMaker {
 public:
  // Errors: kUnavailable where no node is there; kFailedPrecondition where its
  // agent refuses this program, and why.
  static absl::StatusOr<std::unique_ptr<ProcessRuntime>> Start(
      const ProcessOptions& options);
  ~ProcessRuntime() override;

  // Of a worker: runs what comes until the agent, or its end, ends it.
  void RunTasks();
  // Ends all calls, and leaves.
  void Stop();

  Reference Submit(Call call) override;
  ActorReference CreateActor(Call factory, ActorOptions options) override;
  Reference CallActor(const ActorReference& actor, Call call) override;
  absl::StatusOr<Reference> Put(const Encoded& value) override;
  absl::StatusOr<Stored> Get(const Reference& reference,
                             absl::Duration timeout) override;
  absl::StatusOr<std::vector<std::size_t>> Wait(
      std::span<const Reference> references, std::size_t k,
      absl::Duration timeout) override;
  Reference Reduce(std::vector<Reference> sources, ReduceOp op, DataType type,
                   std::optional<std::uint32_t> count) override;
  absl::StatusOr<std::vector<ObjectId>> ReducedRefs(
      const Reference& target, absl::Duration timeout) override;
  void Cancel(const Reference& reference, bool force) override;
  void Kill(const ActorReference& actor) override;
  bool IsCancelled() override;
  Reference FailedReference(absl::Status why) override;
  ActorReference FailedActor(absl::Status why) override;

  // Of the task that runs: which sources its result is made of.
  void SetReduced(std::vector<ObjectId> sources);
  // A handle in the program is gone. Takes no lock but its own.
  void Dropped(const ObjectId& id);

 private:
  struct Reduction {
    ObjectId target;
    std::vector<ObjectId> sources;
  };

  ProcessRuntime(const ProcessOptions& options, std::unique_ptr<Client> client,
                 std::unique_ptr<Poller> poller);
  absl::Status Register(const NodeReport& report);

  // Surroundings.
  const Endpoint& self() const override { return self_; }
  NodeInfo home() const override { return home_; }
  absl::Time Now() const override;
  void Send(const Endpoint& to, const Message& message) override;
  void SendAgent(const NodeInfo& node, const Message& message) override;
  void Changed() override;
  void Later(std::function<void()> work) override;
  void WakeAt(absl::Time when) override;
  void PutIntoStore(const ObjectId& id, const ValuePtr& value) override;
  void LookInStore(const ObjectId& id) override;
  void DeleteFromStore(const ObjectId& id) override;
  void ActorUnreferenced(const ObjectId& actor) override;
  Reference HandleOf(const ObjectId& id) override;
  ActorReference ActorHandleOf(const ObjectId& id) override;

  // All below under the lock, but for those that say otherwise.
  void OnMessage(const Endpoint& from, Message message);
  void OnAgentMessage(const NodeInfo& from, Message message);
  void OnNodes(const message::Nodes& nodes);
  void OnProcessEnded(const ProcessId& process, const std::string& why);
  void OnLinkClosed(const ProcessId& process)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnAgentClosed(const NodeRef& node, const absl::Status& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnTimer();
  void SayThatItOwns();
  void SweepDropped();

  TaskPtr MakeTask(Call call);
  ArgumentInfo MakeArgument(const Argument& argument,
                            std::vector<Reference>& kept);
  ValueInfo InlineValue(const Encoded& value);
  void AddInner(const Encoded& value, ValueInfo& info);
  Reference ReduceInStore(const std::vector<Reference>& sources, ReduceOp op,
                          DataType type, std::optional<std::uint32_t> count);
  Reference ReduceByTask(const std::vector<Reference>& sources, ReduceOp op,
                         DataType type, std::optional<std::uint32_t> count);
  void OnReduced(const Reduction& reduction,
                 const absl::StatusOr<ReduceResult>& result);

  // Without the lock: `done` is called under it. False at the deadline, or
  // when this task is cancelled or the process ends.
  bool Await(absl::FunctionRef<bool()> done, absl::Time deadline);
  absl::Status WhyNot(absl::Time deadline, const std::string& what);
  std::string DescribeLocked(const ObjectId& id);
  // Without the lock.
  void RunOne(const IncomingPtr& incoming);
  absl::Status WriteToStore(const ObjectId& id, const Encoded& value);
  absl::StatusOr<Reference> PutLarge(const Encoded& value);

  const ProcessOptions options_;
  const std::unique_ptr<Client> client_;
  const std::unique_ptr<Poller> poller_;
  WorkerMemory memory_;  // written on the main thread
  TaskTrace trace_;      // likewise
  Mutex mutex_;
  Endpoint self_;  // constant once registered, like the next
  NodeInfo home_;
  bool plain_ = false;
  std::uint64_t small_bytes_ = 0;
  std::optional<message::Registered> registered_ ABSL_GUARDED_BY(mutex_);
  absl::Status ended_ ABSL_GUARDED_BY(mutex_);  // why it cannot go on
  Peers peers_;
  ObjectTable objects_;
  TaskTable tasks_;
  ActorTable actors_;
  Fetcher fetcher_;
  Executor executor_;
  std::vector<NodeInfo> nodes_;
  std::vector<Reduction> reductions_;
  bool says_it_owns_ = false;
  absl::Time next_wake_ = absl::InfiniteFuture();

  Mutex dropped_mutex_;
  std::vector<ObjectId> dropped_ ABSL_GUARDED_BY(dropped_mutex_);
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_WORKER_PROCESS_RUNTIME_H_
