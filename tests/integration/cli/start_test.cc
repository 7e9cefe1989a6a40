// Many nodes that start at once, and clusters that are started again.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "hoplite/base/random.h"
#include "tests/integration/cli/command_runner.h"

namespace hoplite {
namespace {

// The only node of its host's network, so its port is free.
constexpr char kHeadAddress[] = "host0:7000";

std::uint64_t NewSeed() {
  const char* given = std::getenv("HOPLITE_SEED");
  const std::uint64_t seed =
      given != nullptr
          ? std::strtoull(given, nullptr, 10)
          : static_cast<std::uint64_t>(absl::ToUnixMicros(absl::Now()));
  std::cout << "HOPLITE_SEED=" << seed << std::endl;
  return seed;
}

std::size_t MemberCount(CommandRunner& hosts, int host,
                        const RunningNode& node) {
  const Outcome status = hosts.Run(
      host,
      {"status", "--json", "--node=" + node.started.value("socket", "?")});
  EXPECT_EQ(status.code, 0) << status.error;
  return status.Json().at("members").size();
}

// ray-project/ray#8749, #10154: ports that are chosen, closed and opened
// again; starts at the same time that collide.
TEST(StartTest, SixteenNodesStartAtOnceOnOneHost) {
  constexpr int kNodes = 16;
  CommandRunner hosts(1);
  ASSERT_TRUE(hosts.ok());
  std::vector<RunningNode> nodes;
  for (int i = 0; i < kNodes; ++i) {
    nodes.push_back(
        i == 0 ? hosts.StartNode(
                     0, {"--head", absl::StrCat("--listen=", kHeadAddress)})
               : hosts.StartNode(0, {absl::StrCat("--join=", kHeadAddress)}));
  }
  std::set<std::string> addresses;
  std::set<std::string> sockets;
  std::set<int> numbers;
  for (RunningNode& node : nodes) {
    hosts.AwaitStart(node);
    addresses.insert(node.address());
    sockets.insert(node.started.value("socket", ""));
    numbers.insert(node.started.value("node", 0));
  }
  EXPECT_EQ(addresses.size(), kNodes);
  EXPECT_EQ(sockets.size(), kNodes);
  EXPECT_EQ(numbers.size(), kNodes);
  EXPECT_EQ(MemberCount(hosts, 0, nodes[0]), kNodes);
}

// pytorch/gloo#33: connections refused, and ports in use, when peers are
// started again and again.
TEST(StartTest, PeersStartInAnyOrderAgainAndAgain) {
  constexpr int kNodes = 4;
  const int rounds = std::getenv("HOPLITE_SOAK") != nullptr ? 100 : 3;
  Random random(NewSeed());
  CommandRunner hosts(kNodes);
  ASSERT_TRUE(hosts.ok());
  for (int round = 0; round < rounds; ++round) {
    std::vector<int> order = {0, 1, 2, 3};
    random.Shuffle(order);
    std::vector<RunningNode> nodes(kNodes);
    bool head_runs = false;
    for (int host : order) {
      RunningNode& node = nodes[static_cast<std::size_t>(host)];
      node = hosts.StartNode(
          host, {host == 0 ? "--head" : absl::StrCat("--join=", kHeadAddress),
                 absl::StrCat("--listen=host", host, ":7000")});
      head_runs = head_runs || host == 0;
      // Some start only when the one before them is up.
      if (head_runs && random.Chance(1, 2)) hosts.AwaitStart(node);
    }
    for (RunningNode& node : nodes) {
      if (node.started.is_null()) hosts.AwaitStart(node);
    }
    ASSERT_EQ(MemberCount(hosts, 0, nodes[0]), kNodes) << "round " << round;
    WriteText(hosts.Path("in"), absl::StrCat("round ", round));
    EXPECT_EQ(hosts.Run(order[0], {"put", "in", "--id=x"}).code, 0);
    for (int host : order) {
      EXPECT_EQ(hosts.Run(host, {"get", "x", "-o", "-"}).out,
                absl::StrCat("round ", round));
    }
    random.Shuffle(order);
    for (int host : order) {
      EXPECT_EQ(Stop(nodes[static_cast<std::size_t>(host)]), 0);
    }
  }
}

TEST(StartTest, ANodeEndsWithItsInputWhereThatIsAsked) {
  CommandRunner hosts(1);
  ASSERT_TRUE(hosts.ok());
  RunningNode node = hosts.RunNode(0, {"--head", "--end-with-input"});
  node.process->CloseInput();
  const auto code = node.process->Wait(Soon());
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(*code, 0);
}

TEST(StartTest, WhoWaitsForTheHeadEndsAtASignal) {
  CommandRunner hosts(1);
  ASSERT_TRUE(hosts.ok());
  RunningNode node = hosts.StartNode(
      0, {"--join=127.0.0.1:1", "--listen=127.0.0.1:0", "--timeout=10m"});
  EXPECT_EQ(Stop(node), 128 + SIGTERM);
}

TEST(StartTest, ANodeEndsInOrderWhenItsTerminalGoes) {
  CommandRunner hosts(1);
  ASSERT_TRUE(hosts.ok());
  RunningNode node = hosts.RunNode(0, {"--head"});
  EXPECT_TRUE(node.process->Signal(SIGPIPE).ok());
  EXPECT_EQ(MemberCount(hosts, 0, node), 1);
  EXPECT_TRUE(node.process->Signal(SIGHUP).ok());
  EXPECT_EQ(node.process->Wait(Soon()).value_or(-1), 0);
}

TEST(StartTest, PeopleReadOneLine) {
  CommandRunner hosts(1);
  ASSERT_TRUE(hosts.ok());
  const auto node = hosts.Start(0, {"start", "--head", "--store=16MiB"});
  ASSERT_NE(node, nullptr);
  const auto line = node->ReadLine(Soon());
  ASSERT_TRUE(line.ok()) << line.status() << node->StandardError();
  EXPECT_THAT(*line, ::testing::ContainsRegex(
                         "node 1 listens at 127.0.0.1:[0-9]+, socket /"));
}

}  // namespace
}  // namespace hoplite

int main(int argc, char** argv) {
  return hoplite::RunAllTestsAsOrdinaryUser(argc, argv);
}
