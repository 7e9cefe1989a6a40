#include "ray_integration/cli/chrome_trace.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "gtest/gtest.h"
#include "hoplite/base/digest.h"

namespace hoplite::task {
namespace {

using Json = nlohmann::json;

NodeRef Ref(std::uint32_t node) {
  return {.node = NodeId(node), .incarnation = Incarnation(node)};
}

RanTask Ran(std::uint32_t worker, const std::string& name, std::int64_t begun,
            std::int64_t ended, std::vector<ObjectId> inputs = {}) {
  return {.worker = WorkerNumber(worker),
          .span = {.result = IdFromName(name),
                   .function = name,
                   .begun = begun,
                   .ended = ended,
                   .inputs = std::move(inputs)}};
}

TransferSpan Moved(const std::string& object, std::int64_t begun,
                   std::int64_t ended) {
  return {.object = IdFromName(object),
          .server = Ref(1),
          .bytes = 10,
          .begun = begun,
          .ended = ended};
}

// `Make` on node 1; its result is moved to node 2, where `Use` has it.
std::vector<NodeTrace> TwoNodes() {
  return {{.node = {.node = Ref(1), .host = "host1"},
           .tasks = {Ran(4, "Make", 1000, 5000)}},
          {.node = {.node = Ref(2), .host = "host2"},
           .tasks = {Ran(7, "Use", 9000, 9500, {IdFromName("Make")})},
           .transfers = {Moved("Make", 6000, 8000), Moved("other", 7000, 8500),
                         Moved("third", 8000, 8600)}}};
}

std::vector<Json> EventsOf(const std::vector<NodeTrace>& nodes,
                           const std::string& phase) {
  const Json trace = Json::parse(ChromeTrace(nodes));
  std::vector<Json> events;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == phase) events.push_back(event);
  }
  return events;
}

TEST(ChromeTraceTest, HasASliceForEachTaskOnItsWorkerOfItsNode) {
  const std::vector<Json> slices = EventsOf(TwoNodes(), "X");
  ASSERT_EQ(slices.size(), 5u);
  EXPECT_EQ(slices[0]["name"], "Make");
  EXPECT_EQ(slices[0]["pid"], 1);
  EXPECT_EQ(slices[0]["tid"], 4);
  EXPECT_EQ(slices[0]["ts"], 0.0);
  EXPECT_EQ(slices[0]["dur"], 4.0);
  EXPECT_EQ(slices[0]["args"]["outcome"], "done");
  EXPECT_EQ(slices[4]["name"], "Use");
  EXPECT_EQ(slices[4]["pid"], 2);
  EXPECT_EQ(slices[4]["ts"], 8.0);
  EXPECT_EQ(slices[4]["args"]["inputs"][0], IdFromName("Make").ToHex());
}

TEST(ChromeTraceTest, NamesNodesAndWorkers) {
  std::set<std::string> names;
  for (const Json& event : EventsOf(TwoNodes(), "M")) {
    names.insert(event["args"]["name"]);
  }
  EXPECT_TRUE(names.contains("node 1 (host1)"));
  EXPECT_TRUE(names.contains("worker 7"));
  EXPECT_TRUE(names.contains("transfers into this node"));
}

TEST(ChromeTraceTest, ShowsTransfersThatOverlapOnThreadsOfTheirOwn) {
  std::map<std::string, int> threads;
  for (const Json& slice : EventsOf(TwoNodes(), "X")) {
    if (slice["cat"] == "transfer") {
      threads[slice["args"]["object"]] = slice["tid"];
    }
  }
  ASSERT_EQ(threads.size(), 3u);
  EXPECT_NE(threads[IdFromName("Make").ToHex()],
            threads[IdFromName("other").ToHex()]);
  EXPECT_EQ(threads[IdFromName("Make").ToHex()],
            threads[IdFromName("third").ToHex()]);
}

TEST(ChromeTraceTest, DrawsArrowsFromATaskToWhatUsesItsResult) {
  const std::vector<Json> from = EventsOf(TwoNodes(), "s");
  const std::vector<Json> to = EventsOf(TwoNodes(), "f");
  ASSERT_EQ(from.size(), 2u);  // to the transfer, and to the task
  ASSERT_EQ(to.size(), 2u);
  for (const Json& one : from) {
    EXPECT_EQ(one["pid"], 1);
    EXPECT_EQ(one["tid"], 4);
    EXPECT_LT(one["ts"], 4.0);
  }
  EXPECT_EQ(to[0]["ts"], 5.0);
  EXPECT_EQ(to[1]["ts"], 8.0);
  EXPECT_NE(to[0]["id"], to[1]["id"]);
}

TEST(ChromeTraceTest, DrawsNoArrowBackInTime) {
  std::vector<NodeTrace> nodes = TwoNodes();
  nodes[1].tasks[0].span.begun = 2000;
  EXPECT_EQ(EventsOf(nodes, "f").size(), 1u);
}

TEST(ChromeTraceTest, HasItsEventsInTheOrderOfTheirTimes) {
  std::vector<NodeTrace> nodes = TwoNodes();
  std::swap(nodes[0], nodes[1]);
  double last = 0;
  const Json trace = Json::parse(ChromeTrace(nodes));
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "M") continue;
    EXPECT_GE(event["ts"], last);
    last = event["ts"];
  }
  EXPECT_EQ(last, 8.0);
}

TEST(ChromeTraceTest, OfNothingIsATrace) {
  EXPECT_TRUE(Json::parse(ChromeTrace({}))["traceEvents"].empty());
}

TEST(ChromeTraceTest, SurvivesANameThatIsNoText) {
  std::vector<NodeTrace> nodes = TwoNodes();
  nodes[0].tasks[0].span.error = "\xff\xfe";
  EXPECT_EQ(EventsOf(nodes, "X").size(), 5u);
}

}  // namespace
}  // namespace hoplite::task
