#include "hoplite/testbed/testbed.h"

#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/testbed/test_support.h"

namespace hoplite::testbed {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

TEST(TestbedTest, OptionsThatMakeNoSenseAreRefused) {
  const TestbedOptions kCases[] = {
      {.hosts = 0},
      {.hosts = 100000},
      {.mtu = 100},
      {.link_bits_per_second = 0},
      {.link_bits_per_second = 1000000, .bucket_bytes = 9000},
      {.link_bits_per_second = 1000000, .queue_bytes = 100},
      {.congestion_control = "no\nname"},
      {.hosts = 1, .congestion_control = "unheardof"},
  };
  for (std::size_t i = 0; i < std::size(kCases); ++i) {
    EXPECT_EQ(Testbed::Create(kCases[i]).status().code(),
              absl::StatusCode::kInvalidArgument)
        << "case " << i;
  }
}

TEST(TestbedTest, EveryHostKnowsAllNamesInBothFamilies) {
  const auto testbed = MakeTestbed({.hosts = 3});
  ASSERT_NE(testbed, nullptr);
  EXPECT_EQ(testbed->host_count(), 3);
  for (int from = 0; from < 3; ++from) {
    EXPECT_EQ(ShellOutput(*testbed, from, "uname -n"),
              testbed->name(from) + "\n");
    for (int to = 0; to < 3; ++to) {
      const std::string name = testbed->name(to);
      EXPECT_THAT(ShellOutput(*testbed, from, "getent ahostsv4 " + name),
                  HasSubstr(testbed->address(to)));
      EXPECT_THAT(ShellOutput(*testbed, from, "getent ahostsv6 " + name),
                  HasSubstr(testbed->address6(to)));
    }
  }
}

TEST(TestbedTest, WithoutIPv6NamesHaveOneFamily) {
  const auto testbed = MakeTestbed({.hosts = 1, .ipv6 = false});
  ASSERT_NE(testbed, nullptr);
  EXPECT_EQ(ShellOutput(*testbed, 0, "getent ahosts host0 | grep :"), "");
  EXPECT_EQ(ShellOutput(*testbed, 0, "ip -6 address show dev eth0"), "");
}

TEST(TestbedTest, HostsHaveTheirOwnSharedMemoryRunAndProcesses) {
  const auto testbed = MakeTestbed({.hosts = 1});
  ASSERT_NE(testbed, nullptr);
  const std::string file = absl::StrCat("/dev/shm/testbed_test_", getpid());
  EXPECT_EQ(ShellOutput(*testbed, 0, "echo some >" + file + " && cat " + file),
            "some\n");
  EXPECT_NE(access(file.c_str(), F_OK), 0);
  EXPECT_EQ(ShellOutput(*testbed, 0,
                        "test -e /proc/$$/stat && touch /run/some && echo ok"),
            "ok\n");
}

TEST(TestbedTest, ExitStatusesAndSignalsAreToldApart) {
  const auto testbed = MakeTestbed({.hosts = 1});
  ASSERT_NE(testbed, nullptr);
  const auto failed = StartShell(*testbed, 0, "exit 7");
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->Wait(Soon()).value(), 7);
  EXPECT_EQ(failed->Wait(Soon()).value(), 7);
  EXPECT_EQ(failed->Signal(SIGTERM).code(),
            absl::StatusCode::kFailedPrecondition);
  const auto cat = StartShell(*testbed, 0, "exec cat");
  ASSERT_NE(cat, nullptr);
  EXPECT_EQ(cat->Wait(absl::Now()).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(cat->Signal(SIGTERM).ok());
  EXPECT_EQ(cat->Wait(Soon()).value(), 128 + SIGTERM);
}

TEST(TestbedTest, LinesGoBothWays) {
  const auto testbed = MakeTestbed({.hosts = 1});
  ASSERT_NE(testbed, nullptr);
  const auto process = StartShell(
      *testbed, 0, "printf begin; read line; echo \" $line\"; cat; printf end");
  ASSERT_NE(process, nullptr);
  EXPECT_EQ(
      process->ReadLine(absl::Now() + absl::Milliseconds(5)).status().code(),
      absl::StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(process->WriteLine("middle").ok());
  EXPECT_EQ(process->ReadLine(Soon()).value(), "begin middle");
  ASSERT_TRUE(process->WriteLine("a\nb").ok());
  process->CloseInput();
  process->CloseInput();
  EXPECT_EQ(process->WriteLine("more").code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(process->ReadLine(Soon()).value(), "a");
  EXPECT_EQ(process->ReadLine(Soon()).value(), "b");
  EXPECT_EQ(process->ReadLine(Soon()).value(), "end");
  EXPECT_EQ(process->ReadLine(Soon()).status().code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_EQ(process->Wait(Soon()).value(), 0);
}

TEST(TestbedTest, WritingToAnEndedProcessIsAnErrorAndNoSignal) {
  const auto testbed = MakeTestbed({.hosts = 1});
  ASSERT_NE(testbed, nullptr);
  const auto process = StartShell(*testbed, 0, "exit 0");
  ASSERT_NE(process, nullptr);
  ASSERT_TRUE(process->Wait(Soon()).ok());
  EXPECT_EQ(process->WriteLine("hello").code(), absl::StatusCode::kUnavailable);
}

TEST(TestbedTest, StandardErrorIsKeptWhereAsked) {
  const auto testbed = MakeTestbed({.hosts = 1});
  ASSERT_NE(testbed, nullptr);
  const auto process =
      StartCommand(*testbed, 0,
                   {.arguments = {"sh", "-c", "echo out; echo wrong >&2"},
                    .capture_standard_error = true});
  ASSERT_NE(process, nullptr);
  EXPECT_EQ(process->ReadAll(Soon()).value(), "out\n");
  ASSERT_TRUE(process->Wait(Soon()).ok());
  EXPECT_EQ(process->StandardError(), "wrong\n");
}

TEST(TestbedTest, ACommandHasItsEnvironmentAndFolder) {
  const auto testbed = MakeTestbed({.hosts = 1});
  ASSERT_NE(testbed, nullptr);
  setenv("TESTBED_TEST_KEPT", "kept", 1);
  setenv("TESTBED_TEST_CHANGED", "before", 1);
  const auto process = StartCommand(
      *testbed, 0,
      {.arguments = {"sh", "-c",
                     "echo $TESTBED_TEST_KEPT $TESTBED_TEST_CHANGED; pwd; "
                     "command -v tc >/dev/null && echo tc"},
       .environment = {"TESTBED_TEST_CHANGED=after"},
       .working_directory = "/usr"});
  ASSERT_NE(process, nullptr);
  EXPECT_EQ(process->ReadAll(Soon()).value(), "kept after\n/usr\ntc\n");
}

TEST(TestbedTest, WhatCannotStartSaysWhy) {
  const auto testbed = MakeTestbed({.hosts = 1});
  ASSERT_NE(testbed, nullptr);
  const auto missing = testbed->Start(0, {.arguments = {"no_such_program"}});
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(missing.status().message(), HasSubstr("no_such_program"));
  const auto folder = testbed->Start(
      0, {.arguments = {"true"}, .working_directory = "/no/such/folder"});
  EXPECT_EQ(folder.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(folder.status().message(), HasSubstr("/no/such/folder"));
  EXPECT_EQ(testbed->Start(0, {.arguments = {"/etc/passwd"}}).status().code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(testbed->Start(0, {.arguments = {}}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(TestbedTest, ManyThreadsMayStartProcesses) {
  const auto testbed = MakeTestbed({.hosts = 4});
  ASSERT_NE(testbed, nullptr);
  std::vector<std::string> outputs(8);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      threads.emplace_back([&, i] {
        outputs[i] = ShellOutput(*testbed, static_cast<int>(i) % 4,
                                 absl::StrCat("echo ", i));
      });
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(outputs[i], absl::StrCat(i, "\n"));
  }
}

// A signal for the death of a parent is sent when the thread that forked
// ends; what a host runs must not depend on that thread.
TEST(TestbedTest, AProcessOutlivesTheThreadThatStartedIt) {
  const auto testbed = MakeTestbed({.hosts = 1});
  ASSERT_NE(testbed, nullptr);
  std::unique_ptr<HostProcess> cat;
  std::jthread([&] { cat = StartShell(*testbed, 0, "exec cat"); }).join();
  ASSERT_NE(cat, nullptr);
  EXPECT_EQ(Ask(*cat, "still here"), "still here");
}

TEST(TestbedTest, LinksCanBeReshaped) {
  const auto testbed =
      MakeTestbed({.hosts = 2, .link_bits_per_second = 100'000'000});
  ASSERT_NE(testbed, nullptr);
  EXPECT_THAT(ShellOutput(*testbed, 1, "tc qdisc show dev eth0"),
              ContainsRegex("tbf .*rate 100Mbit burst 64Kb"));
  EXPECT_THAT(ShellOutput(*testbed, 1, "ip -d link show dev eth0"),
              HasSubstr("gso_max_size 63000"));
  ASSERT_TRUE(testbed->SetBucket(16384).ok());
  EXPECT_EQ(testbed->bucket_bytes(), 16384);
  EXPECT_THAT(ShellOutput(*testbed, 1, "tc qdisc show dev eth0"),
              ContainsRegex("tbf .*rate 100Mbit burst 16Kb"));
  EXPECT_THAT(ShellOutput(*testbed, 1, "ip -d link show dev eth0"),
              HasSubstr("gso_max_size 9000"));
  EXPECT_EQ(testbed->SetBucket(100).code(), absl::StatusCode::kInvalidArgument);
}

TEST(TestbedTest, UnshapedLinksHaveNoBucket) {
  const auto testbed = MakeTestbed({.hosts = 1});
  ASSERT_NE(testbed, nullptr);
  EXPECT_EQ(testbed->SetBucket(65536).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(TestbedTest, TwoTestbedsDoNotSeeEachOther) {
  const auto one = MakeTestbed({.hosts = 1});
  const auto other = MakeTestbed({.hosts = 2});
  ASSERT_NE(one, nullptr);
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(ShellOutput(*one, 0, "getent hosts host1"), "");
  EXPECT_NE(ShellOutput(*other, 0, "getent hosts host1"), "");
}

}  // namespace
}  // namespace hoplite::testbed
