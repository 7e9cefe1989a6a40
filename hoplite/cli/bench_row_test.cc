#include "hoplite/cli/bench_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"

namespace hoplite::cli {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Not;

BenchRow SomeRow() {
  BenchRow row;
  row.operation = Operation::kAllreduce;
  row.nodes = 16;
  row.bytes = 32 << 20;
  row.link_mbit = 250;
  row.payload_mbit = 248;
  row.bucket_bytes = 65536;
  row.bound_ms = BoundMs(row.operation, row.nodes, row.bytes, 248);
  SetTimes(row, {2200, 2100, 2300});
  row.max_sent = 1.875;
  row.idle = 0.5;
  row.marked = "processor";
  return row;
}

// 25 Mbit/s carry 3.125 bytes a microsecond: 1000 ms for 3,125,000.
TEST(BenchRowTest, BoundsAreThoseOfTheLinks) {
  const auto bound = [](Operation operation) {
    return BoundMs(operation, 8, 3'125'000, 25);
  };
  EXPECT_DOUBLE_EQ(bound(Operation::kRoundtrip), 2000);
  EXPECT_DOUBLE_EQ(bound(Operation::kBroadcast), 1000);
  EXPECT_DOUBLE_EQ(bound(Operation::kGather), 7000);
  EXPECT_DOUBLE_EQ(bound(Operation::kReduce), 1000);
  EXPECT_DOUBLE_EQ(bound(Operation::kAllreduce), 1750);
  EXPECT_DOUBLE_EQ(bound(Operation::kAllgather), 7000);
}

TEST(BenchRowTest, TheMedianIsTheMiddleOne) {
  BenchRow row;
  row.bound_ms = 2;
  SetTimes(row, {9, 3, 5});
  EXPECT_DOUBLE_EQ(row.median_ms, 5);
  EXPECT_DOUBLE_EQ(row.min_ms, 3);
  EXPECT_DOUBLE_EQ(row.max_ms, 9);
  EXPECT_DOUBLE_EQ(row.ratio, 2.5);
  SetTimes(row, {4, 1, 9, 2});
  EXPECT_DOUBLE_EQ(row.median_ms, 3);
}

TEST(BenchRowTest, AnObjectOfNoBytesHasNoRatio) {
  BenchRow row;
  row.bound_ms = BoundMs(Operation::kBroadcast, 8, 0, 250);
  SetTimes(row, {1});
  EXPECT_EQ(row.ratio, 0);
}

TEST(BenchRowTest, JsonHasAFieldForEachFigure) {
  const nlohmann::json json = nlohmann::json::parse(JsonLine(SomeRow()));
  for (const char* field : {"op",
                            "schedule",
                            "nodes",
                            "bytes",
                            "link_mbit",
                            "payload_mbit",
                            "bucket_bytes",
                            "put_ms",
                            "median_ms",
                            "min_ms",
                            "max_ms",
                            "bound_ms",
                            "ratio",
                            "max_sent",
                            "idle",
                            "wrong_bytes",
                            "peak_rss_mib",
                            "marked",
                            "fault",
                            "detect_ms",
                            "detect_max_ms",
                            "fault_percent",
                            "ended"}) {
    EXPECT_TRUE(json.contains(field)) << field;
  }
  EXPECT_EQ(json["op"], "allreduce");
  EXPECT_EQ(json["schedule"], "hoplite");
  EXPECT_EQ(json["bytes"], 32 << 20);
  EXPECT_THAT(json["ratio"].get<double>(), DoubleNear(1.084, 0.001));
  EXPECT_EQ(json["marked"], "processor");
  EXPECT_THAT(JsonLine(SomeRow()), Not(HasSubstr("\n")));
}

TEST(BenchRowTest, CsvHasAsManyFieldsAsItsHeader) {
  BenchRow row = SomeRow();
  row.error = "would not fit, by far:\nsee above";
  const std::vector<std::string> names = absl::StrSplit(CsvHeader(), ',');
  const std::vector<std::string> fields = absl::StrSplit(CsvLine(row), ',');
  ASSERT_EQ(fields.size(), names.size());
  EXPECT_EQ(names[0], "op");
  EXPECT_EQ(fields[0], "allreduce");
  EXPECT_THAT(CsvLine(row), Not(HasSubstr("\n")));
}

TEST(BenchRowTest, TheTableSaysWhyARowHasNoFigures) {
  BenchRow row = SomeRow();
  EXPECT_THAT(TableLine(row), HasSubstr("1.084"));
  row.error = "would not fit";
  EXPECT_THAT(TableLine(row), HasSubstr("would not fit"));
}

TEST(BenchRowTest, ARowWithAFaultSaysWhatBecameOfIt) {
  EXPECT_THAT(TableLine(SomeRow()), Not(HasSubstr("fault")));
  BenchRow row = SomeRow();
  row.fault = "holder@50%";
  row.detect_ms = 12.34;
  row.fault_percent = 51;
  row.ended = absl::StatusCode::kDataLoss;
  EXPECT_THAT(TableLine(row), HasSubstr("fault=holder@50% at=51.0% "
                                        "detect=12.3ms"));
  EXPECT_THAT(TableLine(row), HasSubstr("ended=DATA_LOSS"));
  EXPECT_EQ(nlohmann::json::parse(JsonLine(row))["ended"], "DATA_LOSS");
  row.error = "the run ended before";
  EXPECT_EQ(nlohmann::json::parse(JsonLine(row))["ended"], "");
}

// nccl-tests' busbw: what each link carried, so comparable over nodes.
TEST(BenchRowTest, TheTableHasTheRates) {
  EXPECT_THAT(TableHeader(), HasSubstr("busbw"));
  EXPECT_THAT(TableLine(SomeRow()), HasSubstr("0.0153   0.0286"));
}

}  // namespace
}  // namespace hoplite::cli
