// Judges who streams what to whom.
//
// At each instant: nobody sends a range that it does not hold; who fetches
// from whom makes no circle; no copy serves more receivers than the object's
// degree allows, orphans apart; an object crosses into a node once.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_SIM_CHECKERS_TRANSFER_CHECKER_H_
#define HOPLITE_SIM_CHECKERS_TRANSFER_CHECKER_H_

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "hoplite/sim/checkers/history.h"
#include "hoplite/sim/simulation.h"
#include "hoplite/sim/violations.h"

namespace hoplite::sim {

// The largest degree that the model of costs may choose for an object of this
// size, given what nodes may have measured: d minimises d S/B + depth(d) h.
std::uint32_t DegreeBound(std::uint64_t size, std::uint32_t nodes,
                          const NetworkOptions& network);

class TransferChecker final : public Observer {
 public:
  static constexpr absl::string_view kName = "transfers";

  // Ownership: keeps all three.
  TransferChecker(Simulation* simulation, const History* history,
                  Violations* violations)
      : simulation_(simulation), history_(history), violations_(violations) {}

  void OnEvent(absl::Time now, NodeRef node, const Event& event) override;
  void OnCommand(absl::Time now, NodeRef node, const Command& command) override;
  void OnFrameSent(absl::Time now, const FrameSent& frame) override;
  void OnNodeDown(absl::Time now, NodeRef node) override;

 private:
  // Each generation of an object has a graph of its own.
  using GraphKey = std::pair<ObjectId, Generation>;
  struct Edge {
    NodeId server;
    BufferId buffer;
    bool orphan = false;  // its earlier server failed it
  };
  struct Graph {
    std::map<NodeId, Edge> edges;               // by receiver
    std::map<NodeId, std::uint32_t> receivers;  // by server; no orphans
    std::set<NodeId> orphans;                   // whose transfer failed
  };

  void Add(absl::Time now, const ObjectId& object, absl::string_view what);
  void AddEdge(absl::Time now, NodeRef node,
               const command::StartTransfer& order);
  void EndEdge(NodeId node, TransferId transfer, bool complete);
  void CheckDegree(absl::Time now, const GraphKey& key, NodeId server,
                   std::uint64_t size);
  // The server hands its own grant back: whoever pulls from it is refused.
  void Orphan(const ObjectId& object, NodeId server);
  void CheckCircle(absl::Time now, const GraphKey& key, NodeId receiver);

  Simulation* const simulation_;
  const History* const history_;
  Violations* const violations_;
  std::map<GraphKey, Graph> graphs_;
  std::map<std::pair<NodeId, TransferId>, GraphKey> under_way_;
  std::set<std::pair<NodeId, ObjectId>> fetching_;
  // Objects that are whole on a node, by the buffer that they are in.
  std::map<std::pair<NodeId, BufferId>, ObjectId> whole_;
  std::set<std::pair<NodeId, ObjectId>> held_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> bounds_;
  bool shards_moved_ = false;
  std::set<std::pair<ObjectId, ContentId>> plausible_;
  std::map<std::pair<PullKey, Generation>, ContentId> of_generation_;
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_CHECKERS_TRANSFER_CHECKER_H_
