// All checkers of a run, together.
//
// They judge by the protocol's promises, from outside: by what clients ask and
// hear, by what is ordered, and by the bytes that move.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_SIM_CHECKERS_H_
#define HOPLITE_SIM_CHECKERS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "hoplite/sim/checkers/content_checker.h"
#include "hoplite/sim/checkers/history.h"
#include "hoplite/sim/checkers/invariant_checker.h"
#include "hoplite/sim/checkers/leak_checker.h"
#include "hoplite/sim/checkers/membership_checker.h"
#include "hoplite/sim/checkers/order_checker.h"
#include "hoplite/sim/checkers/recovery_checker.h"
#include "hoplite/sim/checkers/request_checker.h"
#include "hoplite/sim/checkers/transfer_checker.h"
#include "hoplite/sim/simulation.h"
#include "hoplite/sim/violations.h"

namespace hoplite::sim {

struct CheckerOptions {
  bool faults = false;   // streams may break, or nodes end
  absl::Duration slack;  // nodes may stand still for so long
  std::uint64_t invariants_every = 1;
};

class Checkers {
 public:
  // Observes the run from now on. Ownership: keeps `simulation`, which must
  // not run after this object is gone.
  explicit Checkers(Simulation* simulation, CheckerOptions options = {})
      : history_(&simulation->contents()),
        requests_(&history_, &violations_, options.faults, options.slack),
        content_(simulation, &history_, &violations_),
        transfers_(simulation, &history_, &violations_),
        orders_(&violations_),
        leaks_(simulation, &history_, &violations_),
        membership_(simulation, &violations_),
        recovery_(simulation, &history_, &requests_, &violations_),
        invariants_(&violations_, options.invariants_every) {
    // The history first: the others judge by it.
    simulation->AddObserver(&history_);
    simulation->AddObserver(&requests_);
    simulation->AddObserver(&content_);
    simulation->AddObserver(&transfers_);
    simulation->AddObserver(&orders_);
    simulation->AddObserver(&leaks_);
    simulation->AddObserver(&membership_);
    simulation->AddObserver(&recovery_);
    simulation->AddObserver(&invariants_);
  }
  Checkers(const Checkers&) = delete;
  Checkers& operator=(const Checkers&) = delete;

  const Violations& violations() const { return violations_; }
  const History& history() const { return history_; }
  RequestChecker& requests() { return requests_; }
  LeakChecker& leaks() { return leaks_; }
  RecoveryChecker& recovery() { return recovery_; }

 private:
  Violations violations_;
  History history_;
  RequestChecker requests_;
  ContentChecker content_;
  TransferChecker transfers_;
  OrderChecker orders_;
  LeakChecker leaks_;
  MembershipChecker membership_;
  RecoveryChecker recovery_;
  InvariantChecker invariants_;
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_CHECKERS_H_
