#include "apps/parameter_server/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hoplite/base/testing/status_matchers.h"

namespace hoplite::apps {
namespace {

using ::testing::HasSubstr;

std::string PathOf(absl::string_view name) {
  return absl::StrCat(testing::TempDir(), "/", name);
}

TEST(Checkpoint, WhatWasWrittenIsRead) {
  const std::string path = PathOf("written");
  ASSERT_THAT(WriteCheckpoint(path, 7, std::vector<float>{1, 2}), IsOk());
  ASSERT_THAT(WriteCheckpoint(path, 8, std::vector<float>{3, 4, 5}), IsOk());
  const auto read = ReadCheckpoint(path);
  ASSERT_THAT(read, IsOk());
  ASSERT_TRUE(read->has_value());
  EXPECT_EQ((*read)->updates, 8);
  EXPECT_EQ((*read)->weights, (std::vector<float>{3, 4, 5}));
}

TEST(Checkpoint, WithoutAFileThereIsNone) {
  const auto read = ReadCheckpoint(PathOf("nothing"));
  ASSERT_THAT(read, IsOk());
  EXPECT_FALSE(read->has_value());
}

TEST(Checkpoint, APartOfAFileIsNone) {
  const std::string path = PathOf("part");
  ASSERT_THAT(WriteCheckpoint(path, 7, std::vector<float>(100)), IsOk());
  for (const std::uintmax_t size : {420u, 30u, 24u, 7u, 0u}) {
    std::filesystem::resize_file(path, size);
    EXPECT_THAT(ReadCheckpoint(path), StatusIs(absl::StatusCode::kDataLoss,
                                               HasSubstr("no checkpoint")));
  }
}

}  // namespace
}  // namespace hoplite::apps
