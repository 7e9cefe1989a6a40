// `hoplite bench --fault`: the node is lost where it was asked for, and the row
// says what became of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tests/integration/cli/command_runner.h"

namespace hoplite {
namespace {

using ::testing::HasSubstr;

// Runs of 2 MiB over links of 40 Mbit/s, of which half is 210 ms.
struct FaultCase {
  const char* operation;
  const char* fault;
  const char* ended = "OK";
  bool daemon = false;
};

class BenchFaultTest : public ::testing::TestWithParam<FaultCase> {};

TEST_P(BenchFaultTest, ANodeIsLostWhereItWasAskedFor) {
  const FaultCase& given = GetParam();
  CommandRunner hosts(1);
  ASSERT_TRUE(hosts.ok());
  std::vector<std::string> words = {
      "bench", given.operation, "-b",     "2M",           "-e", "2M", "-n",
      "2",     "--nodes=4",     "--json", "--link=40mbit"};
  words.push_back(absl::StrCat("--fault=", given.fault));
  if (given.daemon) words.push_back("--daemon");
  const Outcome outcome = hosts.Run(0, words);
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.error;
  const nlohmann::json row = outcome.Json();
  EXPECT_EQ(row.value("error", "?"), "");
  EXPECT_EQ(row.value("fault", ""), given.fault);
  EXPECT_EQ(row.value("ended", ""), given.ended);
  EXPECT_EQ(row.value("wrong_bytes", 1), 0);
  EXPECT_EQ(row.value("nodes", 0), 4);
  const bool lost = row.value("fault", "") != "none";
  EXPECT_EQ(row.value("detect_ms", 0.0) > 0, lost);
  EXPECT_GE(row.value("detect_max_ms", 0.0), row.value("detect_ms", 1.0));
  if (lost) {
    EXPECT_NEAR(row.value("fault_percent", 0.0), 50, 10);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Fault, BenchFaultTest,
    ::testing::Values(
        FaultCase{"broadcast", "none"}, FaultCase{"broadcast", "relay@50%"},
        FaultCase{"broadcast", "relay@50%", "OK", true},
        FaultCase{"broadcast", "relay@50%:stop"},
        FaultCase{"broadcast", "relay@50%:cut"},
        FaultCase{"broadcast", "holder@50%", "DATA_LOSS"},
        FaultCase{"reduce", "none"}, FaultCase{"reduce", "leaf@50%"},
        FaultCase{"reduce", "inner@50%"}, FaultCase{"reduce", "root@50%"},
        FaultCase{"allreduce", "leaf@50%"},
        FaultCase{"allreduce", "relay@50%"}),
    [](const auto& info) {
      std::string name = absl::StrCat(info.param.operation, "_",
                                      info.param.fault, info.param.daemon);
      std::erase_if(name, [](char c) { return !absl::ascii_isalnum(c); });
      return name;
    });

TEST(BenchFaultRowTest, ARunThatEndsBeforeItsFaultIsNoFigure) {
  CommandRunner hosts(1);
  ASSERT_TRUE(hosts.ok());
  const Outcome outcome =
      hosts.Run(0, {"bench", "broadcast", "-b", "4K", "-e", "4K", "-n", "1",
                    "--nodes=3", "--fault=relay@50%", "--json"});
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("no node was lost"));
}

}  // namespace
}  // namespace hoplite

int main(int argc, char** argv) {
  return hoplite::RunAllTestsAsOrdinaryUser(argc, argv);
}
