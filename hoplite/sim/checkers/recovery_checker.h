// Judges that what is still held is found, whatever has died.
//
// An object was put, nobody has asked to delete it, and a living node has all
// of it: then no Get of it may wait until its deadline. When the faults are
// over, the checker asks for each such object itself, at one node after
// another, and puts something new.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_SIM_CHECKERS_RECOVERY_CHECKER_H_
#define HOPLITE_SIM_CHECKERS_RECOVERY_CHECKER_H_

#include <set>

#include "absl/time/time.h"
#include "hoplite/sim/checkers/history.h"
#include "hoplite/sim/checkers/request_checker.h"
#include "hoplite/sim/simulation.h"
#include "hoplite/sim/violations.h"

namespace hoplite::sim {

class RecoveryChecker final : public Observer {
 public:
  static constexpr absl::string_view kName = "recovery";

  // Ownership: keeps all four.
  RecoveryChecker(Simulation* simulation, const History* history,
                  RequestChecker* requests, Violations* violations)
      : simulation_(simulation),
        history_(history),
        requests_(requests),
        violations_(violations) {}

  // At `time` all faults are over, and neither room nor links are short.
  void ExpectRecovery(absl::Time time);

  // At `time` no request is open: every target is deleted, as a reduction may
  // wait for ever for a source that was lost.
  void EndReductions(absl::Time time);

  void OnEvent(absl::Time now, NodeRef node, const Event& event) override;
  void OnCommand(absl::Time now, NodeRef node, const Command& command) override;

 private:
  void AskForAll();
  void DeleteTargets();
  bool WasPut(const ObjectId& object, absl::Time before) const;
  // Objects that a living node has all of.
  std::set<ObjectId> Held() const;

  Simulation* const simulation_;
  const History* const history_;
  RequestChecker* const requests_;
  Violations* const violations_;
  bool expects_ = false;
  std::set<ObjectId> targets_;
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_CHECKERS_RECOVERY_CHECKER_H_
