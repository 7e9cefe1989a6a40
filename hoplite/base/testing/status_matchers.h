// Matchers of absl::Status and absl::StatusOr, for tests.
//
//   EXPECT_THAT(store.Delete(id), IsOk());
//   EXPECT_THAT(store.Size(id), IsOkAndHolds(Gt(3)));
//   EXPECT_THAT(store.Get(id), StatusIs(absl::StatusCode::kNotFound));
//   EXPECT_THAT(store.Get(id),
//               StatusIs(absl::StatusCode::kNotFound, HasSubstr("deleted")));
//
// Thread safety: values; as safe as GoogleMock's own.

#ifndef HOPLITE_BASE_TESTING_STATUS_MATCHERS_H_
#define HOPLITE_BASE_TESTING_STATUS_MATCHERS_H_

#include <gmock/gmock.h>

#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hoplite {
namespace internal {

inline const absl::Status& GetStatus(const absl::Status& status) {
  return status;
}

template <typename T>
const absl::Status& GetStatus(const absl::StatusOr<T>& result) {
  return result.status();
}

}  // namespace internal

// The status, or the result, is OK.
MATCHER(IsOk, negation ? "is an error" : "is OK") {
  const absl::Status& status = internal::GetStatus(arg);
  if (!status.ok()) *result_listener << "which is " << status.ToString();
  return status.ok();
}

// The result is OK, and its value matches `value_matcher`.
MATCHER_P(
    IsOkAndHolds, value_matcher,
    std::string(negation ? "is an error, or its value "
                         : "is OK, and its value ") +
        ::testing::DescribeMatcher<typename std::decay_t<arg_type>::value_type>(
            value_matcher, negation)) {
  if (!arg.ok()) {
    *result_listener << "which is " << arg.status().ToString();
    return false;
  }
  return ::testing::ExplainMatchResult(value_matcher, *arg, result_listener);
}

// The status, or the result's, has this code and a matching message.
MATCHER_P2(StatusIs, code, message_matcher,
           std::string(negation ? "is not " : "is ") +
               absl::StatusCodeToString(code) + ", whose message " +
               ::testing::DescribeMatcher<std::string>(message_matcher)) {
  const absl::Status& status = internal::GetStatus(arg);
  *result_listener << "which is " << status.ToString();
  return status.code() == code &&
         ::testing::Value(std::string(status.message()), message_matcher);
}

// The same, whatever the message.
inline auto StatusIs(absl::StatusCode code) {
  return StatusIs(code, ::testing::A<std::string>());
}

}  // namespace hoplite

#endif  // HOPLITE_BASE_TESTING_STATUS_MATCHERS_H_
