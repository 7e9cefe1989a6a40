#include "hoplite/runtime/node_report.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/base/digest.h"
#include "hoplite/base/testing/status_matchers.h"
#include "hoplite/core/config.h"

namespace hoplite {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

NodeReport Example() {
  NodeReport report;
  const NodeRef one{.node = NodeId(1), .incarnation = Incarnation(4)};
  const NodeRef two{.node = NodeId(2), .incarnation = Incarnation(5)};
  report.status.self = two;
  report.status.schedule = Schedule::kPlain;
  report.status.members = {{one, "a:1", "a:2", "a:3"},
                           {two, "[::1]:1", "[::1]:2"}};
  for (std::uint32_t i = 0; i < kShardCount; ++i) {
    report.status.shards.push_back(
        {.at = {.shard = ShardId(i), .epoch = Epoch(i < 100 ? 1 : 2)},
         .host = i < 200 ? one : two});
  }
  LocalObjectStatus object;
  object.object = IdFromName("x");
  object.generation = {.node = NodeId(2), .era = 5, .counter = UINT64_MAX};
  object.size = std::uint64_t{5} << 32;
  object.state = "fetching";
  object.server = one;
  object.gets = 3;
  object.bytes = std::uint64_t{4} << 32;
  report.status.objects = {object};
  PositionStatus position;
  position.target = IdFromName("sum");
  position.position = 3;
  position.root = true;
  position.inputs = {one, two};
  position.size = 12;
  position.bytes = 8;
  report.status.positions = {position};
  report.status.latency = absl::Microseconds(150);
  report.counters.payload_bytes_sent = std::uint64_t{1} << 40;
  report.counters.clients_connected = 2;
  report.control_address = "10.0.0.2:7000";
  report.agent_address = "10.0.0.2:7001";
  report.socket_path = "x.sock";
  report.process = 77;
  return report;
}

TEST(NodeReportTest, AReportSurvivesJson) {
  const NodeReport report = Example();
  const std::string json = ToJson(report);
  const auto read = NodeReportFromJson(json);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->status.shards, report.status.shards);
  EXPECT_EQ(read->status.members, report.status.members);
  EXPECT_EQ(read->status.self, report.status.self);
  EXPECT_EQ(read->status.schedule, Schedule::kPlain);
  EXPECT_EQ(read->status.objects[0].generation,
            report.status.objects[0].generation);
  EXPECT_EQ(read->status.objects[0].bytes, report.status.objects[0].bytes);
  ASSERT_EQ(read->status.positions.size(), 1);
  EXPECT_EQ(read->status.positions[0].target, IdFromName("sum"));
  EXPECT_EQ(read->status.positions[0].inputs,
            report.status.positions[0].inputs);
  EXPECT_EQ(read->status.latency, report.status.latency);
  EXPECT_EQ(read->counters.payload_bytes_sent,
            report.counters.payload_bytes_sent);
  EXPECT_EQ(ToJson(*read), json);
}

TEST(NodeReportTest, TheJsonIsOneLineAndNamesItsFields) {
  const std::string json = ToJson(Example());
  EXPECT_THAT(json, Not(HasSubstr("\n")));
  EXPECT_THAT(json, HasSubstr(R"("state":"fetching")"));
  EXPECT_THAT(json, HasSubstr(R"("control_address":"10.0.0.2:7000")"));
  EXPECT_THAT(json, HasSubstr(R"("agent_address":"10.0.0.2:7001")"));
}

TEST(NodeReportTest, OtherTextIsRefused) {
  for (const absl::string_view text :
       {"", "x", "[]", "{}", R"({"self":3})", "{\"self\":"}) {
    EXPECT_THAT(NodeReportFromJson(text),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << text;
  }
}

}  // namespace
}  // namespace hoplite
