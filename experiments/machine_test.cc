#include "experiments/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hoplite/base/testing/status_matchers.h"

namespace hoplite::experiments {
namespace {

using ::testing::_;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Machine, ItsNameHasNoComma) {
  EXPECT_EQ(ProcessorName("processor\t: 0\nmodel name\t: Fast, 3 GHz\n"),
            "Fast  3 GHz");
  EXPECT_EQ(ProcessorName("nothing\n"), "unknown processor");
  EXPECT_THAT(ThisMachine(), HasSubstr("processors; "));
  EXPECT_THAT(ThisMachine(), Not(HasSubstr(",")));
}

TEST(Machine, ABuildIsTheContentOfItsPrograms) {
  const std::string first = absl::StrCat(testing::TempDir(), "/first");
  const std::string second = absl::StrCat(testing::TempDir(), "/second");
  std::ofstream(first) << "one";
  std::ofstream(second) << "two";
  const auto build = BuildOf({first, second});
  ASSERT_THAT(build, IsOk());
  EXPECT_EQ(build->size(), 12u);
  std::ofstream(second) << "three";
  EXPECT_NE(BuildOf({first, second}).value_or(""), *build);
  std::ofstream(second) << "two";
  EXPECT_EQ(BuildOf({first, second}).value_or(""), *build);
  EXPECT_THAT(BuildOf({"/no/such/program"}),
              StatusIs(absl::StatusCode::kFailedPrecondition, _));
}

}  // namespace
}  // namespace hoplite::experiments
