// One scripted run with all its checkers.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_SIM_SCENARIO_H_
#define HOPLITE_SIM_SCENARIO_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "hoplite/sim/checkers.h"
#include "hoplite/sim/script.h"
#include "hoplite/sim/simulation.h"
#include "hoplite/sim/workload.h"

namespace hoplite::sim {

class Scenario {
 public:
  explicit Scenario(SimulationOptions options, CheckerOptions checkers = {})
      : simulation_(std::move(options)), checkers_(&simulation_, checkers) {}

  Script& script() { return script_; }
  Simulation& simulation() { return simulation_; }
  Checkers& checkers() { return checkers_; }

  // Carries the script out to its end; once. Nothing that it must do is
  // allowed to take longer than an hour.
  void Run() {
    runner_ = std::make_unique<WorkloadRunner>(
        &simulation_, &checkers_.requests(), script_.workload());
    simulation_.Run(absl::UnixEpoch() + absl::Hours(1));
  }

  // What the checkers have found, a line each; empty where all is well.
  std::string Problems() const {
    std::string text;
    for (const Violation& each : checkers_.violations().found()) {
      absl::StrAppend(&text, each.checker, " at ",
                      absl::FormatDuration(each.time - absl::UnixEpoch()), ": ",
                      each.what, "\n");
    }
    return text;
  }

  // REQUIRES: Run, and the step was answered.
  absl::Duration AnsweredAt(Script::Step step) const {
    return *runner_->answered(step.index()) - absl::UnixEpoch();
  }
  absl::Duration Took(Script::Step step) const {
    return *runner_->answered(step.index()) - *runner_->asked(step.index());
  }
  absl::StatusCode Code(Script::Step step) const {
    return runner_->answer(step.index()).code;
  }
  const std::string& Detail(Script::Step step) const {
    return runner_->answer(step.index()).detail;
  }
  // When the last of all was answered.
  absl::Duration End() const {
    return runner_->AllAnswered().value() - absl::UnixEpoch();
  }
  // Payload that left the node as a server, over `size`.
  double Sent(std::uint32_t node, std::uint64_t size) {
    return static_cast<double>(
               simulation_.data_plane().network().stream_bytes_sent(
                   NodeId(node))) /
           static_cast<double>(size);
  }

 private:
  Simulation simulation_;
  Checkers checkers_;
  Script script_;
  std::unique_ptr<WorkloadRunner> runner_;
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_SCENARIO_H_
