// Judges that each order can be carried out and ends once, and that every
// pull is answered. Nobody takes an input of a position that it has lost,
// before it was assigned anew.
//
// Half of it watches the machines (orders on buffers that are not there, ids
// used twice), half the simulator itself (one last event for each order).
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_SIM_CHECKERS_ORDER_CHECKER_H_
#define HOPLITE_SIM_CHECKERS_ORDER_CHECKER_H_

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "hoplite/sim/observer.h"
#include "hoplite/sim/violations.h"

namespace hoplite::sim {

class OrderChecker final : public Observer {
 public:
  static constexpr absl::string_view kName = "orders";

  // Ownership: keeps `violations`.
  explicit OrderChecker(Violations* violations) : violations_(violations) {}

  void OnEvent(absl::Time now, NodeRef node, const Event& event) override;
  void OnCommand(absl::Time now, NodeRef node, const Command& command) override;
  void OnComplaint(absl::Time now, NodeRef node,
                   absl::string_view what) override;
  void OnNodeDown(absl::Time now, NodeRef node) override;
  void OnEnd(absl::Time now) override;

 private:
  enum class Kind : std::uint8_t { kBuffer, kTransfer, kFold, kPull };
  using Order = std::tuple<NodeId, Kind, std::uint64_t>;

  static absl::string_view Name(Kind kind);
  // What the node must not take: inputs of positions.
  using Input = std::tuple<PullKey, Generation, NodeRef>;

  void CheckInputs(absl::Time now, NodeRef node,
                   const command::StartFold& fold);
  void LoseInputs(NodeRef node, const event::FoldFailed& failed);
  void Begin(NodeRef node, Kind kind, std::uint64_t id);
  void End(absl::Time now, NodeRef node, Kind kind, std::uint64_t id);

  Violations* const violations_;
  std::map<Order, std::int32_t> open_;  // orders given less those ended
  std::map<NodeId, std::int32_t> payload_folds_;
  std::map<std::pair<NodeId, FoldId>, std::set<Input>> inputs_;  // pulled
  std::map<NodeId, std::set<Input>> lost_;
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_CHECKERS_ORDER_CHECKER_H_
