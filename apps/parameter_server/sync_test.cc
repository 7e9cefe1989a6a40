#include "apps/parameter_server/sync.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "apps/parameter_server/faulty_runtime.h"
#include "apps/parameter_server/journal.h"
#include "apps/parameter_server/options.h"
#include "hoplite/base/testing/status_matchers.h"

namespace hoplite::apps {
namespace {

// Whole numbers, which the journal checks at the end.
Options PaperOptions() {
  Options options;
  options.workload = {.digits = false, .elements = 100};
  options.workers = 4;
  options.quorum = 4;
  options.rate = 1;
  options.iterations = 40;
  return options;
}

nlohmann::ordered_json Learn(const Options& options) {
  const auto journal = Journal::Create(options);
  EXPECT_THAT(journal, IsOk());
  const auto weights = LearnSynchronously(options, **journal);
  EXPECT_THAT(weights, IsOk());
  if (!weights.ok()) return nlohmann::ordered_json::object();
  const auto result = (*journal)->Finish(*weights);
  EXPECT_THAT(result, IsOk());
  return result.ok() ? *result : nlohmann::ordered_json::object();
}

TEST(Sync, EachGradientGoesInOnce) {
  FaultyRuntime runtime;
  const auto result = Learn(PaperOptions());
  EXPECT_EQ(result.value("updates", 0), 40);
  EXPECT_EQ(result.value("replaced", -1), 0);
}

TEST(Sync, ItLearnsDigits) {
  FaultyRuntime runtime;
  Options options;
  options.workers = 3;
  options.quorum = 3;
  options.mode = Mode::kSync;
  options.rate = 0.15f;
  options.iterations = 300;
  EXPECT_GE(Learn(options).value("accuracy", 0.0), 0.95);
}

TEST(Sync, AWorkerThatDiesIsReplacedAndNoUpdateIsLost) {
  FaultyRuntime runtime;
  runtime.KillAtEvery(19);
  const auto result = Learn(PaperOptions());
  EXPECT_EQ(result.value("updates", 0), 40);
  EXPECT_GT(result.value("replaced", 0), 5);
  EXPECT_EQ(result.value("rolled_back", -1), 0);
}

TEST(Sync, WhereEveryWorkerDiesItEndsWithAnError) {
  FaultyRuntime runtime;
  runtime.KillAtEvery(1);
  const Options options = PaperOptions();
  const auto journal = Journal::Create(options);
  ASSERT_THAT(journal, IsOk());
  EXPECT_FALSE(LearnSynchronously(options, **journal).ok());
}

}  // namespace
}  // namespace hoplite::apps
