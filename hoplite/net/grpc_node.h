// The node behind GrpcControl: its peers and their streams.
//
// A peer has the stream that takes what is sent to it, or an outbox where
// that waits. A link is a stream, with what is known of its other end. What
// is decided is decided under one lock; calls of gRPC on a hot path are made
// outside it.
//
// Thread safety: thread-safe; callbacks come from the polling thread.

#ifndef HOPLITE_NET_GRPC_NODE_H_
#define HOPLITE_NET_GRPC_NODE_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "hoplite/base/mutex.h"
#include "hoplite/net/control_transport.h"
#include "hoplite/net/grpc_join.h"
#include "hoplite/net/grpc_loop.h"
#include "hoplite/net/grpc_stream.h"
#include "hoplite/net/host_port.h"
#include "hoplite/net/outbox.h"

namespace hoplite {

class GrpcNode : public ControlTransport, public GrpcStream::Owner {
 public:
  GrpcNode(HostPort listen, std::string advertise)
      : listen_(std::move(listen)), advertise_(std::move(advertise)) {}
  ~GrpcNode() override;

  // Listens. Errors: as GrpcControl::Listen. REQUIRES: before all else.
  absl::Status Open();

  std::string address() const override;
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

 private:
  using Clock = GrpcLoop::Clock;
  using StreamPtr = std::shared_ptr<GrpcStream>;

  struct Link {
    StreamPtr stream = nullptr;
    NodeRef peer = {};                    // none until an accepted one's hello
    bool opened = false;                  // by this node
    bool established = false;             // the hello was taken
    bool cut = false;                     // by this node: no news to anybody
    bool stale = false;                   // the peer sends on another by now
    std::vector<wire::Batch> early = {};  // came before Start
  };
  struct Peer {
    std::optional<HostPort> address;  // once learned
    StreamPtr stream;                 // takes what is sent, or none
    StreamPtr heard;                  // brought its latest message, or none
    Outbox waiting;                   // while there is none
    // A stream is opened with nothing to send: to the head, so that each hears
    // of the other's death, and to whom a stream has broken.
    bool wanted = false;
    bool lost = false;        // PeerLost was said, PeerReturned was not
    Clock::duration pause{};  // before the next attempt
    Clock::time_point retry_at{};
  };

  void Deliver(Event event);
  // Makes `call` with a context that ends at the deadline and with this node.
  absl::StatusOr<Welcome> AskHead(
      absl::Time deadline,
      absl::FunctionRef<absl::StatusOr<Welcome>(grpc::ClientContext&)> call);

  // --- Peers. ---
  bool IsForgotten(NodeRef member) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A stream that the peer has opened, or null.
  StreamPtr FindAccepted(NodeRef member) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Opens a stream where something waits and it is time. The result, where
  // there is one, has to be started.
  StreamPtr OpenIfDue(NodeRef to, Peer& peer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RetryPeers();

  // --- Streams. ---
  void AcceptNext();
  void HandleAccepted(bool ok);
  void HandleBatch(GrpcStream& stream, wire::Batch& batch) override;
  void HandleRoundTrip(absl::Duration round_trip) override;
  void HandleEnd(GrpcStream& stream, const grpc::Status& status) override;
  // OK where the accepted stream's first batch may be believed.
  grpc::Status CheckHello(const wire::Batch& batch) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the first batch's word for who the peer is. `returned`: a stream to
  // it had been lost.
  grpc::Status Establish(Link& link, const wire::Batch& batch, bool& returned)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The peer has lost sight of this node, and says so on this stream. Where
  // that is news here, what is sent goes on it from now on, and the one that
  // took it before is returned, to be cut; else null.
  StreamPtr TurnTo(const Link& link) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // True where what is sent to the peer goes on a stream that it has taken.
  bool Stands(const Peer& peer) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // False for what comes on a stream that its sender has left for another: it
  // is late, and out of order.
  bool IsInOrder(Link& link) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void HandleMessages(GrpcStream& stream, NodeRef peer, wire::Batch& batch);
  void TakeEarlyBatches();
  void CutStreams();

  // Constant after Open.
  HostPort listen_;  // with the real port
  const std::string advertise_;
  wire::Control::AsyncService service_;
  std::unique_ptr<GrpcLoop> loop_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<JoinDesk> desk_;

  EventSink sink_;  // written once, before started_
  std::atomic<bool> stopping_{false};

  // Owned by the polling thread.
  absl::Duration least_round_trip_ = absl::InfiniteDuration();
  std::unique_ptr<AcceptedExchange> next_call_;
  Operation accepted_;

  mutable Mutex mutex_;
  CondVar idle_;  // a link, an own join or the acceptor has gone
  std::string host_ ABSL_GUARDED_BY(mutex_);
  bool accepting_ ABSL_GUARDED_BY(mutex_) = false;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool shut_down_ ABSL_GUARDED_BY(mutex_) = false;
  ClusterId cluster_ ABSL_GUARDED_BY(mutex_);
  NodeRef self_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<NodeRef, Peer> peers_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<const GrpcStream*, Link> links_ ABSL_GUARDED_BY(mutex_);
  // The highest incarnation of a node that is refused.
  absl::flat_hash_map<NodeId, Incarnation> forgotten_ ABSL_GUARDED_BY(mutex_);
  // Joins of this node that are under way.
  std::vector<grpc::ClientContext*> own_joins_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hoplite

#endif  // HOPLITE_NET_GRPC_NODE_H_
