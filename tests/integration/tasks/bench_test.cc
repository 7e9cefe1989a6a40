// The benchmark of tasks, actor calls and puts: that it runs, and what it
// prints.

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/testbed/local_process.h"
#include "tools/cpp/runfiles/runfiles.h"

namespace hoplite {
namespace {

using bazel::tools::cpp::runfiles::Runfiles;
using ::testing::HasSubstr;

struct BenchOutcome {
  int code = -1;
  std::string out;
};

// Few calls: it is not measured here. Errors are on standard error.
BenchOutcome RunBench(std::vector<std::string> words) {
  std::string error;
  const std::unique_ptr<Runfiles> runfiles(Runfiles::CreateForTest(&error));
  if (runfiles == nullptr) return {.code = -1, .out = error};
  words.insert(
      words.begin(),
      {runfiles->Rlocation("hoplite/ray_integration/bench/bench"),
       "--warm-ups=1", "--repetitions=1", "--batch=300", "--calls=50"});
  const auto process =
      testbed::StartLocalProcess({.arguments = std::move(words)});
  if (!process.ok()) return {.code = -1, .out = process.status().ToString()};
  (*process)->CloseInput();
  const absl::Time deadline = absl::Now() + absl::Minutes(4);
  BenchOutcome outcome;
  outcome.out = (*process)->ReadAll(deadline).value_or("");
  outcome.code = (*process)->Wait(deadline).value_or(-1);
  return outcome;
}

TEST(TaskBenchTest, EachSystemIsOneLineOfJson) {
  const BenchOutcome outcome = RunBench({"--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.out;
  const auto row = nlohmann::json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(row.is_object()) << outcome.out;
  EXPECT_EQ(row.value("system", ""), "hoplite");
  for (const char* figure : {"tasks_per_s", "task_us", "actor_call_us",
                             "actor_calls_per_s", "puts_per_s"}) {
    EXPECT_GT(row.value(figure, 0.0), 0) << figure;
  }
}

TEST(TaskBenchTest, PeopleReadATable) {
  const BenchOutcome outcome = RunBench({});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("empty tasks a second"));
}

TEST(TaskBenchTest, OnlyRayIsMeasuredBeside) {
  EXPECT_EQ(RunBench({"--beside=dask"}).code, 2);
}

}  // namespace
}  // namespace hoplite
