// The links of a process: to agents, and to the processes that it works with.
//
// A link is made when it is first needed and kept; either side may use one
// that the other has made. Over each, the first frame is a Hello.
//
// Thread safety: none; the runtime's lock. Its callbacks are called on polling
// threads, without the lock.

#ifndef HOPLITE_RAY_INTEGRATION_WORKER_PEERS_H_
#define HOPLITE_RAY_INTEGRATION_WORKER_PEERS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "hoplite/base/id.h"
#include "ray_integration/base/process_id.h"
#include "ray_integration/link/poller.h"
#include "ray_integration/wire/message.h"
#include "ray_integration/wire/values.h"

namespace hoplite::task {

struct PeerCalls {
  std::function<void(const Endpoint& from, Message message)> message;
  std::function<void(const NodeInfo& from, Message message)> agent_message;
  std::function<void()> batch_end;
  std::function<void(const ProcessId& process)> closed;
  std::function<void(const NodeRef& node, const absl::Status& why)>
      agent_closed;
  // Another process has said hello over `link`.
  std::function<void(const LinkPtr& link, const Endpoint& from)> hello;
};

class Peers {
 public:
  // REQUIRES: the poller is stopped before this goes.
  Peers(Poller& poller, PeerCalls calls);

  // Before anything else: what each Hello of this process says.
  void Introduce(const message::Hello& hello);
  // After the agent has given it: by which those of this node are reached.
  void SetSockets(const std::string& sockets) { sockets_ = sockets; }

  // Listens there for other processes; the real address. Errors: Poller's.
  absl::StatusOr<std::string> Listen(const std::string& address);
  // The agent of this process's own node, by its Unix socket.
  void ConnectHome(const std::string& socket);
  void SetHome(const NodeInfo& home) { home_ = home; }

  void Send(const Endpoint& to, const Message& message);
  void SendAgent(const NodeInfo& node, const Message& message);
  // It has said hello over a link that it has made.
  void Add(const LinkPtr& link, const Endpoint& from);
  void Forget(const ProcessId& process);
  void ForgetAgent(const NodeRef& node);
  // From here on no link is made.
  void Stop() { stopped_ = true; }
  // Nothing is sent there any more.
  void SetEnded(const ProcessId& process);

 private:
  class Handler;

  LinkPtr Connect(const std::string& address,
                  std::shared_ptr<LinkHandler> handler);
  bool HasEnded(const ProcessId& process) const;

  Poller& poller_;
  const std::shared_ptr<const PeerCalls> calls_;
  bool stopped_ = false;
  message::Hello hello_;
  NodeInfo home_;
  LinkPtr home_link_;
  std::string sockets_;
  absl::flat_hash_map<ProcessId, LinkPtr> processes_;
  absl::flat_hash_map<NodeRef, LinkPtr> agents_;
  std::vector<ProcessId> ended_;  // the latest
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_WORKER_PEERS_H_
