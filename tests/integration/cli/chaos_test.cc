// `hoplite chaos`, short: every kind of fault on four hosts, and nothing hangs,
// is wrong or is left. With HOPLITE_SOAK eight hosts for three minutes, also
// with daemons.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/integration/cli/command_runner.h"

namespace hoplite {
namespace {

using ::testing::HasSubstr;

constexpr const char* kFaults[] = {"kill", "stop", "restart", "cut", "head"};
// Beside the time that it is asked for: start, healing, the search for leaks.
constexpr absl::Duration kBeside = absl::Minutes(4);

bool IsSoak() { return std::getenv("HOPLITE_SOAK") != nullptr; }

class ChaosTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(hosts_.ok()); }

  // Runs it to its end, with these words more, and checks what it found.
  void RunChaos(int nodes, double minutes, std::vector<std::string> more) {
    std::vector<std::string> words = {"chaos",
                                      "--json",
                                      "--seed=1",
                                      "--verbose",
                                      absl::StrCat("--nodes=", nodes),
                                      absl::StrCat("--minutes=", minutes)};
    words.insert(words.end(), more.begin(), more.end());
    const std::unique_ptr<testbed::HostProcess> chaos = hosts_.Start(0, words);
    ASSERT_NE(chaos, nullptr);
    const absl::Time deadline = absl::Now() + absl::Minutes(minutes) + kBeside;
    const auto line = chaos->ReadLine(deadline);
    ASSERT_TRUE(line.ok()) << line.status();
    const auto found = nlohmann::json::parse(*line, nullptr, false);
    EXPECT_EQ(found.value("hangs", -1), 0) << *line;
    EXPECT_EQ(found.value("wrong_bytes", -1), 0) << *line;
    EXPECT_EQ(found.value("wrong_ends", -1), 0) << *line;
    EXPECT_EQ(found.value("leaked", -1), 0) << *line;
    EXPECT_GT(found.value("operations", 0), nodes) << *line;
    for (const char* const fault : kFaults) {
      const auto& count = found["faults"][fault];
      EXPECT_GT(count.value("count", 0), 0) << fault << ": " << *line;
    }
    EXPECT_GT(found["undisturbed"].value("median_ms", 0.0), 0) << *line;
    const auto code = chaos->Wait(deadline);
    ASSERT_TRUE(code.ok()) << code.status();
    EXPECT_EQ(*code, 0);
  }

  CommandRunner hosts_{1};
};

TEST_F(ChaosTest, EmbeddedNodesSurviveEveryFault) {
  IsSoak() ? RunChaos(8, 3, {}) : RunChaos(4, 0.35, {});
}

TEST_F(ChaosTest, WorkersSurviveTheirDaemons) {
  IsSoak() ? RunChaos(8, 3, {"--daemon"}) : RunChaos(4, 0.35, {"--daemon"});
}

TEST_F(ChaosTest, WhatMakesNoSenseIsRefused) {
  const struct {
    const char* word;
    const char* complaint;
  } cases[] = {{"--nodes=3", "4 to 64 nodes, not 3"},
               {"--nodes=many", "nodes"},
               {"--faults=kill,flood", "\"flood\" is no fault"},
               {"--faults=cut,cut", "there twice"},
               {"--minutes=0", "--minutes is a number above 0"},
               {"--minutes=0.01", "10s at least"},
               {"--link=fast", "fast"},
               {"now", "now"}};
  for (const auto& wrong : cases) {
    const Outcome outcome = hosts_.Run(0, {"chaos", wrong.word});
    EXPECT_EQ(outcome.code, 2) << wrong.word;
    EXPECT_THAT(outcome.error, HasSubstr(wrong.complaint)) << wrong.word;
  }
}

}  // namespace
}  // namespace hoplite

int main(int argc, char** argv) {
  return hoplite::RunAllTestsAsOrdinaryUser(argc, argv);
}
