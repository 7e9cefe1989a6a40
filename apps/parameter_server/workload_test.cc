#include "apps/parameter_server/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hoplite/base/testing/status_matchers.h"

namespace hoplite::apps {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

TEST(Workload, SeveralWorkersTogetherLearnDigits) {
  constexpr int kWorkers = 3;
  const WorkloadSpec spec;
  std::vector<std::unique_ptr<Workload>> workers;
  for (int i = 0; i < kWorkers; ++i) {
    workers.push_back(Workload::Make(spec, i, /*seed=*/7u + i));
  }
  Floats weights = workers[0]->FirstWeights();
  EXPECT_EQ(weights, workers[2]->FirstWeights());
  for (int update = 0; update < 600; ++update) {
    Floats sum(weights.size(), 0.0f);
    for (const auto& worker : workers) {
      const Floats gradient = worker->Gradient(weights);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
    }
    for (std::size_t i = 0; i < sum.size(); ++i) weights[i] -= 0.2f * sum[i];
  }
  EXPECT_GE(Evaluate(spec, weights).accuracy, 0.97);
}

TEST(Workload, WorkersDrawBatchesOfTheirOwn) {
  const auto first = Workload::Make({}, 0, 1);
  const auto second = Workload::Make({}, 1, 2);
  const Floats weights = first->FirstWeights();
  EXPECT_NE(first->Gradient(weights), second->Gradient(weights));
}

TEST(Workload, ThePaperTakesItsTimeAndFillsItsFloats) {
  const WorkloadSpec spec = {
      .digits = false, .elements = 1000, .compute_ms = 20};
  const auto worker = Workload::Make(spec, 2, 1);
  const absl::Time begin = absl::Now();
  const Floats gradient = worker->Gradient(worker->FirstWeights());
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(20));
  EXPECT_EQ(gradient.size(), 1000u);
  EXPECT_THAT(gradient, Each(PaperGradient(2)));
}

TEST(Workload, AWrongWeightIsFound) {
  Floats weights(10, -4.0f);
  EXPECT_THAT(CheckPaperWeights(weights, -4), IsOk());
  weights[7] = -5;
  EXPECT_THAT(CheckPaperWeights(weights, -4),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("weight 7 is")));
}

}  // namespace
}  // namespace hoplite::apps
