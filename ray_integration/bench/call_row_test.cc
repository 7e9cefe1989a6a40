#include "ray_integration/bench/call_row.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/base/testing/status_matchers.h"

namespace hoplite::task {
namespace {

using ::testing::HasSubstr;

CallRow Row(const std::string& system, double scale) {
  return {.system = system,
          .tasks_per_s = 1000 * scale,
          .task_us = 400 / scale,
          .actor_call_us = 200 / scale,
          .actor_calls_per_s = 5000 * scale,
          .puts_per_s = 300 * scale};
}

TEST(CallRowTest, WhatIsPrintedIsReadBack) {
  const std::string json = CallRowJson(Row("ray-cpp", 2));
  EXPECT_EQ(json, R"({"system":"ray-cpp","tasks_per_s":2000.0,"task_us":200.0,)"
                  R"("actor_call_us":100.0,"actor_calls_per_s":10000.0,)"
                  R"("puts_per_s":600.0})");
  const auto parsed = ParseCallRow(json);
  ASSERT_THAT(parsed, IsOk());
  EXPECT_EQ(CallRowJson(*parsed), json);
}

TEST(CallRowTest, ALineThatIsNoRowIsRefused) {
  EXPECT_THAT(
      ParseCallRow("Traceback"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Traceback")));
  EXPECT_THAT(ParseCallRow(R"({"tasks_per_s": 1})"),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(CallRowTest, AFigureThatIsMissingOrZeroIsNamed) {
  CallRow row = Row("hoplite", 1);
  row.puts_per_s = 0;
  EXPECT_THAT(ParseCallRow(CallRowJson(row)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("hoplite lacks puts_per_s")));
}

TEST(CallRowTest, TheFirstSystemStandsBesideTheBestOfTheOthers) {
  const std::string table =
      CallTable({Row("hoplite", 10), Row("ray-python", 1), Row("ray-cpp", 2)});
  EXPECT_THAT(table, HasSubstr("ray-python"));
  EXPECT_THAT(table, HasSubstr("10000         1000         2000  5.0 times as "
                               "many"));
  EXPECT_THAT(table, HasSubstr("40.0        400.0        200.0  5.0 times as "
                               "fast"));
}

TEST(CallRowTest, OneSystemAloneIsComparedWithNothing) {
  EXPECT_THAT(CallTable({Row("hoplite", 1)}),
              ::testing::Not(HasSubstr("times")));
}

}  // namespace
}  // namespace hoplite::task
