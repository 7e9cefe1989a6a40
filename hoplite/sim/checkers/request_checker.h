// Judges that each request is answered once, in time, and with a code that
// fits what happened.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_SIM_CHECKERS_REQUEST_CHECKER_H_
#define HOPLITE_SIM_CHECKERS_REQUEST_CHECKER_H_

#include <map>
#include <set>
#include <string>

#include "hoplite/sim/checkers/history.h"
#include "hoplite/sim/violations.h"

namespace hoplite::sim {

class RequestChecker final : public Observer {
 public:
  static constexpr absl::string_view kName = "requests";

  // Ownership: keeps both. `faults`: streams may break in this run, or nodes
  // end. `slack`: nodes may stand still for so long.
  RequestChecker(const History* history, Violations* violations, bool faults,
                 absl::Duration slack)
      : history_(history),
        violations_(violations),
        faults_(faults),
        slack_(slack) {}

  // This request must end well: nothing in the run may prevent it.
  void ExpectOk(RequestKey key) { expected_.insert(key); }

  void OnCommand(absl::Time now, NodeRef node, const Command& command) override;
  void OnEnd(absl::Time now) override;

 private:
  // Why the code does not fit the record; empty where it does.
  std::string CodeProblem(absl::Time now, const RequestRecord& record,
                          absl::StatusCode code) const;
  // True where a Delete of the object, or of what it is made of, was asked.
  bool GoneIsDue(const ObjectId& object, int depth) const;
  // Likewise, or where a Put of it was given up after others had read it.
  bool LossIsDue(const ObjectId& object, int depth) const;
  void Add(absl::Time now, RequestKey key, absl::string_view what);

  const History* const history_;
  Violations* const violations_;
  const bool faults_;
  const absl::Duration slack_;
  std::set<RequestKey> answered_;
  std::set<RequestKey> expected_;
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_CHECKERS_REQUEST_CHECKER_H_
