// Carries control messages between nodes, in order, in batches.
//
// A node keeps one stream to the head and, from first use, one to each node
// that it sends to. A stream that has broken (PeerLost) is made anew at once:
// that the peer stands (PeerReturned), that it is dead, because nobody answers
// at its address or another life of it does (PeerDied), or nothing is found
// out, and it is tried again when something is sent. Each direction between two
// nodes stays on one stream until that breaks, so the messages of one sender to
// one receiver arrive in order and at most once. What is lost with a broken
// stream is sent again by the core, not here: so both sides hear PeerLost and
// PeerReturned, also where only one has seen the stream break; what either has
// sent before its PeerReturned may be lost, and nothing that it sends later.
//
// Not responsible for: what messages mean; bytes of objects (data_plane.h).
// Thread safety: thread-safe. Callbacks come from the transport's own threads,
// one at a time for each peer, and may call Send.

#ifndef HOPLITE_NET_CONTROL_TRANSPORT_H_
#define HOPLITE_NET_CONTROL_TRANSPORT_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/core/event.h"

namespace hoplite {

// What a new member is told: its identity and its cluster.
struct Welcome {
  ClusterId cluster;
  Member self;
  std::vector<Member> members;  // all living ones, the new one included
  ShardMap shard_map;
};

class ControlTransport {
 public:
  // MessageReceived, PeerLost, PeerReturned, PeerDied, JoinRequested,
  // ReturnRequested, LatencyMeasured.
  using EventSink = std::function<void(Event)>;

  // Stops as Shutdown does.
  virtual ~ControlTransport() = default;

  // host:port where this node listens, with the real port.
  virtual std::string address() const = 0;

  // Asks the head at `head_address` to take this node in; blocks. An empty
  // `agent_address`: nothing runs above this node.
  // Errors: kUnavailable (naming the address and the reason) where the head
  // cannot be reached, kDeadlineExceeded, kFailedPrecondition where it is no
  // head or speaks another protocol version.
  virtual absl::StatusOr<Welcome> Join(absl::string_view head_address,
                                       absl::string_view data_address,
                                       absl::string_view agent_address,
                                       absl::Time deadline) = 0;

  // Asks the head at `head_address` to go on with this node, a member that has
  // lost sight of it; blocks.
  // Errors: as of Join, and kAborted, with the head's reason: this incarnation
  // is over. After all others it is worth another try.
  virtual absl::StatusOr<Welcome> Return(absl::string_view head_address,
                                         const ClusterView& view,
                                         absl::Time deadline) = 0;

  // Gives this node its identity, and the sink for all that arrives. Nothing
  // but joins is sent or taken before. REQUIRES: called once.
  virtual void Start(ClusterId cluster, NodeRef self, EventSink sink) = 0;

  // Answers a JoinRequested or a ReturnRequested by its token.
  virtual void Admit(std::uint64_t token, const Welcome& welcome) = 0;
  // Answers a ReturnRequested: the caller's Return ends with kAborted.
  virtual void RefuseReturn(std::uint64_t token, absl::string_view reason) = 0;

  // From now on the member is reached at its address. What was sent to it
  // before it was known goes out now.
  virtual void Learn(const Member& member) = 0;
  // Cuts the streams of this incarnation and refuses new ones.
  virtual void Forget(NodeRef member) = 0;

  // Queues a message; never blocks. To a node that is not (yet) known: kept
  // until Learn. REQUIRES: `to` is another node.
  virtual void Send(NodeRef to, const Message& message) = 0;

  // Ends every stream; no callback comes after it has returned. Bounded: at
  // most a second.
  virtual void Shutdown() = 0;
};

}  // namespace hoplite

#endif  // HOPLITE_NET_CONTROL_TRANSPORT_H_
