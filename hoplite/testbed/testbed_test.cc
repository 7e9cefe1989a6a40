#include "hoplite/testbed/testbed.h"

#include <signal.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hoplite::testbed {
namespace {

using ::testing::HasSubstr;

absl::Time Soon() { return absl::Now() + absl::Seconds(60); }

std::unique_ptr<Testbed> MakeTestbed(const TestbedOptions& options) {
  auto testbed = Testbed::Create(options);
  EXPECT_TRUE(testbed.ok()) << testbed.status();
  return testbed.ok() ? *std::move(testbed) : nullptr;
}

std::unique_ptr<HostProcess> StartShell(Testbed& testbed, int host,
                                        absl::string_view script) {
  auto process = testbed.Start(
      host, {.arguments = {"/bin/sh", "-c", std::string(script)}});
  EXPECT_TRUE(process.ok()) << process.status();
  return process.ok() ? *std::move(process) : nullptr;
}

std::string Output(Testbed& testbed, int host, absl::string_view script) {
  const auto process = StartShell(testbed, host, script);
  if (process == nullptr) return "";
  const auto output = process->ReadAll(Soon());
  EXPECT_TRUE(output.ok()) << output.status();
  return output.value_or("");
}

TEST(TestbedTest, HostsKnowTheirNamesAndEachOthersAddresses) {
  const auto testbed = MakeTestbed({.hosts = 3});
  ASSERT_NE(testbed, nullptr);
  EXPECT_EQ(Output(*testbed, 1, "uname -n"), "host1\n");
  for (int host = 0; host < 3; ++host) {
    EXPECT_THAT(Output(*testbed, 1, absl::StrCat("getent ahostsv4 host", host)),
                HasSubstr(testbed->address(host)));
    EXPECT_THAT(Output(*testbed, 1, absl::StrCat("getent ahostsv6 host", host)),
                HasSubstr(testbed->address6(host)));
  }
}

TEST(TestbedTest, ExitStatusesAndSignalsAreToldApart) {
  const auto testbed = MakeTestbed({.hosts = 1});
  ASSERT_NE(testbed, nullptr);
  const auto failed = StartShell(*testbed, 0, "exit 7");
  EXPECT_EQ(failed->Wait(Soon()).value(), 7);
  const auto echo = StartShell(*testbed, 0, "exec cat");
  ASSERT_TRUE(echo->WriteLine("hello").ok());
  EXPECT_EQ(echo->ReadLine(Soon()).value(), "hello");
  EXPECT_EQ(echo->Wait(absl::Now()).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(echo->Signal(SIGTERM).ok());
  EXPECT_EQ(echo->Wait(Soon()).value(), 128 + SIGTERM);
  EXPECT_EQ(echo->ReadLine(Soon()).status().code(),
            absl::StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace hoplite::testbed
