#include "experiments/figure9/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hoplite::experiments {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

Row RowOf(const std::string& model, int hosts, const std::string& transport,
          double samples, double most) {
  Row row;
  row.cell = {.model = model, .hosts = hosts, .transport = transport};
  row.median_samples_per_s = samples;
  row.most_samples_per_s = most;
  row.limit = "link";
  row.idle = 0.5;
  return row;
}

TEST(Report, ALineHasBothTransportsAndTheSpeedUp) {
  const std::string table =
      SpeedUpTable({RowOf("alexnet", 16, "hoplite", 3600, 4000),
                    RowOf("alexnet", 16, "plain", 600, 640)});
  EXPECT_THAT(table, ContainsRegex("AlexNet +16 +3600 +600 +6.00 +up to 7.8 "
                                   "+4000 +0.90 +link +link +0.50\n"));
}

TEST(Report, WhatWasNotMeasuredIsADash) {
  const std::string table =
      SpeedUpTable({RowOf("vgg16", 8, "plain", 250, 280)});
  EXPECT_THAT(table, ContainsRegex("VGG-16 +8 +- +250 +- +- +- +- +- +link"));
  EXPECT_THAT(table, Not(HasSubstr("up to")));
}

TEST(Report, ModelsStandInThePapersOrder) {
  const std::string table =
      SpeedUpTable({RowOf("resnet50", 8, "hoplite", 1, 1),
                    RowOf("alexnet", 16, "hoplite", 1, 1),
                    RowOf("alexnet", 8, "hoplite", 1, 1)});
  EXPECT_LT(table.find("AlexNet        8"), table.find("AlexNet       16"));
  EXPECT_LT(table.find("AlexNet       16"), table.find("ResNet-50"));
  EXPECT_NE(table.find("ResNet-50      8"), std::string::npos);
}

}  // namespace
}  // namespace hoplite::experiments
