// `hoplite bench` of each operation, small: the rows have all their fields and
// what was moved is right.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/integration/cli/command_runner.h"

namespace hoplite {
namespace {

using ::testing::HasSubstr;

constexpr const char* kOperations[] = {"roundtrip", "broadcast", "gather",
                                       "reduce",    "allreduce", "allgather"};
constexpr const char* kFields[] = {
    "op",           "schedule",     "nodes",  "bytes",     "link_mbit",
    "payload_mbit", "bucket_bytes", "put_ms", "median_ms", "min_ms",
    "max_ms",       "bound_ms",     "ratio",  "max_sent",  "idle",
    "wrong_bytes",  "peak_rss_mib", "marked"};

class BenchTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { ASSERT_TRUE(hosts_.ok()); }

  // Two small rows of the operation, which are checked and returned.
  std::vector<nlohmann::json> Bench(std::vector<std::string> more) {
    const std::string operation = GetParam();
    std::vector<std::string> words = {"bench", operation, "-b",    "1K", "-e",
                                      "64K",   "-f",      "64",    "-n", "2",
                                      "-w",    "0",       "--json"};
    const int nodes = operation == "roundtrip" ? 2 : 4;
    words.push_back(absl::StrCat("--nodes=", nodes));
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = hosts_.Run(0, words);
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.error;
    std::vector<nlohmann::json> rows;
    for (absl::string_view line :
         absl::StrSplit(outcome.out, '\n', absl::SkipEmpty())) {
      rows.push_back(nlohmann::json::parse(line, nullptr, false));
      CheckRow(rows.back(), nodes);
    }
    EXPECT_EQ(rows.size(), 2);
    return rows;
  }

  static void CheckRow(const nlohmann::json& row, int nodes) {
    for (const char* field : kFields) EXPECT_TRUE(row.contains(field)) << field;
    EXPECT_EQ(row.value("op", ""), GetParam());
    EXPECT_EQ(row.value("nodes", 0), nodes);
    EXPECT_EQ(row.value("wrong_bytes", 1), 0);
    EXPECT_EQ(row.value("error", "?"), "");
    EXPECT_GT(row.value("median_ms", 0.0), 0);
    EXPECT_GT(row.value("payload_mbit", 0.0), 0);
    EXPECT_GT(row.value("peak_rss_mib", 0.0), 0);
  }

  CommandRunner hosts_{1};
};

TEST_P(BenchTest, OnLoopback) {
  const std::vector<nlohmann::json> rows = Bench({});
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[0].value("link_mbit", 1), 0);
  EXPECT_GT(rows[0].value("put_ms", 0.0), 0);
  EXPECT_EQ(rows[0].value("bytes", 0), 1024);
  EXPECT_EQ(rows[1].value("bytes", 0), 65536);
}

TEST_P(BenchTest, WithDaemonsAndPlainly) {
  const std::string csv = hosts_.Path("rows.csv");
  const std::vector<nlohmann::json> rows =
      Bench({"--daemon", "--schedule=plain", "--csv=" + csv});
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[0].value("schedule", ""), "plain");
  EXPECT_GT(rows[1].value("put_ms", 0.0), 0);
  EXPECT_THAT(ReadText(csv), HasSubstr("op,schedule,nodes,bytes"));
  EXPECT_THAT(ReadText(csv), HasSubstr(absl::StrCat(GetParam(), ",plain,")));
}

TEST_P(BenchTest, OnEmulatedHosts) {
  const std::vector<nlohmann::json> rows = Bench({"--link=200mbit"});
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[0].value("link_mbit", 0), 200);
  EXPECT_EQ(rows[0].value("bucket_bytes", 0), 16384);
  EXPECT_EQ(rows[0].value("marked", ""), "bucket");
  EXPECT_LT(rows[0].value("payload_mbit", 0.0), 201);
}

TEST_P(BenchTest, WithMembersThatArrive) {
  const std::string operation = GetParam();
  if (operation == "roundtrip") return;
  Bench({"--arrive=20ms", "--seed=3"});
}

INSTANTIATE_TEST_SUITE_P(Operation, BenchTest, ::testing::ValuesIn(kOperations),
                         [](const auto& info) {
                           return std::string(info.param);
                         });

TEST(BenchTableTest, PeopleReadTheColumnsOfNcclTests) {
  CommandRunner hosts(1);
  ASSERT_TRUE(hosts.ok());
  const Outcome outcome = hosts.Run(0, {"bench", "broadcast", "-b", "4K", "-e",
                                        "4K", "-n", "1", "--nodes=2"});
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_THAT(outcome.out, HasSubstr("busbw"));
  EXPECT_THAT(outcome.out, HasSubstr("4096"));
}

TEST(BenchTableTest, ARowThatWouldNotFitSaysSo) {
  CommandRunner hosts(1);
  ASSERT_TRUE(hosts.ok());
  const Outcome outcome = hosts.Run(0, {"bench", "allgather", "-b", "4096G",
                                        "-e", "4096G", "--nodes=2", "--json"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("would not fit"));
}

TEST(BenchEndTest, ABenchmarkThatIsEndedLeavesNothing) {
  CommandRunner hosts(1);
  ASSERT_TRUE(hosts.ok());
  const Outcome daemons = hosts.RunScript(
      0,
      "mkdir tmp && export TMPDIR=$PWD/tmp\n"
      "$HOPLITE bench broadcast --daemon --nodes=2 -n 1000000 -e 1K >rows &\n"
      "until ls tmp/*/* 2>ignored; do sleep 0.05; done\n"
      "kill -TERM $!; wait $!\n"
      "until [ -z \"$(ls tmp)\" ]; do sleep 0.05; done; echo nothing");
  EXPECT_THAT(daemons.out, ::testing::EndsWith("nothing\n")) << daemons.error;
  const Outcome members = hosts.RunScript(
      0,
      "members() { grep -las '[b]ench-member' /proc/*/cmdline | wc -l; }\n"
      "$HOPLITE bench gather --arrive=60s --nodes=3 -e 1K >rows &\n"
      "until [ $(members) = 3 ]; do sleep 0.05; done\n"
      "kill -KILL $!\n"
      "until [ $(members) = 0 ]; do sleep 0.05; done; echo nobody");
  EXPECT_EQ(members.out, "nobody\n") << members.error;
}

TEST(BenchEndTest, TheExitCodeTellsADeadline) {
  CommandRunner hosts(1);
  ASSERT_TRUE(hosts.ok());
  const Outcome outcome = hosts.Run(
      0, {"bench", "allgather", "-b", "32M", "--nodes=4", "--timeout=2ms"});
  EXPECT_EQ(outcome.code, 4) << outcome.out << outcome.error;
}

}  // namespace
}  // namespace hoplite

int main(int argc, char** argv) {
  return hoplite::RunAllTestsAsOrdinaryUser(argc, argv);
}
