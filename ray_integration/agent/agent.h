// The agent of a node: what of the task runtime lives in a node's process.
//
// It knows the processes of its node, drives the node's scheduler, starts
// workers, brings a task's arguments to the node, and tells others of
// processes that have ended. The agent of the head's node passes on what all
// must hear.
//
//   auto agent = Agent::Create(options);
//   node_options.agent_address = (*agent)->address();
//   node_options.membership_observer = agent->get();
//   auto node = NodeServer::Start(node_options);
//   (*agent)->Attach(**node);
//
// Thread safety: thread-safe.

#ifndef HOPLITE_RAY_INTEGRATION_AGENT_AGENT_H_
#define HOPLITE_RAY_INTEGRATION_AGENT_AGENT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/mutex.h"
#include "hoplite/runtime/membership_observer.h"
#include "hoplite/runtime/node_server.h"
#include "ray_integration/agent/agent_state.h"
#include "ray_integration/agent/worker_processes.h"
#include "ray_integration/link/poller.h"
#include "ray_integration/scheduler/scheduler.h"
#include "ray_integration/wire/message.h"

namespace hoplite::task {

struct AgentOptions {
  Resources total;   // what tasks may use here
  std::string host;  // the name that tasks may ask for
  std::uint64_t store_bytes = std::uint64_t{1} << 30;
};

class Agent final : public MembershipObserver {
 public:
  // Errors: kUnavailable where it cannot listen.
  static absl::StatusOr<std::unique_ptr<Agent>> Create(
      const AgentOptions& options);
  // As Stop does.
  ~Agent() override;

  // Where other nodes reach it: for NodeOptions::agent_address.
  const std::string& address() const { return address_; }
  // From here on it serves. Ownership: the node outlives Stop.
  // Errors: kUnavailable where the node serves no clients.
  absl::Status Attach(NodeServer& node);
  // Ends all workers. Before the node's Stop.
  void Stop();

  void OnLifeBegan(const Member& self) override;
  void OnMemberJoined(const Member& member) override;
  void OnMemberLost(NodeRef member) override;
  void OnLifeEnded(absl::string_view why) override;

 private:
  class Handler;

  Agent(const AgentOptions& options, std::unique_ptr<Poller> poller);
  std::shared_ptr<LinkHandler> Accept(const LinkPtr& link);
  // What others say; under the lock from here on.
  void OnMessage(Peer& peer, Message message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnHello(Peer& peer, const message::Hello& hello)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Register(Peer& peer, const message::Hello& hello)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnRequest(Peer& peer, message::LeaseRequest request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnLoads(Peer& peer, const message::Loads& loads)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnProcessEnded(const message::ProcessEnded& ended)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The driver, or with no worker number all of its node, needs none any more.
  void EndPrograms(const ProcessId& driver)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnLinkClosed(const std::shared_ptr<Peer>& peer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnWorkerProcessEnded(std::uint64_t token, const std::string& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnLine(std::uint64_t token, bool error, std::string line)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ProcessGone(const ProcessId& process, const std::string& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Runs the scheduler and does what it orders.
  void Schedule(const SchedulerEvent& event)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Tick() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Carry(const SchedulerCommands& commands)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Do(const scheduler_command::StartWorker& start)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Do(const scheduler_command::EndWorker& end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Do(const scheduler_command::FailBlockedCall& fail)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Do(const scheduler_command::FetchArguments& fetch)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Do(const scheduler_command::DropArguments& drop)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Do(const scheduler_command::GrantLease& grant)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Do(const scheduler_command::ForwardLease& forward)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Do(const scheduler_command::RefuseLease& refuse)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Do(const scheduler_command::ReclaimLease& reclaim)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Do(const scheduler_command::PublishLoad& load)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // To every agent, from the head's; else to the head's.
  void TellAll(const Message& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SendAgent(const NodeRef& node, const Message& message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SendOwner(const ProcessId& owner, const Message& message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SendLocals(const Message& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  message::Nodes NodeList() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string Report() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndLife() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool is_head() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const AgentOptions options_;
  std::string address_;
  const std::unique_ptr<Poller> poller_;
  Mutex mutex_;
  NodeServer* node_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::unique_ptr<Client> client_ ABSL_GUARDED_BY(mutex_);
  std::string socket_ ABSL_GUARDED_BY(mutex_);
  // All of one life.
  std::optional<AgentState> life_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::uint64_t next_token_ ABSL_GUARDED_BY(mutex_) = 1;
  std::unique_ptr<WorkerProcesses> children_;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_AGENT_AGENT_H_
