#include "hoplite/sim/workload.h"

#include <algorithm>
#include <utility>

#include "hoplite/base/check.h"
#include "hoplite/base/overloaded.h"

namespace hoplite::sim {

WorkloadRunner::WorkloadRunner(Simulation* simulation, RequestChecker* requests,
                               Workload workload)
    : simulation_(simulation),
      requests_(requests),
      workload_(std::move(workload)),
      states_(workload_.size()) {
  for (std::size_t i = 0; i < workload_.size(); ++i) {
    states_[i].waits_for = workload_[i].after.size();
    for (std::size_t earlier : workload_[i].after) {
      HOPLITE_CHECK(earlier < i);
      states_[earlier].followers.push_back(i);
    }
  }
  for (std::size_t i = 0; i < workload_.size(); ++i) {
    if (states_[i].waits_for == 0) Begin(i);
  }
}

void WorkloadRunner::Begin(std::size_t index) {
  simulation_->agenda().After(workload_[index].start,
                              [this, index] { Ask(index); });
}

void WorkloadRunner::Ask(std::size_t index) {
  const Operation& operation = workload_[index];
  const absl::Time now = simulation_->agenda().now();
  states_[index].asked = now;
  const absl::Time deadline = now + operation.timeout;
  const auto on_answer = [this, index](const command::AnswerRequest& answer) {
    Answered(index, answer);
  };
  ClientModel& clients = simulation_->clients();
  const auto with_deadline = [deadline](auto spec) {
    spec.deadline = deadline;
    return spec;
  };
  const RequestKey key = std::visit(
      Overloaded{[&](const PutSpec& spec) {
                   return clients.Put(with_deadline(spec), on_answer);
                 },
                 [&](const GetSpec& spec) {
                   return clients.Get(with_deadline(spec), on_answer);
                 },
                 [&](const DeleteSpec& spec) {
                   return clients.Delete(with_deadline(spec), on_answer);
                 },
                 [&](const ReduceSpec& spec) {
                   return clients.Reduce(with_deadline(spec), on_answer);
                 }},
      operation.spec);
  if (operation.must_succeed && requests_ != nullptr) requests_->ExpectOk(key);
  if (operation.cancel_after == absl::InfiniteDuration()) return;
  simulation_->agenda().After(operation.cancel_after, [this, key] {
    simulation_->clients().Cancel(key);
  });
}

void WorkloadRunner::Answered(std::size_t index,
                              const command::AnswerRequest& answer) {
  states_[index].answered = simulation_->agenda().now();
  states_[index].answer = answer;
  for (std::size_t follower : states_[index].followers) {
    if (--states_[follower].waits_for == 0) Begin(follower);
  }
}

std::optional<absl::Time> WorkloadRunner::AllAnswered() const {
  absl::Time last = absl::UnixEpoch();
  for (const State& state : states_) {
    if (!state.answered.has_value()) return std::nullopt;
    last = std::max(last, *state.answered);
  }
  return last;
}

}  // namespace hoplite::sim
