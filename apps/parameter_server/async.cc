#include "apps/parameter_server/async.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "apps/parameter_server/failure.h"
#include "apps/parameter_server/overdue.h"
#include "hoplite/base/status_macros.h"

namespace hoplite::apps {
namespace {

constexpr int kFailuresMax = 20;    // updates in a row
constexpr int kStepRetries = 1000;  // a step may be run again as often

// An actor. It keeps no weights: those to compute at are its argument.
class Worker {
 public:
  explicit Worker(std::unique_ptr<Workload> workload)
      : workload_(std::move(workload)) {}

  Floats Gradient(task::Value<Floats> weights) {
    return workload_->Gradient(*weights);
  }

 private:
  const std::unique_ptr<Workload> workload_;
};

std::unique_ptr<Worker> MakeWorker(WorkloadSpec spec, int number, int seed) {
  return std::make_unique<Worker>(
      Workload::Make(spec, number, static_cast<std::uint64_t>(seed)));
}

// The server's step, which keeps nothing either: where its process dies, it
// is run again from the weights before.
Floats Descend(task::Value<Floats> weights, task::Value<Floats> sum,
               float rate) {
  Floats next(weights.size());
  for (std::size_t i = 0; i < next.size(); ++i) {
    next[i] = weights[i] - rate * sum[i];
  }
  return next;
}

class Server {
 public:
  Server(const Options& options, Journal& journal)
      : options_(options),
        journal_(journal),
        weights_(task::Put(journal.first_weights())),
        whole_(weights_),
        workers_(options.workers),
        gradients_(options.workers),
        failures_(options.workers, 0),
        overdue_(options.workers) {
    for (std::size_t i = 0; i < options.workers; ++i) Hire(i);
  }

  // One update.
  absl::Status Update() {
    const auto ready =
        task::Wait(gradients_, gradients_.size(), absl::ZeroDuration());
    HOPLITE_RETURN_IF_ERROR(ready.status());
    const auto sum = task::Reduce(gradients_, ReduceOp::kSum, options_.quorum);
    const auto next =
        task::Remote({.retries = kStepRetries, .host = options_.server_host},
                     Descend, weights_, sum, options_.rate);
    HOPLITE_ASSIGN_OR_RETURN(const std::vector<std::size_t> taken,
                             task::ReducedRefs(sum, gradients_));
    weights_ = next;
    for (const std::size_t i : taken) {
      gradients_[i] = workers_[i].Remote(&Worker::Gradient, weights_);
      failures_[i] = 0;
    }
    for (const std::size_t i : overdue_.Update(*ready, taken)) Mend(i);
    KeepJournal(taken);
    return absl::OkStatus();
  }

  // Makes those workers again whose gradients are errors.
  void MendAll() {
    for (std::size_t i = 0; i < workers_.size(); ++i) Mend(i);
  }

  // The newest, once they exist.
  absl::StatusOr<task::ObjectRef<Floats>> LastWeights() {
    HOPLITE_RETURN_IF_ERROR(task::Wait(std::vector{weights_}, 1).status());
    RollBackIfLost();
    return weights_;
  }

 private:
  void Hire(std::size_t i) {
    const int number = static_cast<int>(i);
    workers_[i] = task::RemoteActor(
        task::ActorOptions{.host = options_.HostOf(i, failures_[i])},
        MakeWorker, options_.workload, number, ++hired_);
    gradients_[i] = workers_[i].Remote(&Worker::Gradient, weights_);
  }

  void Mend(std::size_t i) {
    if (FailureOf(gradients_[i]).ok()) return;
    RollBackIfLost();
    ++failures_[i];
    journal_.Replaced();
    Hire(i);
  }

  // It may have been the weights that were lost, with a node on their way.
  void RollBackIfLost() {
    if (FailureOf(weights_).ok()) return;
    journal_.RolledBack();
    weights_ = whole_;
  }

  void KeepJournal(std::span<const std::size_t> taken) {
    if (task::Get(weights_, absl::ZeroDuration()).ok()) whole_ = weights_;
    journal_.Update(taken);
    if (journal_.WantsWeights()) journal_.Take(weights_);
  }

  const Options& options_;
  Journal& journal_;
  task::ObjectRef<Floats> weights_;  // the newest, which may not exist yet
  task::ObjectRef<Floats> whole_;    // the newest that have been seen
  std::vector<task::ActorRef<Worker>> workers_;
  std::vector<task::ObjectRef<Floats>> gradients_;  // the next of each worker
  std::vector<std::size_t> failures_;               // in a row, of each
  Overdue overdue_;
  int hired_ = 0;
};

}  // namespace

HOPLITE_REMOTE(MakeWorker, &Worker::Gradient, Descend);

absl::StatusOr<task::ObjectRef<Floats>> LearnAsynchronously(
    const Options& options, Journal& journal) {
  Server server(options, journal);
  int failures = 0;
  while (!journal.Done()) {
    const absl::Status status = server.Update();
    failures = status.ok() ? 0 : failures + 1;
    if (failures > kFailuresMax) return status;
    if (!status.ok()) server.MendAll();
  }
  return server.LastWeights();
}

}  // namespace hoplite::apps
