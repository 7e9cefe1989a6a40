#include "ray_integration/wire/values.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "hoplite/base/id.h"
#include "ray_integration/base/process_id.h"

namespace hoplite::task {
namespace {

TEST(ValuesTest, AnErrorComesBackWithItsCodeAndText) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), "why");
    EXPECT_EQ(ToStatus(ToInfo(status)), status);
  }
  EXPECT_TRUE(ToStatus(ToInfo(absl::OkStatus())).ok());
}

TEST(ValuesTest, ACodeThatNobodyKnowsIsUnknown) {
  EXPECT_EQ(ToStatus({.code = 17, .message = "why"}),
            absl::UnknownError("why"));
  EXPECT_EQ(ToStatus({.code = 255, .message = "why"}),
            absl::UnknownError("why"));
}

TEST(ValuesTest, EveryPartOfAProgramTellsItApart) {
  const ProcessId driver{.node = {NodeId(1), Incarnation(2)},
                         .worker = WorkerNumber(3)};
  const ProgramInfo program{.path = "/a", .arguments = {"b"}, .folder = "/"};
  const std::string key = KeyOf(program, driver);
  EXPECT_EQ(KeyOf(program, driver), key);
  ProgramInfo other = program;
  other.arguments = {"b", ""};
  EXPECT_NE(KeyOf(other, driver), key);
  other = program;
  other.environment = {"b"};
  EXPECT_NE(KeyOf(other, driver), key);
  // The same bytes in other places.
  other = program;
  std::swap(other.arguments, other.environment);
  EXPECT_NE(KeyOf(other, driver), key);
  other = program;
  other.build = "2";
  EXPECT_NE(KeyOf(other, driver), key);
  EXPECT_NE(KeyOf(program, {.node = driver.node, .worker = WorkerNumber(4)}),
            key);
}

}  // namespace
}  // namespace hoplite::task
