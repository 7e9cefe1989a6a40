// Judges who takes whom for a member.
//
// No node follows a head after a later one, and no incarnation that was
// declared dead acts again. At the end all nodes that are up know the same
// members, which are those that are up, and the same hosts of shards.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_SIM_CHECKERS_MEMBERSHIP_CHECKER_H_
#define HOPLITE_SIM_CHECKERS_MEMBERSHIP_CHECKER_H_

#include <set>
#include <utility>

#include "absl/strings/string_view.h"
#include "hoplite/sim/simulation.h"
#include "hoplite/sim/violations.h"

namespace hoplite::sim {

class MembershipChecker final : public Observer {
 public:
  static constexpr absl::string_view kName = "membership";

  // Ownership: keeps both.
  MembershipChecker(Simulation* simulation, Violations* violations)
      : simulation_(simulation), violations_(violations) {}

  void OnEvent(absl::Time now, NodeRef node, const Event& event) override;
  void OnCommand(absl::Time now, NodeRef node, const Command& command) override;
  void OnHandled(absl::Time now, NodeRef node, const Machine& machine) override;
  void OnNodeDown(absl::Time now, NodeRef node) override;
  void OnEnd(absl::Time now) override;

 private:
  void Add(absl::Time now, NodeRef node, absl::string_view what);
  // True where `node` has known the member from the start, or was told.
  bool Knew(NodeRef node, NodeRef member) const;
  void CheckAdmission(absl::Time now, NodeRef head, NodeRef member);
  void CheckNode(absl::Time now, NodeRef node, const NodeStatus& head);

  Simulation* const simulation_;
  Violations* const violations_;
  std::set<std::pair<NodeRef, NodeRef>> forgotten_;  // by whom, and who
  std::set<std::pair<NodeRef, NodeRef>> learned_;    // by whom, and whom
  std::set<NodeRef> admitted_;
  Incarnation last_admitted_;
  bool head_died_ = false;
  // Of the event that is being handled.
  bool from_head_ = false;
  NodeRef declared_dead_;
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_CHECKERS_MEMBERSHIP_CHECKER_H_
