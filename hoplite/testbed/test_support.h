// What the tests of the testbed share.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_TESTBED_TEST_SUPPORT_H_
#define HOPLITE_TESTBED_TEST_SUPPORT_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "hoplite/testbed/host_process.h"
#include "hoplite/testbed/testbed.h"
#include "tools/cpp/runfiles/runfiles.h"

namespace hoplite::testbed {

// Far more than anything here takes: only a test that fails waits for it.
inline absl::Time Soon() { return absl::Now() + absl::Seconds(60); }

// Null, and a failure of the test, without one.
inline std::unique_ptr<Testbed> MakeTestbed(const TestbedOptions& options) {
  auto testbed = Testbed::Create(options);
  EXPECT_TRUE(testbed.ok()) << testbed.status();
  return testbed.ok() ? *std::move(testbed) : nullptr;
}

// Null, and a failure of the test, where it does not start.
inline std::unique_ptr<HostProcess> StartCommand(Testbed& testbed, int host,
                                                 const HostCommand& command) {
  auto process = testbed.Start(host, command);
  EXPECT_TRUE(process.ok()) << process.status();
  return process.ok() ? *std::move(process) : nullptr;
}

inline std::unique_ptr<HostProcess> StartShell(Testbed& testbed, int host,
                                               absl::string_view script) {
  return StartCommand(testbed, host,
                      {.arguments = {"/bin/sh", "-c", std::string(script)}});
}

// All that the script writes to its standard output.
inline std::string ShellOutput(Testbed& testbed, int host,
                               absl::string_view script) {
  const auto process = StartShell(testbed, host, script);
  if (process == nullptr) return "";
  const auto output = process->ReadAll(Soon());
  EXPECT_TRUE(output.ok()) << output.status();
  return output.value_or("");
}

// The program of the target :relay, which a test names in its data.
inline std::string RelayProgram() {
  std::string error;
  const std::unique_ptr<bazel::tools::cpp::runfiles::Runfiles> runfiles(
      bazel::tools::cpp::runfiles::Runfiles::CreateForTest(&error));
  EXPECT_NE(runfiles, nullptr) << error;
  return runfiles == nullptr
             ? ""
             : runfiles->Rlocation("hoplite/hoplite/testbed/relay");
}

// Tells a member of a relay a line and returns its answer; see
// relay_member.h. Empty, and a failure of the test, without an answer.
inline std::string Ask(HostProcess& member, absl::string_view line) {
  const absl::Status told = member.WriteLine(line);
  EXPECT_TRUE(told.ok()) << told;
  const auto answer = member.ReadLine(Soon());
  EXPECT_TRUE(answer.ok()) << line << ": " << answer.status();
  return answer.value_or("");
}

inline std::unique_ptr<HostProcess> StartMember(Testbed& testbed, int host) {
  return StartCommand(testbed, host,
                      {.arguments = {RelayProgram(), "--member=0"}});
}

}  // namespace hoplite::testbed

#endif  // HOPLITE_TESTBED_TEST_SUPPORT_H_
