// Judges that nothing is left over when all is quiet, and that what must not
// go is still there.
//
// At the end: no request waits, no transfer, pull, fold or reduction is under
// way, and what a store holds is exactly the complete copies that its node
// knows. At each release: the last copy of an object that was put and not
// deleted stays.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_SIM_CHECKERS_LEAK_CHECKER_H_
#define HOPLITE_SIM_CHECKERS_LEAK_CHECKER_H_

#include <string>

#include "hoplite/sim/checkers/history.h"
#include "hoplite/sim/simulation.h"
#include "hoplite/sim/violations.h"

namespace hoplite::sim {

class LeakChecker final : public Observer {
 public:
  static constexpr absl::string_view kName = "leaks";

  // Ownership: keeps all three.
  LeakChecker(Simulation* simulation, const History* history,
              Violations* violations)
      : simulation_(simulation), history_(history), violations_(violations) {}

  // From now on everything that was made has been deleted: stores are empty
  // at the end.
  void ExpectEmptyStores() { expect_empty_ = true; }

  void OnCommand(absl::Time now, NodeRef node, const Command& command) override;
  void OnNodeDown(absl::Time, NodeRef) override { crashes_ = true; }
  void OnEnd(absl::Time now) override;

 private:
  void CheckNode(absl::Time now, NodeRef node);
  // True where another node holds the same whole content.
  bool HeldElsewhere(NodeRef node, BufferId buffer, ContentId content) const;
  // The object whose whole bytes these are, if the directory must keep one.
  bool MustStay(ContentId content) const;
  void Add(absl::Time now, NodeRef node, absl::string_view what);

  Simulation* const simulation_;
  const History* const history_;
  Violations* const violations_;
  bool expect_empty_ = false;
  bool crashes_ = false;
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_CHECKERS_LEAK_CHECKER_H_
