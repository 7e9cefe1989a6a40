#include "apps/parameter_server/sync.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "apps/parameter_server/failure.h"
#include "hoplite/base/status_macros.h"

namespace hoplite::apps {
namespace {

constexpr int kFailuresMax = 20;  // updates in a row

// An actor, with weights of its own. All but Weights give the next gradient.
class Replica {
 public:
  Replica(std::unique_ptr<Workload> workload, float rate)
      : workload_(std::move(workload)), rate_(rate) {}

  Floats Adopt(task::Value<Floats> weights) {
    weights_.assign((*weights).begin(), (*weights).end());
    return workload_->Gradient(weights_);
  }
  Floats Step(task::Value<Floats> sum) {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      weights_[i] -= rate_ * sum[i];
    }
    return workload_->Gradient(weights_);
  }
  Floats Weights() { return weights_; }

 private:
  const std::unique_ptr<Workload> workload_;
  const float rate_;
  Floats weights_;
};

std::unique_ptr<Replica> MakeReplica(WorkloadSpec spec, int number, int seed,
                                     float rate) {
  return std::make_unique<Replica>(
      Workload::Make(spec, number, static_cast<std::uint64_t>(seed)), rate);
}

class Team {
 public:
  Team(const Options& options, Journal& journal)
      : options_(options),
        journal_(journal),
        replicas_(options.workers),
        gradients_(options.workers),
        failures_(options.workers, 0),
        all_(options.workers) {
    std::iota(all_.begin(), all_.end(), std::size_t{0});
    const auto first = task::Put(journal.first_weights());
    for (const std::size_t i : all_) Hire(i, first);
  }

  // One update: an allreduce is a Reduce whose target all get.
  absl::Status Update() {
    const auto sum =
        task::Reduce(gradients_, ReduceOp::kSum, gradients_.size());
    std::vector<task::ObjectRef<Floats>> next;
    for (auto& replica : replicas_) {
      next.push_back(replica.Remote(&Replica::Step, sum));
    }
    HOPLITE_RETURN_IF_ERROR(task::ReducedRefs(sum, gradients_).status());
    gradients_ = std::move(next);
    journal_.Update(all_);
    if (journal_.WantsWeights()) journal_.Take(WeightsOf(0));
    return absl::OkStatus();
  }

  // Makes those again whose gradients are errors, with a healthy one's weights.
  absl::Status Mend() {
    HOPLITE_RETURN_IF_ERROR(task::Wait(gradients_, gradients_.size()).status());
    std::vector<std::size_t> lost;
    std::optional<std::size_t> healthy;
    absl::Status why;
    for (const std::size_t i : all_) {
      const absl::Status failure = FailureOf(gradients_[i]);
      why.Update(failure);
      if (failure.ok()) {
        healthy = i;
      } else {
        lost.push_back(i);
      }
    }
    if (!healthy.has_value()) return why;
    if (lost.empty()) return absl::OkStatus();
    const auto weights = WeightsOf(*healthy);
    for (const std::size_t i : lost) {
      ++failures_[i];
      journal_.Replaced();
      Hire(i, weights);
    }
    return absl::OkStatus();
  }

  // The newest, of the first replica that still has them.
  absl::StatusOr<task::ObjectRef<Floats>> LastWeights() {
    absl::Status why;
    for (const std::size_t i : all_) {
      const task::ObjectRef<Floats> weights = WeightsOf(i);
      HOPLITE_RETURN_IF_ERROR(task::Wait(std::vector{weights}, 1).status());
      const absl::Status failure = FailureOf(weights);
      if (failure.ok()) return weights;
      why.Update(failure);
    }
    return why;
  }

 private:
  task::ObjectRef<Floats> WeightsOf(std::size_t i) {
    return replicas_[i].Remote(&Replica::Weights);
  }
  void Hire(std::size_t i, const task::ObjectRef<Floats>& weights) {
    replicas_[i] = task::RemoteActor(
        task::ActorOptions{.host = options_.HostOf(i, failures_[i])},
        MakeReplica, options_.workload, static_cast<int>(i), ++hired_,
        options_.rate);
    gradients_[i] = replicas_[i].Remote(&Replica::Adopt, weights);
  }

  const Options& options_;
  Journal& journal_;
  std::vector<task::ActorRef<Replica>> replicas_;
  std::vector<task::ObjectRef<Floats>> gradients_;  // the next of each
  std::vector<std::size_t> failures_;               // of each, ever
  std::vector<std::size_t> all_;                    // 0, 1, …
  int hired_ = 0;
};

}  // namespace

HOPLITE_REMOTE(MakeReplica, &Replica::Adopt, &Replica::Step, &Replica::Weights);

absl::StatusOr<task::ObjectRef<Floats>> LearnSynchronously(
    const Options& options, Journal& journal) {
  Team team(options, journal);
  int failures = 0;
  while (!journal.Done()) {
    const absl::Status status = team.Update();
    failures = status.ok() ? 0 : failures + 1;
    if (failures > kFailuresMax) return status;
    if (!status.ok()) HOPLITE_RETURN_IF_ERROR(team.Mend());
  }
  return team.LastWeights();
}

}  // namespace hoplite::apps
