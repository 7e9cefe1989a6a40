#include "tests/integration/tasks/task_cluster.h"

#include <csignal>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tools/cpp/runfiles/runfiles.h"

namespace hoplite {
namespace {

using bazel::tools::cpp::runfiles::Runfiles;
using testbed::HostProcess;

// Far more than anything takes: only a test that fails waits for it.
constexpr absl::Duration kPatienceOfStart = absl::Seconds(120);
constexpr absl::Duration kPatienceOfDriver = absl::Seconds(300);
// How often memory is looked at.
constexpr absl::Duration kLookAgain = absl::Milliseconds(100);

// The hosts' networks are their own, so the ports are free.
std::string AddressOf(int node) { return absl::StrCat("host", node, ":7000"); }

std::string ProgramOf(absl::string_view path) {
  std::string error;
  const std::unique_ptr<Runfiles> runfiles(Runfiles::CreateForTest(&error));
  EXPECT_NE(runfiles, nullptr) << error;
  if (runfiles == nullptr) return "";
  return std::filesystem::absolute(
             runfiles->Rlocation(absl::StrCat("hoplite/", path)))
      .string();
}

}  // namespace

TaskCluster::TaskCluster(int nodes, const std::vector<std::string>& words)
    : folder_(cli::TemporaryFolder::Create().value()),
      nodes_(nodes),
      clients_(nodes) {
  auto testbed = testbed::Testbed::Create({.hosts = nodes});
  EXPECT_TRUE(testbed.ok()) << testbed.status();
  if (!testbed.ok()) return;
  testbed_ = *std::move(testbed);
  // The head first: the others, all at once, find it there.
  ok_ = StartNode(0, words) && AwaitNode(0);
  for (int i = 1; i < nodes; ++i) ok_ = ok_ && StartNode(i, words);
  for (int i = 1; i < nodes; ++i) ok_ = ok_ && AwaitNode(i);
}

std::string TaskCluster::SocketOf(int node) const {
  return absl::StrCat(folder(), "/node", node);
}

bool TaskCluster::StartNode(int node, const std::vector<std::string>& words) {
  testbed::HostCommand command{
      .arguments = {ProgramOf("ray_integration/cli/hoplite"), "start", "--json",
                    "--store=64MiB", "--resources=cpu=2",
                    absl::StrCat("--listen=", AddressOf(node)),
                    absl::StrCat("--socket=", SocketOf(node)),
                    node == 0 ? "--head"
                              : absl::StrCat("--join=", AddressOf(0))},
      .working_directory = folder()};
  command.arguments.insert(command.arguments.end(), words.begin(), words.end());
  auto process = testbed_->Start(node, command);
  EXPECT_TRUE(process.ok()) << process.status();
  if (process.ok()) nodes_[node] = *std::move(process);
  return nodes_[node] != nullptr;
}

bool TaskCluster::AwaitNode(int node) {
  const auto line = nodes_[node]->ReadLine(absl::Now() + kPatienceOfStart);
  EXPECT_TRUE(line.ok()) << "node " << node << ": " << line.status();
  if (!line.ok()) return false;
  auto client = Client::Connect(SocketOf(node));
  EXPECT_TRUE(client.ok()) << *line << client.status();
  if (client.ok()) clients_[node] = *std::move(client);
  return clients_[node] != nullptr;
}

std::unique_ptr<HostProcess> TaskCluster::Start(
    int node, absl::string_view program, std::vector<std::string> words) {
  words.insert(words.begin(), ProgramOf(program));
  auto process = testbed_->Start(
      node, {.arguments = std::move(words),
             .environment = {absl::StrCat("HOPLITE_NODE=", SocketOf(node))},
             .working_directory = folder(),
             .capture_standard_error = true});
  EXPECT_TRUE(process.ok()) << process.status();
  return process.ok() ? *std::move(process) : nullptr;
}

DriverOutcome TaskCluster::Run(int node, absl::string_view program,
                               std::vector<std::string> words) {
  const auto process = Start(node, program, std::move(words));
  DriverOutcome outcome;
  if (process == nullptr) return outcome;
  process->CloseInput();
  const absl::Time deadline = absl::Now() + kPatienceOfDriver;
  const auto out = process->ReadAll(deadline);
  EXPECT_TRUE(out.ok()) << program << ": " << out.status();
  outcome.out = out.value_or("");
  outcome.code = process->Wait(deadline).value_or(-1);
  outcome.error = process->StandardError();
  return outcome;
}

void TaskCluster::Kill(int node) {
  clients_[node].reset();
  const absl::Status killed = nodes_[node]->Signal(SIGKILL);
  EXPECT_TRUE(killed.ok()) << killed;
}

NodeReport TaskCluster::Report(int node) {
  const auto report = clients_[node]->Report();
  EXPECT_TRUE(report.ok()) << "node " << node << ": " << report.status();
  return report.ok() ? *report : NodeReport();
}

std::uint64_t TaskCluster::StoreBytes() {
  std::uint64_t bytes = 0;
  for (int i = 0; i < size(); ++i) {
    if (is_alive(i)) bytes += Report(i).counters.store_bytes_used;
  }
  return bytes;
}

std::uint64_t TaskCluster::DirectoryRecords() {
  std::uint64_t records = 0;
  for (int i = 0; i < size(); ++i) {
    if (is_alive(i)) records += Report(i).status.directory_records;
  }
  return records;
}

bool TaskCluster::AwaitMemory(std::uint64_t store_bytes, std::uint64_t records,
                              absl::Duration patience) {
  const absl::Time deadline = absl::Now() + patience;
  while (StoreBytes() > store_bytes || DirectoryRecords() > records) {
    if (absl::Now() > deadline) return false;
    // In vain: the head's node does not end.
    nodes_[0]->Wait(absl::Now() + kLookAgain).IgnoreError();
  }
  return true;
}

}  // namespace hoplite
