#include "experiments/figure9/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hoplite/base/testing/status_matchers.h"

namespace hoplite::experiments {
namespace {

using ::testing::_;

Row RowOf(const std::string& model, double samples) {
  Row row;
  row.cell = {.model = model, .hosts = 8, .transport = "hoplite"};
  row.median_samples_per_s = samples;
  row.options = "iterations=50, warm_up=6";
  row.machine = "this one";
  row.build = "abc";
  return row;
}

std::string NewPath(const std::string& name) {
  const std::string path = absl::StrCat(testing::TempDir(), "/", name, ".csv");
  std::filesystem::remove(path);
  return path;
}

TEST(Results, ARunThatWasInterruptedGoesOn) {
  const std::string path = NewPath("interrupted");
  {
    auto results = Results::Open(path);
    ASSERT_THAT(results, IsOk());
    EXPECT_FALSE(results->Stands(RowOf("alexnet", 0)));
    ASSERT_THAT(results->Add(RowOf("alexnet", 100)), IsOk());
  }
  const auto results = Results::Open(path);
  ASSERT_THAT(results, IsOk());
  EXPECT_TRUE(results->Stands(RowOf("alexnet", 0)));
  EXPECT_FALSE(results->Stands(RowOf("vgg16", 0)));
  ASSERT_EQ(results->rows().size(), 1u);
  EXPECT_EQ(results->rows()[0].median_samples_per_s, 100);
}

TEST(Results, ARowOfAnotherMachineBuildOrOptionIsMeasuredAnew) {
  auto results = Results::Open(NewPath("another"));
  ASSERT_THAT(results, IsOk());
  ASSERT_THAT(results->Add(RowOf("alexnet", 100)), IsOk());
  for (std::string Row::*field : {&Row::machine, &Row::build, &Row::options}) {
    Row wanted = RowOf("alexnet", 0);
    wanted.*field = "another";
    EXPECT_FALSE(results->Stands(wanted));
  }
  ASSERT_THAT(results->Add(RowOf("alexnet", 200)), IsOk());
  ASSERT_EQ(results->rows().size(), 1u);
  EXPECT_EQ(results->rows()[0].median_samples_per_s, 200);
}

TEST(Results, AFileOfSomethingElseIsLeftAlone) {
  const std::string path = NewPath("else");
  std::ofstream(path) << "a,b\n1,2\n";
  EXPECT_THAT(Results::Open(path),
              StatusIs(absl::StatusCode::kInvalidArgument, _));
  EXPECT_THAT(Results::Open("/no/such/folder/x.csv"),
              StatusIs(absl::StatusCode::kFailedPrecondition, _));
}

}  // namespace
}  // namespace hoplite::experiments
