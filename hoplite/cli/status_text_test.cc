#include "hoplite/cli/status_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hoplite/base/digest.h"

namespace hoplite::cli {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

NodeRef Ref(std::uint32_t node) {
  return {.node = NodeId(node), .incarnation = Incarnation(node)};
}

NodeReport SomeReport() {
  NodeReport report;
  report.status.self = Ref(2);
  for (std::uint32_t node : {1, 2, 3}) {
    report.status.members.push_back(
        {.ref = Ref(node),
         .control_address = "10.0.0." + std::to_string(node) + ":7000",
         .data_address = ""});
  }
  for (std::uint32_t i = 0; i < kShardCount; ++i) {
    report.status.shards.push_back(
        {.at = {.shard = ShardId(i), .epoch = Epoch(1)},
         .host = Ref(i < 100 ? 2 : 3)});
  }
  report.status.objects.push_back({.object = IdFromName("weights"),
                                   .generation = {},
                                   .size = 4096,
                                   .state = "fetching",
                                   .server = Ref(3),
                                   .gets = 1,
                                   .pulls = 2});
  report.status.transfers_under_way = 1;
  report.counters.store_bytes_used = 1 << 20;
  report.counters.store_bytes_capacity = std::uint64_t{64} << 20;
  report.socket_path = "/run/node.sock";
  return report;
}

TEST(StatusTextTest, ShowsEachNodeWithItsShardsAndRole) {
  const std::string text = StatusText(SomeReport());
  EXPECT_THAT(text, HasSubstr("3 nodes"));
  EXPECT_THAT(text, ContainsRegex("1 +0 +10.0.0.1:7000 +head"));
  EXPECT_THAT(text, ContainsRegex("2 +100 +10.0.0.2:7000 +this node"));
  EXPECT_THAT(text, ContainsRegex("3 +156 +10.0.0.3:7000"));
}

TEST(StatusTextTest, SaysThatObjectsAndTransfersAreOfThisNode) {
  const std::string text = StatusText(SomeReport());
  EXPECT_THAT(text, HasSubstr("1 objects on this node"));
  EXPECT_THAT(text, ContainsRegex(IdFromName("weights").ToHex() +
                                  " +4096 +fetching +node 3 +1 +2"));
  EXPECT_THAT(text, ContainsRegex("on this node, node 2"));
  EXPECT_THAT(text, HasSubstr("1 under way in, 2 out"));
  EXPECT_THAT(text, HasSubstr("1.0 of 64.0 MiB"));
}

TEST(StatusTextTest, AnEmptyNodeHasNoTableOfObjects) {
  NodeReport report = SomeReport();
  report.status.objects.clear();
  EXPECT_THAT(StatusText(report), HasSubstr("0 objects on this node"));
  EXPECT_THAT(StatusText(report), Not(HasSubstr("state")));
}

}  // namespace
}  // namespace hoplite::cli
