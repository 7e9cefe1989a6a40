// The sum of the first that come: how not to wait for the slow ones.
//
// Six workers compute a gradient each, and any three of them make a step.
// Reduce is told of all six before one is there, and adds up those that come
// first, while they come. The others stay as they are: nothing of them is
// lost, and they make the next step.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "hoplite/base/reduction.h"
#include "hoplite/base/status_macros.h"
#include "ray_integration/api/task.h"

namespace {

namespace task = hoplite::task;
using Gradient = std::vector<float>;
using Gradients = std::vector<task::ObjectRef<Gradient>>;

constexpr int kWorkers = 6;

// The sum of 1, 10, 100, ... tells who is in it.
float MarkOf(std::size_t worker) {
  return std::pow(10.0f, static_cast<float>(worker));
}

// Takes the longer, the more rounds; the result is the same.
Gradient Compute(int worker, int rounds) {
  Gradient gradient(100'000, MarkOf(worker));
  for (int i = 0; i < rounds; ++i) {
    for (float& x : gradient) x = std::sqrt(x * x);
  }
  return gradient;
}

HOPLITE_REMOTE(Compute);

// Says who is in the step, and returns that.
absl::StatusOr<std::vector<std::size_t>> Check(
    const std::string& name, const task::ObjectRef<Gradient>& step,
    const Gradients& gradients) {
  // The numbers are read where they lie, in the memory of the node's store.
  HOPLITE_ASSIGN_OR_RETURN(const task::Value<Gradient> sum,
                           task::Get(step, absl::Minutes(1)));
  HOPLITE_ASSIGN_OR_RETURN(std::vector<std::size_t> workers,
                           task::ReducedRefs(step, gradients));
  float expected = 0;
  for (const std::size_t worker : workers) expected += MarkOf(worker);
  std::cout << name << " is made of the workers "
            << absl::StrJoin(workers, ", ") << ": " << sum[0] << "\n";
  if (std::count(sum->begin(), sum->end(), expected) != 100'000) {
    return absl::InternalError("a sum is wrong");
  }
  return workers;
}

absl::Status Run() {
  Gradients gradients;
  for (int worker = 0; worker < kWorkers; ++worker) {
    const bool is_slow = worker % 2 == 1;
    gradients.push_back(task::Remote(Compute, worker, is_slow ? 1000 : 10));
  }
  const auto first = task::Reduce(gradients, hoplite::ReduceOp::kSum, 3);
  HOPLITE_ASSIGN_OR_RETURN(const std::vector<std::size_t> early,
                           Check("the first step", first, gradients));

  Gradients rest;
  for (std::size_t worker = 0; worker < gradients.size(); ++worker) {
    const bool was_in = std::count(early.begin(), early.end(), worker) > 0;
    if (!was_in) rest.push_back(gradients[worker]);
  }
  const auto second = task::Reduce(rest, hoplite::ReduceOp::kSum);
  return Check("the second step", second, gradients).status();
}

}  // namespace

int main(int argc, char** argv) {
  absl::Status status = task::Init(argc, argv);
  if (status.ok()) status = Run();
  task::Shutdown();
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
