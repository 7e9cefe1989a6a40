// What people see of tasks: `hoplite trace` and `hoplite status`, on real
// nodes.

#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/testbed/host_process.h"
#include "tests/integration/tasks/task_cluster.h"

namespace hoplite {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr char kHoplite[] = "ray_integration/cli/hoplite";
constexpr char kDriver[] = "tests/integration/tasks/trace_driver";

class TraceTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(cluster_.ok()); }

  // What the command of `hoplite` says on the node.
  std::string Say(int node, const std::vector<std::string>& words) {
    const DriverOutcome outcome = cluster_.Run(node, kHoplite, words);
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.error;
    return outcome.out;
  }
  // The events of the cluster's trace, asked for on the node.
  std::vector<Json> Trace(int node) {
    const std::string file = absl::StrCat(cluster_.folder(), "/trace.json");
    summary_ = Json::parse(Say(node, {"trace", "-o", file, "--json"}));
    std::ifstream in(file);
    const Json trace = Json::parse(in);
    return trace["traceEvents"].get<std::vector<Json>>();
  }
  // The slices of tasks and calls, by the function's last name.
  static std::map<std::string, std::vector<Json>> Tasks(
      const std::vector<Json>& events) {
    std::map<std::string, std::vector<Json>> tasks;
    for (const Json& event : events) {
      if (event["ph"] != "X" || event["cat"] == "transfer") continue;
      const std::string name = event["name"];
      const std::size_t colon = name.rfind(':');
      tasks[colon == std::string::npos ? name : name.substr(colon + 1)]
          .push_back(event);
    }
    return tasks;
  }

  TaskCluster cluster_{3};
  Json summary_;
};

TEST_F(TraceTest, ATraceHasEachTaskOnceInTheOrderOfTimes) {
  const DriverOutcome ran = cluster_.Run(0, kDriver, {"run"});
  ASSERT_EQ(ran.code, 0) << ran.out << ran.error;
  const std::vector<Json> events = Trace(1);
  auto tasks = Tasks(events);
  EXPECT_EQ(tasks["Square"].size(), 40u);
  EXPECT_EQ(tasks["Total"].size(), 1u);
  EXPECT_EQ(tasks["MakeGate"].size(), 1u);
  EXPECT_EQ(tasks["Count"].size(), 5u);
  EXPECT_EQ(tasks["Fill"].size(), 1u);
  EXPECT_EQ(tasks["Length"].size(), 1u);
  ASSERT_EQ(tasks["Fail"].size(), 1u);
  EXPECT_EQ(tasks["Fail"][0]["args"]["outcome"], "failed");
  EXPECT_THAT(std::string(tasks["Fail"][0]["args"]["error"]),
              HasSubstr("meant to"));

  std::set<std::string> results;
  std::size_t count = 0;
  for (const auto& [name, spans] : tasks) {
    for (const Json& span : spans) results.insert(span["args"]["result"]);
    count += spans.size();
  }
  EXPECT_EQ(results.size(), count);
  EXPECT_EQ(summary_["tasks"], count);
  EXPECT_EQ(summary_["nodes"], 3);
  EXPECT_EQ(summary_["left_out"], 0);
  EXPECT_TRUE(summary_["silent"].empty());

  double last = 0;
  for (const Json& event : events) {
    if (event["ph"] == "M") continue;
    EXPECT_GE(event["ts"], last);
    EXPECT_GE(event.value("dur", 0.0), 0.0);
    last = event["ts"];
  }
}

TEST_F(TraceTest, ATraceShowsWhoUsesWhatAndWhatWasMovedForIt) {
  const DriverOutcome ran = cluster_.Run(0, kDriver, {"run"});
  ASSERT_EQ(ran.code, 0) << ran.out << ran.error;
  const std::vector<Json> events = Trace(2);
  auto tasks = Tasks(events);
  ASSERT_EQ(tasks["Total"].size(), 1u);
  EXPECT_EQ(tasks["Total"][0]["args"]["inputs"].size(), 2u);
  ASSERT_EQ(tasks["Fill"].size(), 1u);
  ASSERT_EQ(tasks["Length"].size(), 1u);
  const Json& fill = tasks["Fill"][0];
  const Json& length = tasks["Length"][0];
  EXPECT_NE(fill["pid"], length["pid"]);
  EXPECT_EQ(length["args"]["inputs"], Json({fill["args"]["result"]}));

  int moved = 0;
  int arrows_to_length = 0;
  for (const Json& event : events) {
    if (event["ph"] == "X" && event["cat"] == "transfer" &&
        event["args"]["object"] == fill["args"]["result"]) {
      ++moved;
      EXPECT_EQ(event["pid"], length["pid"]);
      EXPECT_EQ(event["args"]["outcome"], "done");
      EXPECT_GE(event["args"]["bytes"], 400'000);
    }
    arrows_to_length += event["ph"] == "f" && event["ts"] == length["ts"] &&
                        event["tid"] == length["tid"];
  }
  EXPECT_EQ(moved, 1);
  EXPECT_EQ(arrows_to_length, 1);
}

TEST_F(TraceTest, StatusNamesWhatRunsAndActors) {
  const auto driver = cluster_.Start(0, kDriver, {"hold", cluster_.folder()});
  ASSERT_NE(driver, nullptr);
  const auto line = driver->ReadLine(absl::Now() + absl::Minutes(2));
  ASSERT_TRUE(line.ok()) << line.status() << driver->StandardError();
  EXPECT_EQ(*line, "held");

  // The actor may be on any node: one of them shows it.
  int holds = 0;
  for (int node = 0; node < cluster_.size(); ++node) {
    const Json tasks = Json::parse(Say(node, {"status", "--json"}))["tasks"];
    EXPECT_EQ(tasks["host"], absl::StrCat("host", node));
    for (const Json& process : tasks["processes"]) {
      EXPECT_THAT(std::string(process["program"]), HasSubstr("trace_driver"));
      if (process["driver"] || process["running"] == "") continue;
      ++holds;
      EXPECT_THAT(std::string(process["function"]), HasSubstr("Gate::Hold"));
      EXPECT_THAT(std::string(process["actor"]), HasSubstr("MakeGate"));
      EXPECT_GT(process["running_seconds"], 0.0);
      EXPECT_THAT(
          Say(node, {"status"}),
          ContainsRegex("worker [0-9]+: actor of [a-z:]*MakeGate, leased by "
                        "worker 1 of node 1, runs [a-z:]*Gate::Hold for "
                        "[0-9.]+ s, result [0-9a-f]+"));
    }
  }
  EXPECT_EQ(holds, 1);
  EXPECT_THAT(Say(0, {"status"}), ContainsRegex("driver 1: .*trace_driver"));

  ASSERT_TRUE(driver->WriteLine("go on").ok());
  EXPECT_EQ(driver->Wait(absl::Now() + absl::Minutes(2)).value_or(-1), 0)
      << driver->StandardError();
}

}  // namespace
}  // namespace hoplite
