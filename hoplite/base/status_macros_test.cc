#include "hoplite/base/status_macros.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hoplite/base/testing/status_matchers.h"

namespace hoplite {
namespace {

absl::Status ReturnEarly(const absl::Status& status, bool& reached_the_end) {
  HOPLITE_RETURN_IF_ERROR(status);
  reached_the_end = true;
  return absl::OkStatus();
}

absl::StatusOr<int> Sum(absl::StatusOr<int> first, absl::StatusOr<int> second) {
  HOPLITE_ASSIGN_OR_RETURN(const int a, first);
  HOPLITE_ASSIGN_OR_RETURN(const int b, second);
  return a + b;
}

absl::StatusOr<std::string> Take(
    absl::StatusOr<std::unique_ptr<std::string>> text) {
  HOPLITE_ASSIGN_OR_RETURN(std::unique_ptr<std::string> owned, std::move(text));
  return *owned;
}

TEST(StatusMacrosTest, AnErrorReturnsEarlyAsItIs) {
  bool reached_the_end = false;
  EXPECT_EQ(ReturnEarly(absl::DataLossError("gone"), reached_the_end),
            absl::DataLossError("gone"));
  EXPECT_FALSE(reached_the_end);
  EXPECT_THAT(ReturnEarly(absl::OkStatus(), reached_the_end), IsOk());
  EXPECT_TRUE(reached_the_end);
}

TEST(StatusMacrosTest, AValueIsAssignedAndTheFirstErrorReturned) {
  EXPECT_THAT(Sum(1, 2), IsOkAndHolds(3));
  EXPECT_EQ(Sum(absl::NotFoundError("a"), absl::DataLossError("b")).status(),
            absl::NotFoundError("a"));
  EXPECT_EQ(Sum(1, absl::DataLossError("b")).status(),
            absl::DataLossError("b"));
}

TEST(StatusMacrosTest, AValueThatOnlyMovesIsMoved) {
  EXPECT_THAT(Take(std::make_unique<std::string>("bytes")),
              IsOkAndHolds("bytes"));
  EXPECT_THAT(Take(absl::CancelledError()),
              StatusIs(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace hoplite
