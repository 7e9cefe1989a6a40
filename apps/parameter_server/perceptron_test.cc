#include "apps/parameter_server/perceptron.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "apps/parameter_server/digits.h"
#include "hoplite/base/random.h"

namespace hoplite::apps {
namespace {

TEST(Perceptron, ItsGradientIsTheSlopeOfItsLoss) {
  const Perceptron perceptron({kDigitPixels, 8, 7, kDigitClasses});
  std::vector<float> weights = perceptron.FirstWeights(Random(1));
  Random random(2);
  const Examples batch = DrawBatch(HandwrittenDigits().learned, 16, random);
  const std::vector<float> gradient = perceptron.Gradient(weights, batch);
  ASSERT_EQ(gradient.size(), perceptron.weight_count());

  constexpr float kStep = 1e-3f;  // farther, and units switch on and off
  for (std::size_t i = 0; i < weights.size(); i += 13) {
    const float before = weights[i];
    weights[i] = before + kStep;
    const double above = perceptron.Evaluate(weights, batch).loss;
    weights[i] = before - kStep;
    const double below = perceptron.Evaluate(weights, batch).loss;
    weights[i] = before;
    EXPECT_NEAR((above - below) / (2 * kStep), gradient[i], 5e-3) << i;
  }
}

TEST(Perceptron, FirstItKnowsNothing) {
  const Perceptron perceptron({kDigitPixels, 32, kDigitClasses});
  const Score score = perceptron.Evaluate(perceptron.FirstWeights(Random(1)),
                                          HandwrittenDigits().held_out);
  EXPECT_LT(score.accuracy, 0.4);
  EXPECT_GT(score.loss, 1.5);
}

TEST(Perceptron, AWrongAnswerThatIsCertainHasAFiniteLoss) {
  const Perceptron perceptron({1, 2});
  const std::vector<float> weights = {1000, -1000, 0, 0};
  const Examples wrong = {.images = Eigen::MatrixXf::Ones(1, 1), .labels = {1}};
  const Score score = perceptron.Evaluate(weights, wrong);
  EXPECT_TRUE(std::isfinite(score.loss));
  EXPECT_EQ(score.accuracy, 0.0);
}

TEST(Perceptron, ItReadsNinetySevenOfAHundredHeldOutDigits) {
  const Perceptron perceptron({kDigitPixels, 256, kDigitClasses});
  std::vector<float> weights = perceptron.FirstWeights(Random(1));
  Random random(2);
  for (int update = 0; update < 1000; ++update) {
    Examples batch = DrawBatch(HandwrittenDigits().learned, 128, random);
    ShiftSome(batch, random);
    const std::vector<float> gradient = perceptron.Gradient(weights, batch);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] -= 0.5f * gradient[i];
    }
  }
  const Score score =
      perceptron.Evaluate(weights, HandwrittenDigits().held_out);
  EXPECT_GE(score.accuracy, 0.97);
  EXPECT_LT(score.loss, 0.15);
}

}  // namespace
}  // namespace hoplite::apps
