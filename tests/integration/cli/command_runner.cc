#include "tests/integration/cli/command_runner.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "tools/cpp/runfiles/runfiles.h"

namespace hoplite {
namespace {

using bazel::tools::cpp::runfiles::Runfiles;

constexpr uid_t kNobody = 65534;
constexpr char kProgramVariable[] = "HOPLITE_TEST_PROGRAM";

std::string ProgramInRunfiles() {
  std::string error;
  const std::unique_ptr<Runfiles> runfiles(Runfiles::CreateForTest(&error));
  if (runfiles == nullptr) return "";
  return std::filesystem::absolute(
             runfiles->Rlocation("hoplite/hoplite/cli/hoplite"))
      .string();
}

// Where an ordinary user can run it: he may not be allowed to enter the folder
// that it is in.
std::string ProgramForEverybody(const cli::TemporaryFolder& folder) {
  chmod(folder.path().c_str(), 0755);
  const std::string program = absl::StrCat(folder.path(), "/hoplite");
  std::filesystem::copy_file(ProgramInRunfiles(), program);
  chmod(program.c_str(), 0755);
  return program;
}

int RunTests(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

// In a child of root.
int RunTestsAsNobody(int argc, char** argv) {
  // Only root may write where Bazel wants the results, which it then takes
  // from the exit code.
  unsetenv("XML_OUTPUT_FILE");
  unsetenv("TEST_TMPDIR");
  if (setgid(kNobody) != 0 || setuid(kNobody) != 0) {
    // A sandbox that maps no other user: this is an ordinary one already.
    return RunTests(argc, argv);
  }
  prctl(PR_SET_DUMPABLE, 1);  // else /proc/self is root's
  return RunTests(argc, argv);
}

}  // namespace

absl::Time Soon() { return absl::Now() + absl::Seconds(120); }

int RunAllTestsAsOrdinaryUser(int argc, char** argv) {
  if (geteuid() != 0) {
    setenv(kProgramVariable, ProgramInRunfiles().c_str(), 1);
    return RunTests(argc, argv);
  }
  const auto folder = cli::TemporaryFolder::Create();
  if (!folder.ok()) return 1;
  setenv(kProgramVariable, ProgramForEverybody(**folder).c_str(), 1);
  const pid_t child = fork();
  if (child == 0) {
    const int code = RunTestsAsNobody(argc, argv);
    std::fflush(nullptr);
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

nlohmann::json Outcome::Json() const {
  const nlohmann::json json = nlohmann::json::parse(out, nullptr, false);
  EXPECT_TRUE(json.is_object()) << "exit code " << code << "\n" << out << error;
  return json.is_object() ? json : nlohmann::json::object();
}

CommandRunner::CommandRunner(const testbed::TestbedOptions& options)
    : folder_(cli::TemporaryFolder::Create().value()) {
  auto testbed = testbed::Testbed::Create(options);
  EXPECT_TRUE(testbed.ok()) << testbed.status();
  if (testbed.ok()) testbed_ = *std::move(testbed);
}

testbed::HostCommand CommandRunner::CommandOf(
    int host, std::vector<std::string> words,
    std::vector<std::string> environment) const {
  const std::string sockets = Path(absl::StrCat("run", host));
  std::filesystem::create_directory(sockets);
  words.insert(words.begin(), std::getenv(kProgramVariable));
  environment.insert(environment.begin(),
                     absl::StrCat("XDG_RUNTIME_DIR=", sockets));
  return {.arguments = std::move(words),
          .environment = std::move(environment),
          .working_directory = folder_->path(),
          .capture_standard_error = true};
}

Outcome CommandRunner::Run(int host, std::vector<std::string> words) {
  return Run(host, std::move(words), {});
}

Outcome CommandRunner::Run(int host, std::vector<std::string> words,
                           std::vector<std::string> environment) {
  return RunToItsEnd(host,
                     CommandOf(host, std::move(words), std::move(environment)));
}

Outcome CommandRunner::RunScript(int host, std::string script) {
  testbed::HostCommand command = CommandOf(
      host, {}, {absl::StrCat("HOPLITE=", std::getenv(kProgramVariable))});
  command.arguments = {"/bin/sh", "-c", std::move(script)};
  return RunToItsEnd(host, command);
}

Outcome CommandRunner::RunToItsEnd(int host,
                                   const testbed::HostCommand& command) {
  const auto process = testbed_->Start(host, command);
  EXPECT_TRUE(process.ok()) << process.status();
  if (!process.ok()) return {};
  (*process)->CloseInput();
  Outcome outcome;
  const auto out = (*process)->ReadAll(Soon());
  EXPECT_TRUE(out.ok()) << out.status() << (*process)->StandardError();
  outcome.out = out.value_or("");
  const auto code = (*process)->Wait(Soon());
  EXPECT_TRUE(code.ok()) << code.status();
  outcome.code = code.value_or(-1);
  outcome.error = (*process)->StandardError();
  return outcome;
}

std::unique_ptr<testbed::HostProcess> CommandRunner::Start(
    int host, std::vector<std::string> words) {
  auto process = testbed_->Start(host, CommandOf(host, std::move(words), {}));
  EXPECT_TRUE(process.ok()) << process.status();
  return process.ok() ? *std::move(process) : nullptr;
}

RunningNode CommandRunner::StartNode(int host, std::vector<std::string> words) {
  words.insert(words.begin(), {"start", "--json", "--store=64MiB"});
  return {.process = Start(host, std::move(words)), .started = {}};
}

void CommandRunner::AwaitStart(RunningNode& node) {
  node.started = nlohmann::json::object();
  if (node.process == nullptr) return;
  const auto line = node.process->ReadLine(Soon());
  EXPECT_TRUE(line.ok()) << line.status() << node.process->StandardError();
  if (!line.ok()) return;
  node.started = nlohmann::json::parse(*line, nullptr, false);
  EXPECT_TRUE(node.started.contains("address"))
      << *line << node.process->StandardError();
}

RunningNode CommandRunner::RunNode(int host, std::vector<std::string> words) {
  RunningNode node = StartNode(host, std::move(words));
  AwaitStart(node);
  return node;
}

std::string CommandRunner::Path(absl::string_view name) const {
  return absl::StrCat(folder_->path(), "/", name);
}

int Stop(RunningNode& node, absl::Duration limit) {
  const absl::Status told = node.process->Signal(SIGTERM);
  EXPECT_TRUE(told.ok()) << told;
  const auto code = node.process->Wait(absl::Now() + limit);
  EXPECT_TRUE(code.ok()) << code.status();
  return code.value_or(-1);
}

void WriteText(const std::string& path, absl::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  EXPECT_TRUE(file.good()) << path;
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace hoplite
