// What the command line says, and with which exit code, when something is not
// as it should be.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
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
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.error,
              AllOf(HasSubstr("address in use"), HasSubstr(address)));
  EXPECT_EQ(outcome.out, "");
}

TEST_F(ErrorsTest, AHeadThatIsNotThereIsNamed) {
  const absl::Time begin = absl::Now();
  const Outcome outcome = Run({"start", "--join=127.0.0.1:1", "--store=16MiB",
                               "--timeout=2s", "--json"});
  EXPECT_EQ(outcome.code, 3);
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
  refuse({"--head", "--store=99999P"}, "too large");
  refuse({"--head", "--advertise=host0:7000"}, "--advertise");
  for (const char* option : {"--listen", "--socket", "--advertise"}) {
    refuse({"--head", absl::StrCat(option, "=")}, option);
  }
}

TEST_F(ErrorsTest, AStartTakesNoFileForItsSocket) {
  WriteText(hosts_.Path("notes"), "mine");
  const Outcome outcome = Run(
      {"start", "--head", "--store=16MiB", "--socket=" + hosts_.Path("notes")});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.error, HasSubstr(hosts_.Path("notes")));
  EXPECT_EQ(ReadText(hosts_.Path("notes")), "mine");
  StartHead();
  EXPECT_EQ(Run({"start", "--head", "--store=16MiB",
                 "--socket=" + nodes_[0].started.value("socket", "?")})
                .code,
            3);
}

TEST_F(ErrorsTest, AStartWithFewDescriptorsSaysSo) {
  const Outcome outcome =
      hosts_.RunScript(0, "ulimit -n 12; $HOPLITE start --head --store=16MiB");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.error, HasSubstr("descriptors"));
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
  refuse({"put", "/dev/null", "--id="}, "--id");
  refuse({"put", "/dev/null", "--id=a", "--id=b"}, "--id");
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

TEST_F(ErrorsTest, WhatHasNoSizeIsPutWhole) {
  StartHead();
  EXPECT_GT(Run({"put", "/proc/cpuinfo", "--json"}).Json().value("bytes", 0),
            100);
  WriteText(hosts_.Path("none"), "");
  EXPECT_EQ(Run({"put", "none", "--json"}).Json().value("bytes", 1), 0);
  EXPECT_EQ(Run({"put", "/dev/zero"}).code, 7);
  const Outcome folder = Run({"put", hosts_.Path("")});
  EXPECT_EQ(folder.code, 1);
  EXPECT_THAT(folder.error, HasSubstr(hosts_.Path("")));
}

TEST_F(ErrorsTest, NoClientWaitsBeyondItsTimeout) {
  StartHead();
  WriteText(hosts_.Path("in"), "x");
  EXPECT_EQ(Run({"put", "in", "--timeout=0"}).code, 4);
  EXPECT_EQ(hosts_.RunScript(0, "mkfifo pipe").code, 0);
  EXPECT_EQ(Run({"put", "pipe", "--timeout=300ms"}).code, 4);
  EXPECT_EQ(Run({"put", "in", "--id=a"}).code, 0);
  EXPECT_EQ(Run({"get", "a", "-o", "pipe"}).code, 1);
  EXPECT_TRUE(nodes_[0].process->Signal(SIGSTOP).ok());
  const absl::Time begin = absl::Now();
  const Outcome stopped = Run({"get", "a", "-o", "out", "--timeout=300ms"});
  EXPECT_EQ(stopped.code, 4);
  EXPECT_THAT(stopped.error, HasSubstr("did not answer within"));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(4));
  EXPECT_TRUE(nodes_[0].process->Signal(SIGCONT).ok());
}

TEST_F(ErrorsTest, OutputThatCannotBeWrittenIsAnError) {
  StartHead();
  WriteText(hosts_.Path("in"), "x");
  for (const char* command :
       {"--version", "--help", "put --help", "status", "put in --id=$$"}) {
    for (const char* output : {">/dev/full", ">&-"}) {
      const Outcome outcome =
          hosts_.RunScript(0, absl::StrCat("$HOPLITE ", command, output));
      EXPECT_EQ(outcome.code, 1) << command << output;
      EXPECT_THAT(outcome.error, HasSubstr("standard output")) << command;
    }
  }
}

TEST_F(ErrorsTest, EveryIdThatIsDeletedOrNotIsToldOf) {
  StartHead();
  WriteText(hosts_.Path("in"), "x");
  EXPECT_EQ(Run({"put", "in", "--id=a"}).code, 0);
  const Outcome outcome = Run({"delete", std::string(56, '0'), "a", "--json"});
  EXPECT_EQ(outcome.code, 2);
  const std::vector<std::string> lines =
      absl::StrSplit(outcome.out, '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 2) << outcome.out;
  EXPECT_THAT(lines[0], AllOf(HasSubstr("\"deleted\":false"),
                              HasSubstr("INVALID_ARGUMENT")));
  EXPECT_THAT(lines[1], HasSubstr("\"deleted\":true"));
}

// It was told how the first had failed.
TEST_F(ErrorsTest, ATargetWhoseReductionFailedCanBeMadeAgain) {
  StartHead();
  WriteText(hosts_.Path("four"), "abcd");
  WriteText(hosts_.Path("five"), "abcde");
  EXPECT_EQ(Run({"put", "four", "--id=a"}).code, 0);
  EXPECT_EQ(Run({"put", "four", "--id=b"}).code, 0);
  EXPECT_EQ(Run({"put", "five", "--id=odd"}).code, 0);
  EXPECT_EQ(Run({"reduce", "a", "odd", "--target=t"}).code, 2);
  const Outcome again = Run({"reduce", "a", "b", "--target=t"});
  EXPECT_EQ(again.code, 0) << again.error;
}

TEST_F(ErrorsTest, AnOutputIsLookedAtBeforeTheCall) {
  StartHead();
  for (const std::string& output :
       {hosts_.Path(""), hosts_.Path("none/out"), std::string(300, 'x')}) {
    for (const char* command : {"get", "reduce"}) {
      const Outcome outcome = Run({command, "never put", "-o", output});
      EXPECT_EQ(outcome.code, 1) << command;
      EXPECT_THAT(outcome.error, HasSubstr(output));
    }
  }
}

// Else the reduction waits for ever, and its result stays.
TEST_F(ErrorsTest, AReduceThatASignalEndsLeavesNoTarget) {
  StartHead();
  const auto reductions = [&] {
    return Run({"status", "--json"}).Json().value("reductions_under_way", -1);
  };
  const auto reduce = hosts_.Start(0, {"reduce", "never put", "-o", "out"});
  while (reductions() == 0) {
  }
  EXPECT_TRUE(reduce->Signal(SIGTERM).ok());
  EXPECT_EQ(reduce->Wait(Soon()).value_or(-1), 128 + SIGTERM);
  EXPECT_EQ(reductions(), 0);
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
