#include "ray_integration/api/task_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "hoplite/base/testing/status_matchers.h"

namespace hoplite::task {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

TEST(TaskErrorTest, AChainNamesEachTask) {
  const absl::Status why =
      FailedTask("Divide", absl::InvalidArgumentError("division by zero"));
  EXPECT_THAT(NotRunTask("Sum", 1, why),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "task 'Sum' did not run, since its argument 2 is an "
                       "error: task 'Divide' failed: division by zero"));
}

TEST(TaskErrorTest, APayloadStays) {
  absl::Status why = absl::AbortedError("lost");
  why.SetPayload("url", absl::Cord("data"));
  EXPECT_EQ(FailedTask("A", why).GetPayload("url"), absl::Cord("data"));
}

TEST(TaskErrorTest, ALongChainKeepsItsBeginningAndItsEnd) {
  absl::Status why = absl::AbortedError("the first error");
  for (int i = 0; i < 1000; ++i) why = NotRunTask("Next", 0, why);
  EXPECT_LE(why.message().size(), kErrorMessageBytesMax);
  EXPECT_THAT(why,
              StatusIs(absl::StatusCode::kAborted, StartsWith("task 'Next'")));
  EXPECT_THAT(std::string(why.message()), EndsWith("the first error"));
}

}  // namespace
}  // namespace hoplite::task
