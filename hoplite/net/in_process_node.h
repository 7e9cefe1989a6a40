// One node of an InProcessNetwork.
//
// Thread safety: thread-safe. Locks are taken in the order: a node's state,
// the network, a node's inbox.

#ifndef HOPLITE_NET_IN_PROCESS_NODE_H_
#define HOPLITE_NET_IN_PROCESS_NODE_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "hoplite/base/mutex.h"
#include "hoplite/net/in_process_control.h"
#include "hoplite/wire/codec.h"

namespace hoplite {

class InProcessNode : public ControlTransport {
 public:
  InProcessNode(std::shared_ptr<InProcessNetwork> network, std::string address);
  ~InProcessNode() override { Shutdown(); }

  std::string address() const override { return address_; }
  absl::StatusOr<Welcome> Join(absl::string_view head_address,
                               absl::string_view data_address,
                               absl::string_view agent_address,
                               absl::Time deadline) override;
  absl::StatusOr<Welcome> Return(absl::string_view head_address,
                                 const ClusterView& view,
                                 absl::Time deadline) override;
  void Start(ClusterId cluster, NodeRef self, EventSink sink) override;
  void Admit(std::uint64_t token, const Welcome& welcome) override;
  void RefuseReturn(std::uint64_t token, absl::string_view reason) override;
  void Learn(const Member& member) override;
  void Forget(NodeRef member) override;
  void Send(NodeRef to, const Message& message) override;
  void Shutdown() override;

  // Runs `work` on this node's thread, in order; after Shutdown, never.
  void Post(std::function<void(InProcessNode&)> work);

 private:
  using Clock = std::chrono::steady_clock;

  // A node that waits in Join, and the answer that it waits for.
  struct JoinCall {
    Mutex mutex;
    CondVar answered;
    std::optional<absl::StatusOr<Welcome>> answer ABSL_GUARDED_BY(mutex);

    void Answer(absl::StatusOr<Welcome> result);
  };
  using JoinCallPtr = std::shared_ptr<JoinCall>;
  struct JoinRequest {
    JoinCallPtr call;
    std::string control_address;
    std::string data_address;
    std::string agent_address;
    std::optional<ClusterView> view;  // of a member that returns
  };
  // Who sends, as a hello says it.
  struct Sender {
    ClusterId cluster;
    NodeRef from;
    NodeRef to;
    std::string address;
  };

  // Asks the head, and waits for its answer.
  absl::StatusOr<Welcome> AskHead(absl::string_view head_address,
                                  JoinRequest request, absl::Time deadline);
  void Answer(std::uint64_t token, absl::StatusOr<Welcome> result);
  void Run();
  void Deliver(Event event);
  bool IsForgotten(NodeRef member) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // True where this is the first message over the link.
  bool AddLink(NodeRef peer, const std::string& address)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SendTo(const std::string& address, NodeRef to, wire::Envelope envelope)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // On this node's thread.
  void HandleMessage(const Sender& sender, const wire::Envelope& envelope);
  void HandleLinkBroken(NodeRef peer);
  // Whether the peer, whose link has broken, is there: its answer comes to
  // HandlePeerFound.
  void Reconnect(NodeRef peer, const std::string& address);
  void HandleReconnect(const Sender& sender);
  void HandlePeerFound(NodeRef peer, const std::string& address, NodeRef found,
                       bool taken);
  void HandleProbe(const std::string& answer_to, Clock::time_point sent_at);
  void HandleProbeAnswer(Clock::time_point sent_at);
  void HandleJoin(JoinRequest request);
  void ConsiderJoin(std::uint64_t token, const JoinRequest& request);
  void HandleStarted();
  // After the thread has ended: tells senders that their messages are lost.
  void RefuseLeftovers();
  absl::Status ShuttingDown() const;

  const std::shared_ptr<InProcessNetwork> network_;
  const std::string address_;

  // Owned by the thread.
  absl::Duration least_round_trip_ = absl::InfiniteDuration();
  std::vector<std::function<void(InProcessNode&)>> early_;  // before Start

  EventSink sink_;  // written once, before started_

  mutable Mutex mutex_;  // the state
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  ClusterId cluster_ ABSL_GUARDED_BY(mutex_);
  NodeRef self_ ABSL_GUARDED_BY(mutex_);
  std::map<NodeRef, std::string> addresses_ ABSL_GUARDED_BY(mutex_);
  std::map<NodeRef, std::vector<wire::Envelope>> waiting_
      ABSL_GUARDED_BY(mutex_);
  std::map<NodeRef, std::string> links_ ABSL_GUARDED_BY(mutex_);
  std::map<NodeId, Incarnation> forgotten_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t last_token_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::uint64_t, JoinCallPtr> joins_ ABSL_GUARDED_BY(mutex_);
  std::vector<JoinCallPtr> own_joins_ ABSL_GUARDED_BY(mutex_);

  Mutex inbox_mutex_;
  CondVar arrived_;
  bool closed_ ABSL_GUARDED_BY(inbox_mutex_) = false;
  std::deque<std::function<void(InProcessNode&)>> inbox_
      ABSL_GUARDED_BY(inbox_mutex_);

  std::thread thread_;
};

}  // namespace hoplite

#endif  // HOPLITE_NET_IN_PROCESS_NODE_H_
