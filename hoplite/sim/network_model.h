// The network: an uplink and a downlink for each node, a latency for each
// pair.
//
// A link carries one frame at a time. Streams that have a frame ready take
// turns, frame by frame; a control message goes before the next frame. A
// frame occupies the sender's uplink, travels for the pair's latency, and
// occupies the receiver's downlink from its first bit on (cut-through), so a
// hop on idle links takes latency + bytes/rate, and a chain pipelines.
//
// Not responsible for: what a stream carries and when it has something
// (FrameSource); loss: connections break at their ends.
// Thread safety: none; one thread at a time.
// Units: bytes, bytes a second.

#ifndef HOPLITE_SIM_NETWORK_MODEL_H_
#define HOPLITE_SIM_NETWORK_MODEL_H_

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "hoplite/sim/agenda.h"

namespace hoplite::sim {

struct NetworkOptions {
  absl::Duration latency = absl::Microseconds(50);  // one way, the least
  // Added to a pair's latency: a share of this, drawn from seed and pair.
  absl::Duration latency_spread;
  absl::Duration local_latency = absl::Microseconds(1);  // a node to itself
  absl::Duration frame_cost;  // from a frame's last bit to its use
  std::uint64_t bytes_per_second = 125'000'000;
  std::uint64_t seed = 1;
};

// One stream of frames from a server to a receiver.
using StreamId = StrongInt<struct StreamIdTag, std::uint32_t>;

struct Frame {
  std::uint64_t number = 0;  // comes back at its arrival
  bool last = false;         // of its stream
};

// What the streams carry: the other side of the network.
class FrameSource {
 public:
  virtual ~FrameSource() = default;
  // The size of the frame that the stream would send now; 0: none.
  virtual std::uint64_t ReadyBytes(StreamId stream) = 0;
  // That frame begins to leave.
  virtual Frame FrameLeaves(StreamId stream) = 0;
  // The last frame has left the sender's link.
  virtual void LastFrameLeft(StreamId stream) = 0;
  // All of the frame is at the receiver. Frames of a stream stay in order.
  virtual void FrameArrived(StreamId stream, std::uint64_t frame) = 0;
};

class NetworkModel {
 public:
  // Ownership: keeps `agenda` and `source`.
  NetworkModel(const NetworkOptions& options, Agenda* agenda,
               FrameSource* source);

  // One way; the same both ways.
  absl::Duration Latency(NodeId a, NodeId b) const;
  std::uint64_t Rate(NodeId node) const;
  // Both links of the node. REQUIRES: bytes_per_second > 0.
  void SetRate(NodeId node, std::uint64_t bytes_per_second);
  // How long `bytes` occupy a link of this rate, rounded up.
  static absl::Duration TimeFor(std::uint64_t bytes,
                                std::uint64_t bytes_per_second);

  // Messages from one node to another arrive in the order sent.
  void SendControl(NodeId from, NodeId to, std::uint64_t bytes,
                   Agenda::Action arrived);

  StreamId OpenStream(NodeId server, NodeId receiver);
  // The stream may have a frame ready: it takes its place in the turn.
  void Wake(StreamId stream);

  // Payload that has left the node by streams.
  std::uint64_t stream_bytes_sent(NodeId node) const;

 private:
  struct Link {
    absl::Time free_at = absl::UnixEpoch();
  };
  struct Host {
    Link up;
    Link down;
    std::uint64_t bytes_per_second = 0;
    std::uint64_t stream_bytes_sent = 0;
    std::deque<StreamId> ready;
    bool pump_due = false;
  };
  struct Stream {
    NodeId server;
    NodeId receiver;
    bool in_turn = false;
  };

  Host& host(NodeId node);
  // Sends the next ready frame of the node, if its uplink is free.
  void Pump(NodeId node);
  void SchedulePump(NodeId node);
  // Occupies the uplink; when the last bit has left.
  absl::Time Transmit(NodeId from, std::uint64_t bytes);
  // `arrived` at the end of reception of what the uplink sends until `left`.
  void Receive(NodeId to, std::uint64_t bytes, absl::Time first_bit,
               absl::Time last_bit, absl::Duration cost,
               Agenda::Action arrived);

  const NetworkOptions options_;
  Agenda* const agenda_;
  FrameSource* const source_;
  std::map<NodeId, Host> hosts_;
  std::vector<Stream> streams_;  // indexed by stream - 1
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_NETWORK_MODEL_H_
