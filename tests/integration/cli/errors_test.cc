// What the command line says, and with which exit code, when something is not
// as it should be.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/integration/cli/command_runner.h"

namespace hoplite {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ErrorsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(hosts_.ok()); }

  Outcome Run(std::vector<std::string> words) {
    return hosts_.Run(0, std::move(words));
  }
  void StartHead() { nodes_.push_back(hosts_.RunNode(0, {"--head"})); }

  CommandRunner hosts_{1};
  std::vector<RunningNode> nodes_;
};

TEST_F(ErrorsTest, HelpIsEverywhere) {
  for (const char* command :
       {"start", "status", "put", "get", "delete", "reduce", "bench"}) {
    const Outcome outcome = Run({command, "--help"});
    EXPECT_EQ(outcome.code, 0) << command;
    EXPECT_THAT(outcome.out, AllOf(HasSubstr(command), HasSubstr("--json"),
                                   HasSubstr("Exit codes")))
        << command;
  }
  const Outcome all = Run({"--help"});
  EXPECT_EQ(all.code, 0);
  EXPECT_THAT(all.out, AllOf(HasSubstr("reduce"), HasSubstr("Exit codes")));
  EXPECT_THAT(Run({"--version"}).out, HasSubstr("hoplite "));
}

TEST_F(ErrorsTest, AnUnknownCommandBringsTheList) {
  const Outcome outcome = Run({"fetch"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.error, AllOf(HasSubstr("fetch"), HasSubstr("reduce")));
  EXPECT_EQ(Run({}).code, 2);
}

TEST_F(ErrorsTest, WithoutANodeEveryClientSaysSo) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"status"},
                                             {"put", "/dev/null"},
                                             {"get", "x", "-o", "out"},
                                             {"delete", "x"},
                                             {"reduce", "x", "-o", "out"}}) {
    const Outcome outcome = Run(words);
    EXPECT_EQ(outcome.code, 3) << words[0];
    EXPECT_THAT(outcome.error, HasSubstr("node")) << words[0];
  }
  const Outcome named = Run({"status", "--node=/nowhere/node.sock"});
  EXPECT_EQ(named.code, 3);
  EXPECT_THAT(named.error, HasSubstr("/nowhere/node.sock"));
}

TEST_F(ErrorsTest, BetweenTwoNodesOneHasToBeNamed) {
  StartHead();
  StartHead();
  const Outcome outcome = Run({"status"});
  EXPECT_EQ(outcome.code, 3);
  for (const RunningNode& node : nodes_) {
    const std::string socket = node.started.value("socket", "?");
    EXPECT_THAT(outcome.error, HasSubstr(socket));
    EXPECT_EQ(Run({"status", "--node=" + socket}).code, 0);
    EXPECT_EQ(hosts_.Run(0, {"status"}, {"HOPLITE_NODE=" + socket}).code, 0);
  }
}

// ray-project/ray#14098: the start succeeds although the bind failed.
TEST_F(ErrorsTest, AnOccupiedPortIsNamedAndIsNoStart) {
  StartHead();
  const std::string address = nodes_[0].address();
  const Outcome outcome =
      Run({"start", "--head", "--store=16MiB", "--listen=" + address});
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.error,
              AllOf(HasSubstr("address in use"), HasSubstr(address)));
  EXPECT_EQ(outcome.out, "");
}

TEST_F(ErrorsTest, AHeadThatIsNotThereIsNamed) {
  const absl::Time begin = absl::Now();
  const Outcome outcome = Run({"start", "--join=127.0.0.1:1", "--store=16MiB",
                               "--timeout=2s", "--json"});
  EXPECT_TRUE(outcome.code == 3 || outcome.code == 4) << outcome.code;
  EXPECT_THAT(outcome.error, HasSubstr("127.0.0.1:1"));
  EXPECT_TRUE(outcome.Json().contains("error"));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(30));
  EXPECT_NE(Run({"start", "--join=no-such-host:7000", "--store=16MiB",
                 "--timeout=2s"})
                .code,
            0);
}

TEST_F(ErrorsTest, AStartThatMakesNoSenseSaysWhy) {
  const auto refuse = [&](std::vector<std::string> words, const char* why) {
    words.insert(words.begin(), "start");
    const Outcome outcome = Run(words);
    EXPECT_EQ(outcome.code, 2) << words[1];
    EXPECT_THAT(outcome.error, HasSubstr(why));
  };
  refuse({"--store=16MiB"}, "--head");
  refuse({"--head", "--join=127.0.0.1:7000"}, "--head");
  refuse({"--head", "--listen=::1"}, "::1");
  refuse({"--head", "--listen=127.0.0.1"}, "127.0.0.1");
  refuse({"--join=127.0.0.1:port"}, "port");
  refuse({"--head", "--store=much"}, "much");
  refuse({"--head", "--schedule=fancy"}, "fancy");
  refuse({"--head", "too", "many"}, "too");
}

TEST_F(ErrorsTest, WrongWordsAreRefusedBeforeAnythingHappens) {
  StartHead();
  const auto refuse = [&](const std::vector<std::string>& words,
                          const char* why) {
    const Outcome outcome = Run(words);
    EXPECT_EQ(outcome.code, 2) << words[0];
    EXPECT_THAT(outcome.error, HasSubstr(why)) << words[0];
  };
  refuse({"put"}, "FILE");
  refuse({"put", "/dev/null", "--id="}, "ID");
  refuse({"get", "x"}, "-o");
  refuse({"get", "x", "-o", "-", "--json"}, "--json");
  refuse({"delete"}, "ID");
  refuse({"reduce", "-o", "out"}, "ID");
  refuse({"reduce", "x"}, "-o");
  refuse({"reduce", "x", "-o", "out", "--op=mean"}, "mean");
  refuse({"reduce", "x", "-o", "out", "--type=f128"}, "f128");
  refuse({"reduce", "x", "-o", "out", "--op=bxor"}, "integers");
  refuse({"reduce", "x", "-o", "out", "--count=2"}, "--count");
  refuse({"reduce", "x", "x", "-o", "out"}, "twice");
  refuse({"get", "x", "-o", "out", "--timeout=60"}, "60");
  refuse({"bench", "scatter"}, "scatter");
  refuse({"bench", "reduce", "-b", "1001", "-e", "1001"}, "multiples of 4");
}

TEST_F(ErrorsTest, EachEndOfACallHasItsExitCode) {
  StartHead();
  const std::string input = hosts_.Path("in");
  WriteText(input, std::string(1000, 'x'));
  EXPECT_EQ(Run({"put", input, "--id=a"}).code, 0);
  EXPECT_EQ(Run({"put", input, "--id=a"}).code, 6);
  const Outcome late = Run({"get", "b", "-o", "out", "--timeout=300ms"});
  EXPECT_EQ(late.code, 4);
  EXPECT_EQ(Run({"delete", "a"}).code, 0);
  EXPECT_EQ(Run({"get", "a", "-o", "out"}).code, 5);
  EXPECT_EQ(Run({"put", hosts_.Path("none")}).code, 1);
  // Larger than the store of 64 MiB.
  WriteText(input, std::string(65 << 20, 'x'));
  const Outcome larger = Run({"put", input, "--id=larger", "--json"});
  EXPECT_EQ(larger.code, 7) << larger.error;
  EXPECT_EQ(larger.Json().value("code", ""), "RESOURCE_EXHAUSTED");
  EXPECT_THAT(larger.error, HasSubstr(absl::StrCat(65 << 20)));
}

TEST_F(ErrorsTest, AGetThatFailsLeavesNoFile) {
  StartHead();
  WriteText(hosts_.Path("out"), "as it was");
  EXPECT_EQ(Run({"get", "b", "-o", "out", "--timeout=200ms"}).code, 4);
  EXPECT_EQ(ReadText(hosts_.Path("out")), "as it was");
}

}  // namespace
}  // namespace hoplite

int main(int argc, char** argv) {
  return hoplite::RunAllTestsAsOrdinaryUser(argc, argv);
}
