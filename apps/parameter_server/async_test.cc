#include "apps/parameter_server/async.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "apps/parameter_server/faulty_runtime.h"
#include "apps/parameter_server/journal.h"
#include "apps/parameter_server/options.h"
#include "hoplite/base/testing/status_matchers.h"

namespace hoplite::apps {
namespace {

using ::testing::_;

// Whole numbers, which the journal checks at the end.
Options PaperOptions() {
  Options options;
  options.workload = {.digits = false, .elements = 100};
  options.workers = 4;
  options.quorum = 2;
  options.rate = 1;
  options.iterations = 40;
  return options;
}

nlohmann::ordered_json Learn(const Options& options) {
  const auto journal = Journal::Create(options);
  EXPECT_THAT(journal, IsOk());
  const auto weights = LearnAsynchronously(options, **journal);
  EXPECT_THAT(weights, IsOk());
  if (!weights.ok()) return nlohmann::ordered_json::object();
  const auto result = (*journal)->Finish(*weights);
  EXPECT_THAT(result, IsOk());
  return result.ok() ? *result : nlohmann::ordered_json::object();
}

TEST(Async, EachGradientGoesInOnce) {
  FaultyRuntime runtime;
  const auto result = Learn(PaperOptions());
  EXPECT_EQ(result.value("updates", 0), 40);
  EXPECT_EQ(result.value("replaced", -1), 0);
}

TEST(Async, ItLearnsDigits) {
  FaultyRuntime runtime;
  Options options;
  options.workers = 3;
  options.quorum = 1;
  options.rate = 0.5f;
  options.iterations = 600;
  EXPECT_GE(Learn(options).value("accuracy", 0.0), 0.95);
}

TEST(Async, AWorkerThatDiesIsReplacedAndNoUpdateIsLost) {
  FaultyRuntime runtime;
  runtime.KillAtEvery(5);
  const auto result = Learn(PaperOptions());
  EXPECT_EQ(result.value("updates", 0), 40);
  EXPECT_GT(result.value("replaced", 0), 5);
  EXPECT_EQ(result.value("rolled_back", -1), 0);
}

TEST(Async, LostWeightsAreReplacedByTheNewestWhole) {
  FaultyRuntime runtime;
  runtime.FailTask(10);
  const auto result = Learn(PaperOptions());
  EXPECT_EQ(result.value("updates", 0), 40);
  EXPECT_EQ(result.value("rolled_back", 0), 1);
}

TEST(Async, WhereEveryWorkerDiesItEndsWithAnError) {
  FaultyRuntime runtime;
  runtime.KillAtEvery(1);
  const Options options = PaperOptions();
  const auto journal = Journal::Create(options);
  ASSERT_THAT(journal, IsOk());
  EXPECT_THAT(LearnAsynchronously(options, **journal),
              StatusIs(absl::StatusCode::kAborted, _));
}

}  // namespace
}  // namespace hoplite::apps
