#include "experiments/figure9/row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hoplite/base/testing/status_matchers.h"

namespace hoplite::experiments {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Row SomeRow() {
  return {.cell = {.model = "alexnet", .hosts = 8, .transport = "plain"},
          .median_samples_per_s = 512.5,
          .min_samples_per_s = 500,
          .max_samples_per_s = 520,
          .most_samples_per_s = 640,
          .limit = "link",
          .idle = 0.25,
          .quorum = 3,
          .updates = 20,
          .seconds = 15.5,
          .payload_bytes = 6305556,
          .compute_ms = 75,
          .link_mbit = 250,
          .options = "a=1, b=2",
          .machine = "one",
          .build = "0123456789ab"};
}

TEST(Row, ALineIsReadAsItWasWritten) {
  const std::string text =
      absl::StrCat(RowHeader(), "\n", RowLine(SomeRow()), "\n");
  const auto rows = ParseRows(text);
  ASSERT_THAT(rows, IsOk());
  ASSERT_EQ(rows->size(), 1u);
  const Row& row = rows->front();
  EXPECT_EQ(row.cell, SomeRow().cell);
  EXPECT_EQ(row.median_samples_per_s, 512.5);
  EXPECT_EQ(row.payload_bytes, 6305556u);
  EXPECT_EQ(row.options, "a=1; b=2");
  EXPECT_EQ(RowLine(row), RowLine(SomeRow()));
}

TEST(Row, WhatIsNoRowIsNamed) {
  EXPECT_THAT(ParseRows(""), IsOkAndHolds(IsEmpty()));
  const std::string header = absl::StrCat(RowHeader(), "\n");
  EXPECT_THAT(ParseRows(header), IsOkAndHolds(IsEmpty()));
  for (const std::string& bad :
       {header + "alexnet,8", std::string("model,hosts\nalexnet,8\n"),
        header + RowLine(SomeRow()) + ",more"}) {
    EXPECT_THAT(ParseRows(bad), StatusIs(absl::StatusCode::kInvalidArgument,
                                         HasSubstr("line 2")));
  }
  std::string words = header + RowLine(SomeRow());
  words.replace(words.find("512.5"), 5, "lots!");
  EXPECT_FALSE(ParseRows(words).ok());
}

TEST(Row, ACellHasATitle) {
  EXPECT_EQ(TitleOf(SomeRow().cell), "AlexNet, 8 hosts, plain");
}

}  // namespace
}  // namespace hoplite::experiments
