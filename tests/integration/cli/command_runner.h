// Runs `hoplite` on the hosts of a testbed, as a person would at a terminal.
//
// Each host has a folder of its own for sockets, so a command finds the node
// of its host.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_TESTS_INTEGRATION_CLI_COMMAND_RUNNER_H_
#define HOPLITE_TESTS_INTEGRATION_CLI_COMMAND_RUNNER_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/cli/temporary_folder.h"
#include "hoplite/testbed/host_process.h"
#include "hoplite/testbed/testbed.h"

namespace hoplite {

// Far more than anything here takes: only a test that fails waits for it.
absl::Time Soon();

// Calls RUN_ALL_TESTS as an ordinary user, whoever calls; for main().
int RunAllTestsAsOrdinaryUser(int argc, char** argv);

// What a command has said, and its exit code.
struct Outcome {
  int code = -1;
  std::string out;
  std::string error;

  // Its only line of output, which is one JSON object; else a failure of the
  // test.
  nlohmann::json Json() const;
};

// A node that runs in the foreground of some host.
struct RunningNode {
  std::unique_ptr<testbed::HostProcess> process;
  nlohmann::json started;  // what it printed; null where it did not start

  std::string address() const { return started.value("address", ""); }
};

class CommandRunner {
 public:
  // A failure of the test where there is no testbed.
  explicit CommandRunner(int hosts)
      : CommandRunner(testbed::TestbedOptions{.hosts = hosts}) {}
  explicit CommandRunner(const testbed::TestbedOptions& options);

  testbed::Testbed& testbed() { return *testbed_; }
  bool ok() const { return testbed_ != nullptr; }

  // Runs `hoplite` with these words on the host until its end.
  Outcome Run(int host, std::vector<std::string> words);
  // The same, with these changes to its environment.
  Outcome Run(int host, std::vector<std::string> words,
              std::vector<std::string> environment);
  // Runs a script of the shell, in which $HOPLITE is the program.
  Outcome RunScript(int host, std::string script);
  // Starts it and does not wait.
  std::unique_ptr<testbed::HostProcess> Start(int host,
                                              std::vector<std::string> words);
  // `hoplite start` with these words, in the background; its first line has
  // yet to be read.
  RunningNode StartNode(int host, std::vector<std::string> words);
  // Reads that line.
  void AwaitStart(RunningNode& node);
  // Both.
  RunningNode RunNode(int host, std::vector<std::string> words);

  // Where files of the test may lie.
  std::string Path(absl::string_view name) const;

 private:
  testbed::HostCommand CommandOf(int host, std::vector<std::string> words,
                                 std::vector<std::string> environment) const;
  Outcome RunToItsEnd(int host, const testbed::HostCommand& command);

  const std::unique_ptr<cli::TemporaryFolder> folder_;
  std::unique_ptr<testbed::Testbed> testbed_;
};

// Ends the node by SIGTERM: its exit code, within `limit`.
int Stop(RunningNode& node, absl::Duration limit = absl::Seconds(20));

void WriteText(const std::string& path, absl::string_view text);
std::string ReadText(const std::string& path);

}  // namespace hoplite

#endif  // HOPLITE_TESTS_INTEGRATION_CLI_COMMAND_RUNNER_H_
