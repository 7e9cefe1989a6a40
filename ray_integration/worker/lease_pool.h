// The workers that a process leases, and the tasks that it sends to them.
//
// Tasks that may share workers form a group: the same resources, place, depth
// and by-reference arguments. A group asks agents for leases as long as tasks
// wait, sends each worker as many tasks ahead as take about a millisecond, and
// gives a worker back when it has had nothing to do for a while.
//
// Not responsible for: what becomes of a task whose worker has died.
// Thread safety: none; the runtime's lock.

#ifndef HOPLITE_RAY_INTEGRATION_WORKER_LEASE_POOL_H_
#define HOPLITE_RAY_INTEGRATION_WORKER_LEASE_POOL_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "ray_integration/base/process_id.h"
#include "ray_integration/wire/message.h"
#include "ray_integration/wire/values.h"
#include "ray_integration/worker/surroundings.h"
#include "ray_integration/worker/task.h"

namespace hoplite::task {

// What the pool asks of the tasks' owner.
struct LeaseCalls {
  // Sends the task to the worker; its arguments are all settled.
  std::function<void(const TaskPtr& task)> push;
  // The task can get no worker.
  std::function<void(const TaskPtr& task, const absl::Status& why)> fail;
  // What an agent should know of the task's by-reference arguments.
  std::function<std::vector<message::LeaseArgument>(const Task& task)>
      arguments;
};

class LeasePool {
 public:
  LeasePool(Surroundings& surroundings, LeaseCalls calls)
      : surroundings_(surroundings), calls_(std::move(calls)) {}

  // REQUIRES: the task's phase is not kSent.
  void Enqueue(const TaskPtr& task);
  // Takes it out, where it waits for a worker.
  void Remove(const TaskPtr& task);
  // It has been answered: its worker is free for another.
  void Answered(const Task& task, std::uint32_t micros);

  void OnGranted(const NodeInfo& from, const message::LeaseGranted& granted);
  void OnForwarded(const message::LeaseForwarded& forwarded);
  void OnRefused(const message::LeaseRefused& refused);
  void OnReclaim(const NodeInfo& from, const WorkerNumber& worker);
  // Tasks that a worker has not begun.
  void OnReturned(const ProcessId& worker,
                  const std::vector<ObjectId>& results);
  // The worker, or with no number each of its node's, is gone: the tasks that
  // it had, those first that it may have begun.
  std::vector<TaskPtr> TakeTasksOf(const ProcessId& ended);
  // What was asked of an agent there has to be asked again.
  void OnAgentLost(const NodeRef& node);
  // Kills the worker that has the task, for an actor or with force.
  void EndWorkerOf(const Task& task);
  // What is under way there is lost.
  void EndWorker(const ProcessId& worker);
  // An actor is done with its worker: it ends.
  void EndLease(std::uint64_t lease);

  void OnTimer(absl::Time now);

 private:
  struct Group;
  struct Request {
    Group* group = nullptr;
    NodeInfo asked;
    std::uint32_t hops = 0;
    absl::Time made;
  };
  struct Lease {
    std::uint64_t number = 0;
    Endpoint worker;
    NodeInfo node;
    Group* group = nullptr;
    std::deque<TaskPtr> sent;
    std::optional<std::uint32_t> micros;  // that a task takes, of late
    absl::Time idle_since;
    bool reclaimed = false;
    bool asked_back = false;  // those sent ahead
  };
  struct Group {
    std::string key;
    bool actor = false;
    std::deque<TaskPtr> queue;
    std::set<std::uint64_t> requests;
    std::set<std::uint64_t> leases;
    absl::Time not_before = absl::InfinitePast();  // after "queue full"
  };

  static std::string KeyOf(const Task& task);
  static std::size_t WindowOf(const Lease& lease);
  void Pump(Group& group);
  Lease* FreestOf(Group& group);
  void AskForLeases(Group& group);
  void Ask(std::uint64_t number, const Request& request);
  void WithdrawAll(Group& group);
  void Return(std::uint64_t lease);
  void EraseIfIdle(Group& group);
  void Wake(absl::Duration after);

  Surroundings& surroundings_;
  const LeaseCalls calls_;
  std::map<std::string, Group> groups_;
  std::map<std::uint64_t, Request> requests_;
  std::map<std::uint64_t, Lease> leases_;
  absl::flat_hash_map<ProcessId, std::uint64_t> by_worker_;
  std::uint64_t next_number_ = 1;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_WORKER_LEASE_POOL_H_
