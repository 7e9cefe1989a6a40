// What a worker computes. All else is the same whether digits are learned or
// the paper's experiment is repeated.
//
//   digits  a gradient of a perceptron over a batch of handwritten digits
//   paper   as many floats as a model of the paper has, and a wait as long as
//           its processor computes. All floats of a worker are one whole
//           number: so whoever adds them up knows what comes out.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_APPS_PARAMETER_SERVER_WORKLOAD_H_
#define HOPLITE_APPS_PARAMETER_SERVER_WORKLOAD_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "apps/parameter_server/score.h"

namespace hoplite::apps {

using Floats = std::vector<float>;

// Trivially copyable: it goes to the workers as an argument.
struct WorkloadSpec {
  bool digits = true;
  std::int32_t batch = 128;  // samples of a gradient
  // Of the paper's.
  std::uint64_t elements = 0;
  double compute_ms = 0;
};

class Workload {
 public:
  // Two of the same spec, worker and seed compute the same.
  static std::unique_ptr<Workload> Make(const WorkloadSpec& spec, int worker,
                                        std::uint64_t seed);
  virtual ~Workload() = default;

  // The same for every worker.
  virtual Floats FirstWeights() const = 0;
  // REQUIRES: as many weights as FirstWeights has.
  virtual Floats Gradient(std::span<const float> weights) = 0;
};

// How good the weights are. Of the paper's, which learn nothing: zeros.
Score Evaluate(const WorkloadSpec& spec, std::span<const float> weights);

// What each float of the worker's gradients is, of the paper's.
float PaperGradient(std::size_t worker);

// That every weight of the paper's is `expected`.
// Errors: kDataLoss, naming the first that is another.
absl::Status CheckPaperWeights(std::span<const float> weights, float expected);

}  // namespace hoplite::apps

#endif  // HOPLITE_APPS_PARAMETER_SERVER_WORKLOAD_H_
