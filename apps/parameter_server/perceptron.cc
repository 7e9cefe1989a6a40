#include "apps/parameter_server/perceptron.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "hoplite/base/check.h"

namespace hoplite::apps {
namespace {

// A probability of zero has no logarithm.
constexpr float kLeastProbability = 1e-12f;

template <typename Float>
struct Layer {
  using Matrix = std::conditional_t<std::is_const_v<Float>,
                                    const Eigen::MatrixXf, Eigen::MatrixXf>;
  using Vector = std::conditional_t<std::is_const_v<Float>,
                                    const Eigen::VectorXf, Eigen::VectorXf>;
  Eigen::Map<Matrix> matrix;
  Eigen::Map<Vector> bias;
};

// Each layer's part of one vector.
template <typename Float>
std::vector<Layer<Float>> LayersOf(const std::vector<int>& sizes,
                                   std::span<Float> weights) {
  std::vector<Layer<Float>> layers;
  Float* next = weights.data();
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    const int rows = sizes[i];
    const int columns = sizes[i - 1];
    Float* const bias = next + rows * columns;
    layers.push_back({{next, rows, columns}, {bias, rows}});
    next = bias + rows;
  }
  return layers;
}

void Softmax(Eigen::MatrixXf& values) {
  for (int i = 0; i < values.cols(); ++i) {
    auto column = values.col(i).array();
    column = (column - column.maxCoeff()).exp();
    column /= column.sum();
  }
}

}  // namespace

Perceptron::Perceptron(std::vector<int> layers) : layers_(std::move(layers)) {
  HOPLITE_CHECK(layers_.size() >= 2);
  for (std::size_t i = 1; i < layers_.size(); ++i) {
    weight_count_ +=
        static_cast<std::size_t>((layers_[i - 1] + 1) * layers_[i]);
  }
}

std::vector<float> Perceptron::FirstWeights(Random random) const {
  constexpr std::uint64_t kSteps = 1 << 20;
  std::vector<float> weights(weight_count_, 0.0f);
  for (auto& layer : LayersOf<float>(layers_, weights)) {
    // As wide as keeps the spread of the outputs; biases begin at zero.
    const float most =
        std::sqrt(6.0f / static_cast<float>(layer.matrix.cols()));
    for (float& weight : layer.matrix.reshaped()) {
      const float unit = static_cast<float>(random.Between(0, kSteps)) / kSteps;
      weight = most * (2 * unit - 1);
    }
  }
  return weights;
}

std::vector<Eigen::MatrixXf> Perceptron::Forward(
    std::span<const float> weights, const Eigen::MatrixXf& images) const {
  HOPLITE_CHECK(weights.size() == weight_count_);
  std::vector<Eigen::MatrixXf> outputs = {images};
  const auto layers = LayersOf<const float>(layers_, weights);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Eigen::MatrixXf output = layers[i].matrix * outputs[i];
    output.colwise() += layers[i].bias;
    if (i + 1 < layers.size()) {
      output = output.cwiseMax(0.0f);
    } else {
      Softmax(output);
    }
    outputs.push_back(std::move(output));
  }
  return outputs;
}

std::vector<float> Perceptron::Gradient(std::span<const float> weights,
                                        const Examples& batch) const {
  const std::vector<Eigen::MatrixXf> outputs = Forward(weights, batch.images);
  std::vector<float> gradient(weight_count_);
  auto parts = LayersOf<float>(layers_, gradient);
  const auto layers = LayersOf<const float>(layers_, weights);

  // By the inputs of the softmax; then layer by layer towards the images.
  Eigen::MatrixXf slope = outputs.back();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    slope(batch.labels[i], static_cast<int>(i)) -= 1;
  }
  slope /= static_cast<float>(batch.size());
  for (std::size_t i = layers.size(); i-- > 0;) {
    parts[i].matrix.noalias() = slope * outputs[i].transpose();
    parts[i].bias = slope.rowwise().sum();
    if (i == 0) break;
    const Eigen::MatrixXf before = layers[i].matrix.transpose() * slope;
    slope = (outputs[i].array() > 0).select(before, 0.0f);
  }
  return gradient;
}

Score Perceptron::Evaluate(std::span<const float> weights,
                           const Examples& examples) const {
  const Eigen::MatrixXf likely = Forward(weights, examples.images).back();
  Score score;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const auto column = likely.col(static_cast<int>(i));
    int best = 0;
    column.maxCoeff(&best);
    score.accuracy += best == examples.labels[i] ? 1 : 0;
    score.loss -=
        std::log(std::max(column(examples.labels[i]), kLeastProbability));
  }
  score.accuracy /= static_cast<double>(examples.size());
  score.loss /= static_cast<double>(examples.size());
  return score;
}

}  // namespace hoplite::apps
