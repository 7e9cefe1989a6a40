#include "apps/parameter_server/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "hoplite/base/testing/status_matchers.h"

namespace hoplite::apps {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<Options> Parse(std::vector<std::string> arguments) {
  cxxopts::Options options("parameter_server");
  AddOptions(options);
  arguments.insert(arguments.begin(), "parameter_server");
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) {
    argv.push_back(argument.c_str());
  }
  return OptionsOf(options.parse(static_cast<int>(argv.size()), argv.data()));
}

void ExpectUsage(const std::vector<std::string>& arguments,
                 const std::string& part) {
  const auto options = Parse(arguments);
  ASSERT_FALSE(options.ok()) << part;
  EXPECT_THAT(std::string(options.status().message()), HasSubstr(part));
}

TEST(Options, HalfOfTheWorkersMakeAnUpdate) {
  auto options = Parse({});
  ASSERT_THAT(options, IsOk());
  EXPECT_EQ(options->workers, 7u);
  EXPECT_EQ(options->quorum, 3u);
  EXPECT_TRUE(options->workload.digits);
  EXPECT_GT(options->iterations, 0);
  options = Parse({"--workers=15"});
  ASSERT_THAT(options, IsOk());
  EXPECT_EQ(options->quorum, 7u);
  options = Parse({"--workers=1"});
  ASSERT_THAT(options, IsOk());
  EXPECT_EQ(options->quorum, 1u);
}

TEST(Options, AllOfThemWhereItIsSynchronous) {
  const auto options = Parse({"--mode=sync", "--workers=5"});
  ASSERT_THAT(options, IsOk());
  EXPECT_EQ(options->mode, Mode::kSync);
  EXPECT_EQ(options->quorum, 5u);
}

TEST(Options, ThePapersModelIsScaledAndItsTimeIsNot) {
  auto options = Parse({"--workload=paper", "--model=resnet50"});
  ASSERT_THAT(options, IsOk());
  EXPECT_EQ(options->workload.elements, 659366u);
  EXPECT_EQ(options->workload.compute_ms, 342);
  EXPECT_EQ(options->warm_up, 6);
  EXPECT_EQ(options->rate, 1);
  options = Parse({"--workload=paper", "--scale=1000", "--compute-ms=5"});
  ASSERT_THAT(options, IsOk());
  EXPECT_EQ(options->workload.elements, 61101u);
  EXPECT_EQ(options->workload.compute_ms, 5);
}

TEST(Options, TimeAloneEndsItWhereOnlyTimeIsGiven) {
  auto options = Parse({"--seconds=2.5"});
  ASSERT_THAT(options, IsOk());
  EXPECT_EQ(options->iterations, 0);
  EXPECT_EQ(options->seconds, absl::Milliseconds(2500));
  options = Parse({"--seconds=2.5", "--iterations=9"});
  ASSERT_THAT(options, IsOk());
  EXPECT_EQ(options->iterations, 9);
}

TEST(Options, AWorkerThatFailsTwiceGoesToTheNextHost) {
  const auto options = Parse({"--hosts=a,b,c"});
  ASSERT_THAT(options, IsOk());
  EXPECT_EQ(options->HostOf(1, 0), "b");
  EXPECT_EQ(options->HostOf(4, 1), "b");
  EXPECT_EQ(options->HostOf(1, 2), "c");
  EXPECT_EQ(options->HostOf(1, 4), "a");
  EXPECT_EQ(Options().HostOf(1, 0), "");
}

TEST(Options, WhatMakesNoSenseIsSaid) {
  ExpectUsage({"--mode=fast"}, "--mode is async or sync");
  ExpectUsage({"--workload=x"}, "--workload is digits or paper");
  ExpectUsage({"--workload=paper", "--model=x"}, "none of the models");
  ExpectUsage({"--workload=paper", "--scale=0"}, "--scale");
  ExpectUsage({"--workers=0"}, "--workers");
  ExpectUsage({"--workers=4", "--quorum=5"}, "--quorum is from 1 to");
  ExpectUsage({"--rate=much"}, "--rate");
}

}  // namespace
}  // namespace hoplite::apps
