#include "hoplite/cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hoplite/base/digest.h"
#include "hoplite/base/testing/status_matchers.h"

namespace hoplite::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Outcome {
  int code = -1;
  std::string out;
  std::string error;
};

// Runs a command of this command line whose body is `body`.
Outcome Try(std::vector<std::string> words, const CommandBody& body) {
  words.insert(words.begin(), "hoplite try");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  cxxopts::Options options("hoplite try", "Tries.");
  options.add_options()("k", "A number", cxxopts::value<std::string>());
  AddClientOptions(options);
  Outcome outcome;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  outcome.code =
      RunCommand(options, static_cast<int>(words.size()), argv.data(), body);
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.error = testing::internal::GetCapturedStderr();
  return outcome;
}

Outcome Try(const std::vector<std::string>& words) {
  return Try(words,
             [](const cxxopts::ParseResult&) { return absl::OkStatus(); });
}

TEST(CommandLineTest, EachKindOfErrorHasItsExitCode) {
  EXPECT_EQ(ExitCode(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCode(absl::InternalError("")), 1);
  EXPECT_EQ(ExitCode(absl::FailedPreconditionError("")), 1);
  EXPECT_EQ(ExitCode(absl::CancelledError("")), 1);
  EXPECT_EQ(ExitCode(UsageError("")), 2);
  EXPECT_EQ(ExitCode(AsUsageError(absl::NotFoundError(""))), 2);
  EXPECT_EQ(ExitCode(absl::InvalidArgumentError("")), 2);
  EXPECT_EQ(ExitCode(absl::UnavailableError("")), 3);
  EXPECT_EQ(ExitCode(absl::DeadlineExceededError("")), 4);
  EXPECT_EQ(ExitCode(absl::NotFoundError("")), 5);
  EXPECT_EQ(ExitCode(absl::DataLossError("")), 5);
  EXPECT_EQ(ExitCode(absl::AlreadyExistsError("")), 6);
  EXPECT_EQ(ExitCode(absl::ResourceExhaustedError("")), 7);
}

TEST(CommandLineTest, HelpSaysAllAndRunsNothing) {
  const Outcome outcome =
      Try({"--help"}, [](const cxxopts::ParseResult&) -> absl::Status {
        return absl::InternalError("it ran");
      });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("--timeout"));
  EXPECT_THAT(outcome.out, HasSubstr("Exit codes"));
}

TEST(CommandLineTest, AWrongOptionSaysWhereHelpIs) {
  const Outcome outcome = Try({"--colour"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.error, HasSubstr("colour"));
  EXPECT_THAT(outcome.error, HasSubstr("Try: hoplite try --help"));
}

TEST(CommandLineTest, WithJsonAnErrorIsAResultToo) {
  const auto fail = [](const cxxopts::ParseResult&) -> absl::Status {
    return absl::NotFoundError("it is \"deleted\"");
  };
  const Outcome outcome = Try({"--json"}, fail);
  EXPECT_EQ(outcome.code, 5);
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("error"), "it is \"deleted\"");
  EXPECT_EQ(json.at("code"), "NOT_FOUND");
  EXPECT_THAT(outcome.error, HasSubstr("hoplite try: it is \"deleted\""));
  EXPECT_EQ(Try({}, fail).out, "");
}

TEST(CommandLineTest, WithJsonAWrongOptionIsAResultToo) {
  const Outcome outcome = Try({"--json", "--colour"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(nlohmann::json::parse(outcome.out).at("code"), "INVALID_ARGUMENT");
  EXPECT_EQ(Try({"--colour", "--", "--json"}).out, "");
}

TEST(CommandLineTest, WhatIsNoUtf8IsPrintedAllTheSame) {
  const auto print = [](const cxxopts::ParseResult& parsed) {
    return PrintResult(parsed, {{"file", "\xff"}}, "");
  };
  const Outcome outcome = Try({"--json"}, print);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("file"));
}

TEST(CommandLineTest, AnEmptyValueIsRefusedByName) {
  const Outcome outcome = Try({"--node="});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.error, HasSubstr("--node"));
}

TEST(CommandLineTest, AReportedErrorIsNotToldAgain) {
  const Outcome outcome =
      Try({}, [](const cxxopts::ParseResult&) -> absl::Status {
        return AsReported(absl::NotFoundError("gone"));
      });
  EXPECT_EQ(outcome.code, 5);
  EXPECT_EQ(outcome.error, "");
}

TEST(CommandLineTest, ResultsAreTextOrJson) {
  const auto print = [](const cxxopts::ParseResult& parsed) {
    return PrintResult(parsed, {{"bytes", 3}}, "3 bytes");
  };
  EXPECT_EQ(Try({}, print).out, "3 bytes\n");
  EXPECT_EQ(Try({"--json"}, print).out, "{\"bytes\":3}\n");
}

TEST(CommandLineTest, ArgumentsAreCountedAndNeverSplit) {
  std::vector<std::string> arguments;
  std::size_t most = 3;
  const auto take = [&](const cxxopts::ParseResult& parsed) -> absl::Status {
    auto positionals = Positionals(parsed, 1, most, "an ID");
    if (!positionals.ok()) return positionals.status();
    arguments = *positionals;
    return absl::OkStatus();
  };
  EXPECT_EQ(Try({"a,b", "-", "--", "--c"}, take).code, 0);
  EXPECT_THAT(arguments, ElementsAre("a,b", "-", "--c"));
  EXPECT_THAT(Try({}, take).error, HasSubstr("give an ID"));
  most = 1;
  const Outcome outcome = Try({"a", "b"}, take);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.error, HasSubstr("\"b\" is one argument too many"));
}

TEST(CommandLineTest, NumbersAndTimesAreChecked) {
  const auto take = [](const cxxopts::ParseResult& parsed) -> absl::Status {
    auto timeout = TimeoutOf(parsed);
    if (!timeout.ok()) return timeout.status();
    return NumberOf(parsed, "k", 10).status();
  };
  EXPECT_EQ(Try({"-k", "10"}, take).code, 0);
  for (const char* wrong : {"11", "-1", "ten", "1.5"}) {
    const Outcome outcome = Try({"-k", wrong}, take);
    EXPECT_EQ(outcome.code, 2) << wrong;
  }
  EXPECT_EQ(Try({"-k", "1", "--timeout=soon"}, take).code, 2);
}

TEST(CommandLineTest, AnIdIsHexadecimalDigitsOrAnyName) {
  EXPECT_THAT(ParseId("weights"), IsOkAndHolds(IdFromName("weights")));
  const ObjectId id = IdFromName("weights");
  EXPECT_THAT(ParseId(id.ToHex()), IsOkAndHolds(id));
  EXPECT_EQ(ExitCode(ParseId("").status()), kExitUsage);
}

}  // namespace
}  // namespace hoplite::cli
