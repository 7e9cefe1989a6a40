#include "apps/parameter_server/models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "hoplite/base/testing/status_matchers.h"

namespace hoplite::apps {
namespace {

using ::testing::HasSubstr;

TEST(Models, EachHasASizeATimeAndItsSource) {
  EXPECT_EQ(Models().size(), 3u);
  for (const Model& model : Models()) {
    EXPECT_GT(model.parameters, 0u) << model.name;
    EXPECT_GT(model.compute_ms, 0) << model.name;
    EXPECT_FALSE(model.source.empty()) << model.name;
  }
}

TEST(Models, TheyAreFoundByName) {
  const auto model = FindModel("vgg16");
  ASSERT_THAT(model, IsOk());
  EXPECT_EQ(model->bytes(), 553'430'176u);
  EXPECT_THAT(FindModel("lenet"), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("alexnet, vgg16")));
}

TEST(Models, TheScaleDividesThePayload) {
  const auto model = FindModel("alexnet");
  ASSERT_THAT(model, IsOk());
  EXPECT_EQ(ScaledElements(*model, 1), 61'100'840u);
  EXPECT_EQ(ScaledElements(*model, kPaperScale), 1'576'389u);
  EXPECT_EQ(ScaledElements(*model, 1e12), 1u);
}

}  // namespace
}  // namespace hoplite::apps
