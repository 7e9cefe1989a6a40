// A multilayer perceptron with softmax and cross-entropy, by hand in Eigen.
//
// All weights stand in one vector, so that they are one object: layer by
// layer, the matrix by columns, then the bias. Between layers is a rectifier.
//
// Thread safety: thread-safe; it keeps no state but the sizes of its layers.

#ifndef HOPLITE_APPS_PARAMETER_SERVER_PERCEPTRON_H_
#define HOPLITE_APPS_PARAMETER_SERVER_PERCEPTRON_H_

#include <cstddef>
#include <span>
#include <vector>

#include "apps/parameter_server/digits.h"
#include "apps/parameter_server/score.h"
#include "hoplite/base/random.h"

namespace hoplite::apps {

class Perceptron {
 public:
  // The sizes of the layers, the input's first. REQUIRES: at least two.
  explicit Perceptron(std::vector<int> layers);

  std::size_t weight_count() const { return weight_count_; }
  // Small and random, so that no two units begin alike.
  std::vector<float> FirstWeights(Random random) const;

  // Of the mean loss over the batch, by each weight.
  // REQUIRES: as many weights as weight_count(); the batch is not empty.
  std::vector<float> Gradient(std::span<const float> weights,
                              const Examples& batch) const;
  Score Evaluate(std::span<const float> weights,
                 const Examples& examples) const;

 private:
  // The outputs of every layer, the input first; the last are probabilities.
  std::vector<Eigen::MatrixXf> Forward(std::span<const float> weights,
                                       const Eigen::MatrixXf& images) const;

  const std::vector<int> layers_;
  std::size_t weight_count_ = 0;
};

}  // namespace hoplite::apps

#endif  // HOPLITE_APPS_PARAMETER_SERVER_PERCEPTRON_H_
