// Asks each machine, after what it has done, whether its own state is sound.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_SIM_CHECKERS_INVARIANT_CHECKER_H_
#define HOPLITE_SIM_CHECKERS_INVARIANT_CHECKER_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "hoplite/sim/observer.h"
#include "hoplite/sim/violations.h"

namespace hoplite::sim {

class InvariantChecker final : public Observer {
 public:
  static constexpr absl::string_view kName = "invariants";

  // Looks after every `every`th call. Ownership: keeps `violations`.
  // REQUIRES: every > 0.
  InvariantChecker(Violations* violations, std::uint64_t every)
      : violations_(violations), every_(every) {}

  void OnHandled(absl::Time now, NodeRef node,
                 const Machine& machine) override {
    if (++calls_ % every_ != 0) return;
    const std::string broken = machine.CheckInvariants();
    if (broken.empty()) return;
    violations_->Add(kName, now,
                     absl::StrCat(ToString(node.node), ": ", broken));
  }

 private:
  Violations* const violations_;
  const std::uint64_t every_;
  std::uint64_t calls_ = 0;
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_CHECKERS_INVARIANT_CHECKER_H_
