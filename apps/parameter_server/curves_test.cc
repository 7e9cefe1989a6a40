#include "apps/parameter_server/curves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "hoplite/base/testing/status_matchers.h"

namespace hoplite::apps {
namespace {

using ::testing::_;

TEST(Curves, EachPointIsALine) {
  const std::string path = absl::StrCat(testing::TempDir(), "/curves.csv");
  Curves curves;
  ASSERT_THAT(curves.Open(path), IsOk());
  curves.Add({.time = absl::Milliseconds(1500),
              .updates = 3,
              .samples = 1152,
              .score = {.loss = 0.25, .accuracy = 0.5}});
  ASSERT_THAT(curves.Finish(), IsOk());
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(text,
            "seconds,updates,samples,loss,accuracy\n"
            "1.500,3,1152,0.25000,0.50000\n");
}

TEST(Curves, AFileThatCannotBeWrittenIsAnError) {
  Curves curves;
  EXPECT_THAT(curves.Open("/no/such/folder/curves.csv"),
              StatusIs(absl::StatusCode::kFailedPrecondition, _));
}

TEST(Curves, WithoutAPathThereIsNone) {
  Curves curves;
  EXPECT_THAT(curves.Open(""), IsOk());
  curves.Add({});
  EXPECT_THAT(curves.Finish(), IsOk());
}

}  // namespace
}  // namespace hoplite::apps
