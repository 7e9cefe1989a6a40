// The data plane of all nodes: transfers, pulls and folds as they are ordered.
//
// A flow is one pull over one connection, seen from both ends: the receiver's
// transfer (or one input of its fold) and the server's pull. A frame goes when
// the server's buffer has it, so watermarks ripple through relays; a flow has
// at most a window of bytes on its way, so a slow receiver holds back its
// server and nobody else.
//
// Not responsible for: links (NetworkModel), memory (StoreModel).
// Thread safety: none; one thread at a time.
// Units: bytes.

#ifndef HOPLITE_SIM_DATA_PLANE_MODEL_H_
#define HOPLITE_SIM_DATA_PLANE_MODEL_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "hoplite/core/command.h"
#include "hoplite/sim/flow.h"
#include "hoplite/sim/network_model.h"
#include "hoplite/sim/node_host.h"

namespace hoplite::sim {

struct DataPlaneOptions {
  // Frames are at least so large: coarse for large runs.
  std::uint64_t frame_bytes_min = 1;
  // Nodes are told what bandwidth their transfers reach.
  bool measures = true;
};

// What is under way, for whoever looks for leaks.
struct DataPlaneLoad {
  std::uint64_t flows = 0;  // with an end that is open
  std::uint64_t folds = 0;
};

class DataPlaneModel final : public FrameSource {
 public:
  // Ownership: keeps `host`.
  DataPlaneModel(const DataPlaneOptions& options,
                 const NetworkOptions& network_options, NodeHost* host);

  NetworkModel& network() { return network_; }
  const NetworkModel& network() const { return network_; }

  // The node opens a connection of any kind to the peer: at first, a hello
  // tells it the latency.
  void Meet(NodeId node, NodeId peer);

  // The orders of core/command.h, given by `node`.
  void StartTransfer(NodeRef node, const command::StartTransfer& order);
  void CancelTransfer(NodeRef node, TransferId transfer);
  void ServePull(NodeRef node, const command::ServePull& order);
  void RefusePull(NodeRef node, PullId pull);
  void StartFold(NodeRef node, const command::StartFold& order);
  void CancelFold(NodeRef node, FoldId fold);

  // Whoever follows the buffer looks again.
  void BufferAdvanced(NodeId node, BufferId buffer);
  // Whoever is sent the buffer's bytes hears that there will be no more.
  void BufferFailed(NodeId node, BufferId buffer);

  // Flows that are being served, in the order in which they were opened.
  std::uint64_t served_count() const;
  // The connection of one of them breaks. REQUIRES: index < served_count().
  void Break(std::uint64_t index);

  // The life of a node has ended: peers hear it by their connections.
  void NodeDown(NodeRef node);
  // The connections between the two break at both ends.
  void BreakBetween(NodeRef a, NodeRef b);
  // What stood still may go on: a node that was stopped, or a way between two.
  void WakeAll();

  DataPlaneLoad Load() const;

  std::uint64_t ReadyBytes(StreamId stream) override;
  Frame FrameLeaves(StreamId stream) override;
  void LastFrameLeft(StreamId stream) override;
  void FrameArrived(StreamId stream, std::uint64_t frame) override;

 private:
  using BufferKey = std::pair<NodeId, BufferId>;
  struct Followers {
    std::set<StreamId> flows;       // that send it
    std::set<std::uint32_t> folds;  // that read it: indices
  };

  Flow& flow(StreamId stream);
  // Opens the connection; the server is asked one latency later.
  StreamId Open(Flow flow);
  void Ask(StreamId stream);
  void Measure(const Flow& flow);
  // The pull's flow, if it is known; complains otherwise.
  Flow* FindPull(NodeRef node, PullId pull);
  void BeginServing(StreamId stream, BufferId buffer);
  // The server's end is done with the flow.
  void EndServing(StreamId stream);
  // The receiver will hear that the server ended, after what is on its way.
  void FailReceiver(StreamId stream, bool refused);
  void FailReceiverNow(StreamId stream);
  // The receiver closes its end; the server hears one latency later.
  void CloseReceiver(StreamId stream);
  void FinishReceiver(StreamId stream);
  void Consume(StreamId stream, std::uint64_t bytes);

  void OpenInputs(std::uint32_t index);
  void AdvanceFold(std::uint32_t index);
  // The end of the next frame of the fold, if all that it needs is here.
  std::optional<std::uint64_t> NextFoldEnd(const FoldState& fold);
  Segments FoldRange(const FoldState& fold, ByteRange range);
  void EndFold(std::uint32_t index, Event last);
  void FoldInputFailed(std::uint32_t index, NodeRef lost);

  const DataPlaneOptions options_;
  NodeHost* const host_;
  NetworkModel network_;
  std::deque<Flow> flows_;  // indexed by stream - 1
  std::deque<FoldState> folds_;
  std::map<std::pair<NodeId, TransferId>, StreamId> transfers_;
  std::map<std::pair<NodeId, PullId>, StreamId> pulls_;
  std::map<std::pair<NodeId, FoldId>, std::uint32_t> fold_ids_;
  std::map<NodeId, PullId> last_pull_;
  std::map<BufferKey, Followers> followers_;
  std::set<std::pair<NodeId, NodeId>> met_;  // latency already measured
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_DATA_PLANE_MODEL_H_
