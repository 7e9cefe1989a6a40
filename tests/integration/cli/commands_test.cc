// Every command of the command line, between three hosts, over IPv4, IPv6 and
// names, as an ordinary user.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hoplite/base/digest.h"
#include "hoplite/base/random.h"
#include "tests/integration/cli/command_runner.h"

namespace hoplite {
namespace {

using ::testing::HasSubstr;

constexpr int kHosts = 3;

// How hosts are named in the test.
enum class Naming { kIpv4, kIpv6, kName };

std::string RandomText(std::size_t size) {
  Random random(size);
  std::string text(size, '\0');
  for (char& byte : text) byte = static_cast<char>(random.Next());
  return text;
}

std::string Floats(float value, std::size_t count) {
  const std::vector<float> floats(count, value);
  std::string text(count * sizeof(float), '\0');
  std::memcpy(text.data(), floats.data(), text.size());
  return text;
}

class CommandsTest : public ::testing::TestWithParam<Naming> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(hosts_.ok());
    nodes_.push_back(hosts_.RunNode(
        0, {"--head", absl::StrCat("--listen=", HostName(0), ":0")}));
    for (int host = 1; host < kHosts; ++host) {
      nodes_.push_back(hosts_.RunNode(
          host, {absl::StrCat("--join=", nodes_[0].address()),
                 absl::StrCat("--listen=", HostName(host), ":0")}));
    }
  }

  std::string HostName(int host) {
    switch (GetParam()) {
      case Naming::kIpv4:
        return hosts_.testbed().address(host);
      case Naming::kIpv6:
        return absl::StrCat("[", hosts_.testbed().address6(host), "]");
      case Naming::kName:
        return hosts_.testbed().name(host);
    }
    return "";
  }
  // Runs a command that has to succeed, on a host; its one JSON object.
  nlohmann::json Do(int host, std::vector<std::string> words) {
    words.push_back("--json");
    const Outcome outcome = hosts_.Run(host, words);
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    return outcome.Json();
  }

  CommandRunner hosts_{kHosts};
  std::vector<RunningNode> nodes_;
};

TEST_P(CommandsTest, ANodePrintsItsRealAddressAndItsSocket) {
  for (int host = 0; host < kHosts; ++host) {
    const nlohmann::json& started =
        nodes_[static_cast<std::size_t>(host)].started;
    EXPECT_THAT(started.value("address", ""),
                ::testing::StartsWith(absl::StrCat(HostName(host), ":")));
    EXPECT_THAT(started.value("address", ""),
                ::testing::Not(::testing::EndsWith(":0")));
    EXPECT_EQ(started.value("node", 0), host + 1);
    EXPECT_NE(started.value("socket", ""), "");
    EXPECT_GT(started.value("process", 0), 0);
  }
}

TEST_P(CommandsTest, WhatOneHostPutsTheOthersGetUntilItIsDeleted) {
  for (std::size_t size : {0, 1, 3000, 5'000'000}) {
    const std::string text = RandomText(size);
    const std::string name = absl::StrCat("object of ", size);
    WriteText(hosts_.Path("in"), text);
    const nlohmann::json put = Do(1, {"put", "in", "--id=" + name});
    EXPECT_EQ(put.value("bytes", -1), static_cast<int>(size));
    EXPECT_EQ(put.value("id", ""), IdFromName(name).ToHex());
    EXPECT_EQ(Do(2, {"get", name, "-o", "out"}).value("bytes", -1),
              static_cast<int>(size));
    EXPECT_EQ(ReadText(hosts_.Path("out")), text);
    // Under the id's digits, and to standard output.
    EXPECT_EQ(hosts_.Run(0, {"get", put.value("id", ""), "-o", "-"}).out, text);
    EXPECT_TRUE(Do(0, {"delete", name}).value("deleted", false));
    const Outcome gone = hosts_.Run(2, {"get", name, "-o", "none"});
    EXPECT_EQ(gone.code, 5) << gone.error;
  }
}

TEST_P(CommandsTest, TheSameContentHasTheSameIdIfNoneIsGiven) {
  WriteText(hosts_.Path("in"), RandomText(100'000));
  const nlohmann::json put = Do(0, {"put", "in"});
  const Outcome again = hosts_.Run(1, {"put", "in", "--json"});
  EXPECT_EQ(again.code, 6) << again.error;
  EXPECT_EQ(Do(2, {"get", put.value("id", ""), "-o", "out"}).value("bytes", 0),
            100'000);
}

TEST_P(CommandsTest, AReductionIsWrittenToAFile) {
  constexpr std::size_t kCount = 250'000;
  for (int host = 0; host < kHosts; ++host) {
    WriteText(hosts_.Path("in"), Floats(static_cast<float>(1 << host), kCount));
    Do(host, {"put", "in", absl::StrCat("--id=part", host)});
  }
  const nlohmann::json sum =
      Do(1, {"reduce", "part0", "part1", "part2", "--target=sum", "-o", "out"});
  EXPECT_EQ(sum.at("sources").size(), kHosts);
  EXPECT_EQ(ReadText(hosts_.Path("out")), Floats(7, kCount));
  Do(2, {"get", "sum", "-o", "copy"});
  EXPECT_EQ(ReadText(hosts_.Path("copy")), Floats(7, kCount));
  Do(0, {"reduce", "--op=max", "--type=f32", "part0", "part1", "part2", "-o",
         "out"});
  EXPECT_EQ(ReadText(hosts_.Path("out")), Floats(4, kCount));
}

TEST_P(CommandsTest, AReductionOfTheFirstFewNamesThem) {
  for (int host = 0; host < 2; ++host) {
    WriteText(hosts_.Path("in"), Floats(static_cast<float>(1 << host), 100));
    Do(host, {"put", "in", absl::StrCat("--id=part", host)});
  }
  const nlohmann::json sum =
      Do(2, {"reduce", "--op=sum", "--type=f32", "--count=2", "part0",
             "never put", "part1", "-o", "out"});
  std::vector<std::string> parts = {IdFromName("part0").ToHex(),
                                    IdFromName("part1").ToHex()};
  EXPECT_THAT(sum.at("sources").get<std::vector<std::string>>(),
              ::testing::UnorderedElementsAreArray(parts));
  EXPECT_EQ(ReadText(hosts_.Path("out")), Floats(3, 100));
}

TEST_P(CommandsTest, StatusShowsNodesShardsAndObjects) {
  WriteText(hosts_.Path("in"), RandomText(200'000));
  Do(1, {"put", "in", "--id=seen"});
  const nlohmann::json status = Do(1, {"status"});
  EXPECT_EQ(status.at("members").size(), kHosts);
  const Outcome text = hosts_.Run(1, {"status"});
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, HasSubstr("3 nodes"));
  for (const RunningNode& node : nodes_) {
    EXPECT_THAT(text.out, HasSubstr(node.address()));
  }
  EXPECT_THAT(text.out, HasSubstr(IdFromName("seen").ToHex()));
}

TEST_P(CommandsTest, ABenchmarkRunsOnTheClusterAndLeavesIt) {
  const Outcome bench = hosts_.Run(
      2, {"bench", "broadcast", "-b", "4K", "-e", "4K", "-n", "1", "-w", "0",
          "--nodes=2", "--json", absl::StrCat("--join=", nodes_[0].address())});
  EXPECT_EQ(bench.code, 0) << bench.error;
  EXPECT_EQ(bench.Json().value("wrong_bytes", 1), 0);
  EXPECT_EQ(bench.Json().value("nodes", 0), 2);
}

TEST_P(CommandsTest, NodesStopWithinASecondOrTwo) {
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    EXPECT_EQ(Stop(*node), 0);
  }
}

std::string NameOf(const ::testing::TestParamInfo<Naming>& info) {
  switch (info.param) {
    case Naming::kIpv4:
      return "Ipv4";
    case Naming::kIpv6:
      return "Ipv6";
    case Naming::kName:
      return "Name";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(Naming, CommandsTest,
                         ::testing::Values(Naming::kIpv4, Naming::kIpv6,
                                           Naming::kName),
                         NameOf);

}  // namespace
}  // namespace hoplite

int main(int argc, char** argv) {
  return hoplite::RunAllTestsAsOrdinaryUser(argc, argv);
}
