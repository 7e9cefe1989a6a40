#include "hoplite/base/testing/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hoplite {
namespace {

using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pointee;

template <typename Value, typename Matcher>
std::string Explain(const Value& value, const Matcher& matcher) {
  ::testing::StringMatchResultListener listener;
  ::testing::ExplainMatchResult(matcher, value, &listener);
  return listener.str();
}

TEST(StatusMatchersTest, OkIsToldFromErrors) {
  EXPECT_THAT(absl::OkStatus(), IsOk());
  EXPECT_THAT(absl::StatusOr<int>(3), IsOk());
  EXPECT_THAT(absl::CancelledError(), Not(IsOk()));
  EXPECT_THAT(absl::StatusOr<int>(absl::CancelledError()), Not(IsOk()));
}

TEST(StatusMatchersTest, TheValueIsMatched) {
  EXPECT_THAT(absl::StatusOr<int>(3), IsOkAndHolds(3));
  EXPECT_THAT(absl::StatusOr<int>(3), IsOkAndHolds(Gt(2)));
  EXPECT_THAT(absl::StatusOr<int>(3), Not(IsOkAndHolds(4)));
  EXPECT_THAT(absl::StatusOr<int>(absl::CancelledError()),
              Not(IsOkAndHolds(3)));
}

TEST(StatusMatchersTest, AValueThatOnlyMovesIsMatchedInPlace) {
  EXPECT_THAT(absl::StatusOr<std::unique_ptr<int>>(std::make_unique<int>(3)),
              IsOkAndHolds(Pointee(3)));
}

TEST(StatusMatchersTest, CodeAndMessageAreMatched) {
  const absl::Status status = absl::NotFoundError("object 7 was deleted");
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("deleted")));
  EXPECT_THAT(status, Not(StatusIs(absl::StatusCode::kDataLoss)));
  EXPECT_THAT(status,
              Not(StatusIs(absl::StatusCode::kNotFound, HasSubstr("lost"))));
  EXPECT_THAT(absl::StatusOr<int>(status),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(absl::OkStatus(), StatusIs(absl::StatusCode::kOk));
}

TEST(StatusMatchersTest, AFailureShowsTheStatusThatWasMet) {
  const absl::Status status = absl::NotFoundError("deleted");
  EXPECT_THAT(Explain(status, IsOk()), HasSubstr("NOT_FOUND: deleted"));
  EXPECT_THAT(Explain(absl::StatusOr<int>(status), IsOkAndHolds(3)),
              HasSubstr("NOT_FOUND: deleted"));
  EXPECT_THAT(Explain(status, StatusIs(absl::StatusCode::kDataLoss)),
              HasSubstr("NOT_FOUND: deleted"));
}

}  // namespace
}  // namespace hoplite
