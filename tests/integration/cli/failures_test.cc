// Nodes and heads that are killed, stopped and started again, as processes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hoplite/base/digest.h"
#include "hoplite/base/id.h"
#include "tests/integration/cli/command_runner.h"

namespace hoplite {
namespace {

// The head's host has a network of its own, so the port is free.
constexpr char kHeadAddress[] = "host0:7000";

class FailuresTest : public ::testing::Test {
 protected:
  // A head on host 0, members on the others.
  void StartCluster(int hosts) {
    hosts_ = std::make_unique<CommandRunner>(hosts);
    ASSERT_TRUE(hosts_->ok());
    nodes_.push_back(StartHead());
    for (int host = 1; host < hosts; ++host) nodes_.push_back(Join(host));
  }
  RunningNode StartHead() {
    return hosts_->RunNode(0,
                           {"--head", absl::StrCat("--listen=", kHeadAddress)});
  }
  RunningNode Join(int host) {
    return hosts_->RunNode(host, {absl::StrCat("--join=", kHeadAddress)});
  }
  Outcome RunStatus(int host) {
    return hosts_->Run(host,
                       {"status", "--json",
                        "--node=" + nodes_[host].started.value("socket", "?")});
  }
  // The numbers of the members that a host's node knows.
  std::vector<int> Members(int host) {
    const Outcome status = RunStatus(host);
    std::vector<int> members;
    if (status.code != 0) return members;  // its node begins anew
    const nlohmann::json json = status.Json();
    for (const auto& member : json.at("members")) {
      members.push_back(member.at("node").get<int>());
    }
    return members;
  }
  // Asks until the node knows these members: how long that took.
  absl::Duration Await(int host, const std::vector<int>& members) {
    const absl::Time begin = absl::Now();
    while (Members(host) != members && absl::Now() < Soon()) {
      if (absl::Now() - begin > absl::Seconds(60)) {
        ADD_FAILURE() << "node of host " << host << " knows other members: "
                      << ::testing::PrintToString(Members(host));
        break;
      }
    }
    return absl::Now() - begin;
  }
  void Put(int host, const std::string& name, const std::string& text) {
    WriteText(hosts_->Path(name), text);
    EXPECT_EQ(hosts_->Run(host, {"put", name, "--id=" + name}).code, 0);
  }
  std::string Get(int host, const std::string& name) {
    return hosts_->Run(host, {"get", name, "-o", "-", "--timeout=20s"}).out;
  }

  nlohmann::json StatusOf(int host) { return RunStatus(host).Json(); }
  // A name whose record has its place on that node, as the one of host 1 knows.
  std::string NameAt(int node, const std::string& prefix = "object-") {
    const nlohmann::json status = StatusOf(1);
    for (int i = 0; i < 10'000; ++i) {
      const std::string name = absl::StrCat(prefix, i);
      const auto shard = IdFromName(name).shard().value();
      for (const auto& run : status.at("shards")) {
        const auto first = run.at("first").get<std::uint32_t>();
        if (shard >= first && shard - first < run.at("count") &&
            run.at("node") == node) {
          return name;
        }
      }
    }
    ADD_FAILURE() << "node " << node << " hosts no shard";
    return "";
  }
  // A Get of host 3, which its node has when this returns.
  std::unique_ptr<testbed::HostProcess> BeginGet(const std::string& name) {
    auto get = hosts_->Start(3, {"get", name, "-o", "-", "--timeout=50s"});
    const absl::Time deadline = Soon();
    while (StatusOf(3).at("requests_waiting") == 0) {
      if (absl::Now() > deadline) ADD_FAILURE() << "the Get does not wait";
      if (absl::Now() > deadline) break;
    }
    return get;
  }
  // What it gets, and how long that takes from now on.
  static absl::Duration Finish(testbed::HostProcess& get,
                               const std::string& text) {
    const absl::Time begin = absl::Now();
    const auto got = get.ReadAll(Soon());
    const absl::Duration taken = absl::Now() - begin;
    EXPECT_TRUE(got.ok());
    EXPECT_EQ(got.value_or(""), text);
    return taken;
  }

  std::unique_ptr<CommandRunner> hosts_;
  std::vector<RunningNode> nodes_;
};

// What a Get that waits for somebody who is away takes from his return on.
constexpr absl::Duration kSoonAfter = absl::Seconds(1);

TEST_F(FailuresTest, AKilledNodeIsMissedAtOnce) {
  StartCluster(3);
  Await(1, {1, 2, 3});
  ASSERT_TRUE(nodes_[2].process->Signal(SIGKILL).ok());
  // Most of it is the time of a command.
  EXPECT_LT(Await(1, {1, 2}), absl::Seconds(2));
}

TEST_F(FailuresTest, AStoppedNodeIsMissedAndComesBackAsAnother) {
  StartCluster(3);
  Await(1, {1, 2, 3});
  ASSERT_TRUE(nodes_[2].process->Signal(SIGSTOP).ok());
  const absl::Duration missed = Await(1, {1, 2});
  EXPECT_GT(missed, absl::Seconds(1)) << "a pause is no death";
  EXPECT_LT(missed, absl::Seconds(10));
  ASSERT_TRUE(nodes_[2].process->Signal(SIGCONT).ok());
  Await(1, {1, 2, 4});
  Await(2, {1, 2, 4});
  Put(2, "later", "from another life");
  EXPECT_EQ(Get(1, "later"), "from another life");
}

TEST_F(FailuresTest, TheHeadMayBeKilledAndStartedAgain) {
  StartCluster(4);
  Await(1, {1, 2, 3, 4});
  const std::string large(3 << 20, 'x');
  Put(1, "large", large);
  Put(2, "small", "text");
  ASSERT_TRUE(nodes_[0].process->Signal(SIGKILL).ok());
  EXPECT_EQ(Get(3, "large"), large) << "while the head is away";
  nodes_[0] = StartHead();
  Await(0, {1, 2, 3, 4});
  EXPECT_EQ(Get(2, "large"), large);
  EXPECT_EQ(Get(0, "large"), large) << "by the head that knew nothing of it";
  EXPECT_EQ(Get(3, "small"), "text");
  ASSERT_TRUE(nodes_[3].process->Signal(SIGKILL).ok());
  Await(1, {1, 2, 3});
  nodes_[3] = Join(3);
  // The ids that a later head gives out begin with its number.
  Await(1, {1, 2, 3, (1 << kHeadNumberShiftOfNodes) + 1});
  EXPECT_EQ(Get(3, "large"), large);
}

TEST_F(FailuresTest, AGetNeedsNoHead) {
  StartCluster(4);
  Await(1, {1, 2, 3, 4});
  const std::string name = NameAt(3);
  Put(1, name, "here all the time");
  ASSERT_TRUE(nodes_[0].process->Signal(SIGKILL).ok());
  const auto get = hosts_->Start(3, {"get", name, "-o", "-"});
  EXPECT_LT(Finish(*get, "here all the time"), kSoonAfter);
  nodes_[0] = StartHead();
  Await(0, {1, 2, 3, 4});
  const auto again = hosts_->Start(0, {"get", name, "-o", "-"});
  EXPECT_LT(Finish(*again, "here all the time"), kSoonAfter);
}

TEST_F(FailuresTest, AGetThatWaitsForAStoppedShardEndsSoonAfterItWakes) {
  StartCluster(4);
  Await(1, {1, 2, 3, 4});
  const std::string name = NameAt(3);
  Put(1, name, "here all the time");
  ASSERT_TRUE(nodes_[2].process->Signal(SIGSTOP).ok());
  const auto get = BeginGet(name);
  ASSERT_TRUE(nodes_[2].process->Signal(SIGCONT).ok());
  EXPECT_LT(Finish(*get, "here all the time"), kSoonAfter);
}

TEST_F(FailuresTest, AGetThatWaitsForAShardThatIsCutOffEndsSoonAfterIt) {
  StartCluster(4);
  Await(1, {1, 2, 3, 4});
  const std::string name = NameAt(3);
  Put(1, name, "here all the time");
  // Its stream to the shard's host stands: TCP tries a new one once a second.
  Put(3, NameAt(3, "before-"), "the stream");
  ASSERT_TRUE(hosts_->testbed().CutLink(2).ok());
  const auto get = BeginGet(name);
  ASSERT_TRUE(hosts_->testbed().RestoreLink(2).ok());
  EXPECT_LT(Finish(*get, "here all the time"), kSoonAfter);
}

TEST_F(FailuresTest, AMemberMayStartBeforeItsHead) {
  hosts_ = std::make_unique<CommandRunner>(2);
  ASSERT_TRUE(hosts_->ok());
  RunningNode member =
      hosts_->StartNode(1, {absl::StrCat("--join=", kHeadAddress)});
  const RunningNode head = StartHead();
  hosts_->AwaitStart(member);
  EXPECT_EQ(member.started.value("node", 0), 2);
}

}  // namespace
}  // namespace hoplite

int main(int argc, char** argv) {
  return hoplite::RunAllTestsAsOrdinaryUser(argc, argv);
}
