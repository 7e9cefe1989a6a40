#include "apps/parameter_server/learning_testing.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "hoplite/base/mutex.h"

namespace hoplite::apps {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kStoreBytes = 64 << 20;
// Far more than anything here takes: only a test that fails waits for it.
constexpr absl::Duration kPatience = absl::Seconds(240);
constexpr absl::Duration kPoll = absl::Milliseconds(20);

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// The field after the command's closing parenthesis, then its parent's id.
std::optional<pid_t> ParentOf(pid_t process) {
  const std::string text = ReadText(absl::StrCat("/proc/", process, "/stat"));
  const std::size_t end = text.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  const std::vector<std::string> fields =
      absl::StrSplit(text.substr(end + 1), ' ', absl::SkipEmpty());
  pid_t parent = 0;
  if (fields.size() < 2 || fields[0] == "Z" ||
      !absl::SimpleAtoi(fields[1], &parent)) {
    return std::nullopt;
  }
  return parent;
}

std::map<pid_t, pid_t> ParentsOfAll() {
  std::map<pid_t, pid_t> parents;
  DIR* const folder = opendir("/proc");
  if (folder == nullptr) return parents;
  while (const dirent* const entry = readdir(folder)) {
    pid_t process = 0;
    if (!absl::SimpleAtoi(entry->d_name, &process)) continue;
    if (const auto parent = ParentOf(process)) parents[process] = *parent;
  }
  closedir(folder);
  return parents;
}

bool IsBelow(pid_t process, pid_t root, const std::map<pid_t, pid_t>& parents) {
  for (;;) {
    const auto found = parents.find(process);
    if (found == parents.end()) return false;
    if (found->second == root) return true;
    process = found->second;
  }
}

}  // namespace

void Pause(absl::Duration time) {
  Mutex mutex;
  CondVar never;
  const absl::Time end = absl::Now() + time;
  MutexLock lock(mutex);
  while (absl::Now() < end) never.WaitUntil(mutex, end);
}

LearningCluster::LearningCluster(int hosts) {
  auto programs = experiments::FindPrograms("");
  EXPECT_TRUE(programs.ok()) << programs.status();
  auto testbed = testbed::Testbed::Create({.hosts = hosts});
  EXPECT_TRUE(testbed.ok()) << testbed.status();
  if (!programs.ok() || !testbed.ok()) return;
  programs_ = *std::move(programs);
  hosts_ = *std::move(testbed);
  auto cluster = experiments::Cluster::Start(
      *hosts_, {.program = programs_.node, .store_bytes = kStoreBytes});
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  if (cluster.ok()) cluster_ = *std::move(cluster);
}

std::unique_ptr<testbed::HostProcess> LearningCluster::Start(
    std::vector<std::string> arguments) {
  std::vector<std::string> names;
  for (int host = 1; host < hosts_->host_count(); ++host) {
    names.push_back(hosts_->name(host));
  }
  arguments.insert(arguments.begin(), programs_.parameter_server);
  arguments.push_back(absl::StrCat("--hosts=", absl::StrJoin(names, ",")));
  arguments.push_back("--json");
  auto program = cluster_->Run(0, std::move(arguments));
  EXPECT_TRUE(program.ok()) << program.status();
  return program.ok() ? *std::move(program) : nullptr;
}

Json LearningCluster::Result(testbed::HostProcess& program) {
  const auto line = program.ReadLine(absl::Now() + kPatience);
  EXPECT_TRUE(line.ok()) << line.status();
  if (!line.ok()) return Json::object();
  Json result = Json::parse(*line, nullptr, false);
  EXPECT_TRUE(result.is_object() && !result.contains("error")) << *line;
  return result.is_object() ? result : Json::object();
}

Json LearningCluster::Run(std::vector<std::string> arguments) {
  const auto program = Start(std::move(arguments));
  return program == nullptr ? Json::object() : Result(*program);
}

std::vector<pid_t> LearningCluster::Workers(
    const testbed::HostProcess* program) const {
  const std::map<pid_t, pid_t> parents = ParentsOfAll();
  std::vector<pid_t> workers;
  for (const auto& [process, parent] : parents) {
    const std::string command =
        ReadText(absl::StrCat("/proc/", process, "/cmdline"));
    const absl::string_view name = command.c_str();  // up to the first null
    if (absl::EndsWith(name, "parameter_server") &&
        (program == nullptr || process != program->pid()) &&
        IsBelow(process, getpid(), parents)) {
      workers.push_back(process);
    }
  }
  return workers;
}

bool LearningCluster::AwaitWorkers(const testbed::HostProcess* program,
                                   std::size_t least, std::size_t most) const {
  const absl::Time end = absl::Now() + kPatience;
  while (absl::Now() < end) {
    const std::size_t count = Workers(program).size();
    if (count >= least && count <= most) return true;
    Pause(kPoll);
  }
  return false;
}

}  // namespace hoplite::apps
