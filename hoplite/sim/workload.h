// What clients do in a run: operations, each at its time or after others.
//
// A workload is a plain list, written by hand in a scenario or drawn from a
// seed. It says of each operation whether anything in the workload may keep
// it from succeeding; the checkers hold the protocol to the rest.
//
// Thread safety: none; one thread at a time.
// Units: bytes.

#ifndef HOPLITE_SIM_WORKLOAD_H_
#define HOPLITE_SIM_WORKLOAD_H_

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "hoplite/sim/checkers/request_checker.h"
#include "hoplite/sim/client_model.h"
#include "hoplite/sim/simulation.h"

namespace hoplite::sim {

struct Operation {
  std::variant<PutSpec, GetSpec, DeleteSpec, ReduceSpec> spec;
  // From the start of the run, or from the last answer of `after`.
  absl::Duration start;
  std::vector<std::size_t> after;  // indices of earlier operations
  absl::Duration timeout = absl::InfiniteDuration();
  absl::Duration cancel_after = absl::InfiniteDuration();
  bool must_succeed = false;
};

using Workload = std::vector<Operation>;

// Lets a simulation's clients carry a workload out.
class WorkloadRunner {
 public:
  // Enters the workload, from now on. Ownership: keeps `simulation`, and
  // `requests`, which may be null: then nobody is told what must succeed.
  // REQUIRES: every `after` names earlier operations only.
  WorkloadRunner(Simulation* simulation, RequestChecker* requests,
                 Workload workload);

  // When the operation was asked and answered; nullopt: not yet.
  std::optional<absl::Time> asked(std::size_t index) const {
    return states_.at(index).asked;
  }
  std::optional<absl::Time> answered(std::size_t index) const {
    return states_.at(index).answered;
  }
  // What it was told. REQUIRES: answered(index) has a value.
  const command::AnswerRequest& answer(std::size_t index) const {
    return states_.at(index).answer;
  }
  // The last answer of all; nullopt where one is missing.
  std::optional<absl::Time> AllAnswered() const;
  std::size_t size() const { return workload_.size(); }

 private:
  struct State {
    std::size_t waits_for = 0;
    std::vector<std::size_t> followers;
    std::optional<absl::Time> asked;
    std::optional<absl::Time> answered;
    command::AnswerRequest answer;
  };

  void Begin(std::size_t index);
  void Ask(std::size_t index);
  void Answered(std::size_t index, const command::AnswerRequest& answer);

  Simulation* const simulation_;
  RequestChecker* const requests_;
  const Workload workload_;
  std::vector<State> states_;
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_WORKLOAD_H_
