#include "ray_integration/bench/call_systems.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/temporary_folder.h"
#include "hoplite/cli/undo_at_signal.h"
#include "hoplite/runtime/clock.h"
#include "hoplite/testbed/host_process.h"
#include "hoplite/testbed/local_process.h"
#include "tools/cpp/runfiles/runfiles.h"

namespace hoplite::task {
namespace {

using bazel::tools::cpp::runfiles::Runfiles;
using cli::TemporaryFolder;
using cli::UndoAtSignal;
using testbed::HostProcess;

constexpr char kRayVersion[] = "2.60.0";
constexpr absl::Duration kStartTimeout = absl::Seconds(60);
// A slow system on a busy machine; only one that hangs takes longer.
constexpr absl::Duration kMeasureTimeout = absl::Minutes(20);
constexpr absl::Duration kInstallTimeout = absl::Minutes(30);

// A process that goes at a signal, too, with those that it has started.
struct Child {
  std::unique_ptr<HostProcess> process;
  std::unique_ptr<UndoAtSignal> kill_at_signal;
};

absl::StatusOr<Child> StartChild(std::vector<std::string> words,
                                 std::vector<std::string> environment = {}) {
  Child child;
  HOPLITE_ASSIGN_OR_RETURN(
      child.process,
      testbed::StartLocalProcess({.arguments = std::move(words),
                                  .environment = std::move(environment)}));
  child.kill_at_signal = std::make_unique<UndoAtSignal>(
      [pid = child.process->pid()] { kill(-pid, SIGKILL); });
  return child;
}

absl::StatusOr<CallRow> RowOf(absl::string_view system,
                              const absl::StatusOr<Child>& child) {
  HOPLITE_RETURN_IF_ERROR(child.status());
  const auto line =
      child->process->ReadLine(SystemClock::Now() + kMeasureTimeout);
  if (!line.ok()) {
    return absl::InternalError(
        absl::StrCat(system, " gave no figures: ", line.status().message()));
  }
  HOPLITE_ASSIGN_OR_RETURN(CallRow row, ParseCallRow(*line));
  const auto code = child->process->Wait(SystemClock::Now() + kStartTimeout);
  if (code.ok() && *code == 0) return row;
  return absl::InternalError(absl::StrCat(
      system, " did not end in order: ",
      code.ok() ? absl::StrCat("exit code ", *code) : code.status().message()));
}

// The socket of a node that has just been started.
absl::StatusOr<std::string> SocketOf(const Child& node) {
  const auto line = node.process->ReadLine(SystemClock::Now() + kStartTimeout);
  const nlohmann::json started =
      nlohmann::json::parse(line.value_or(""), nullptr, false);
  if (started.is_object() && started.contains("socket")) {
    return started["socket"].get<std::string>();
  }
  return absl::InternalError(
      absl::StrCat("the node did not start: ",
                   line.ok() ? *line : std::string(line.status().message())));
}

std::string RayFolder() {
  const char* caches = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::string folder =
      caches != nullptr && *caches != '\0'
          ? caches
          : absl::StrCat(home != nullptr ? home : "/tmp", "/.cache");
  return absl::StrCat(folder, "/hoplite/ray-", kRayVersion);
}

}  // namespace

absl::StatusOr<CallSystems> CallSystems::Create(
    absl::string_view program, const CallBenchOptions& options) {
  std::string error;
  const std::unique_ptr<Runfiles> runfiles(
      Runfiles::Create(std::string(program), &error));
  if (runfiles == nullptr) return absl::NotFoundError(error);
  const auto find = [&](const char* path) {
    return std::filesystem::absolute(runfiles->Rlocation(path));
  };
  // What is built lies elsewhere than what is not.
  CallSystems systems(
      find("hoplite/ray_integration/cli/hoplite"),
      find("hoplite/ray_integration/bench/hoplite_calls"),
      find("hoplite/ray_integration/bench/ray_calls.py").parent_path(),
      options);
  for (const std::string& path :
       {systems.node_program_, systems.calls_program_}) {
    if (!std::filesystem::exists(path)) {
      return absl::NotFoundError(absl::StrCat(path, " is not there"));
    }
  }
  return systems;
}

std::vector<std::string> CallSystems::PlanWords() const {
  return {absl::StrCat(options_.warm_ups), absl::StrCat(options_.repetitions),
          absl::StrCat(options_.batch), absl::StrCat(options_.calls)};
}

absl::StatusOr<CallRow> CallSystems::MeasureHoplite() const {
  HOPLITE_ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryFolder> folder,
                           TemporaryFolder::Create());
  HOPLITE_ASSIGN_OR_RETURN(
      const Child node,
      StartChild({node_program_, "start", "--head", "--resources=cpu=2",
                  "--store=256MiB", "--json", "--end-with-input",
                  absl::StrCat("--socket=", folder->path(), "/node")}));
  HOPLITE_ASSIGN_OR_RETURN(const std::string socket, SocketOf(node));
  std::vector<std::string> words = PlanWords();
  words.insert(words.begin(), calls_program_);
  auto row = RowOf(
      "hoplite",
      StartChild(std::move(words), {absl::StrCat("HOPLITE_NODE=", socket)}));
  node.process->CloseInput();
  node.process->Wait(SystemClock::Now() + kStartTimeout).IgnoreError();
  return row;
}

absl::Status CallSystems::InstallRay() const {
  HOPLITE_ASSIGN_OR_RETURN(
      const Child installer,
      StartChild({absl::StrCat(ray_folder_, "/install_ray.sh"), kRayVersion,
                  RayFolder()}));
  const auto code =
      installer.process->Wait(SystemClock::Now() + kInstallTimeout);
  if (code.ok() && *code == 0) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("Ray ", kRayVersion, " could not be installed into ",
                   RayFolder(), ": it needs PyPI, python3-venv and g++"));
}

absl::StatusOr<CallRow> CallSystems::MeasureRay(
    const std::vector<std::string>& programs) const {
  HOPLITE_ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryFolder> folder,
                           TemporaryFolder::Create());
  std::vector<std::string> words = {
      absl::StrCat(RayFolder(), "/venv/bin/python"),
      absl::StrCat(ray_folder_, "/ray_calls.py"), folder->path()};
  for (std::string& word : PlanWords()) words.push_back(std::move(word));
  words.insert(words.end(), programs.begin(), programs.end());
  return RowOf("ray", StartChild(std::move(words)));
}

absl::StatusOr<CallRow> CallSystems::MeasureRayPython() const {
  return MeasureRay({});
}

absl::StatusOr<CallRow> CallSystems::MeasureRayCpp() const {
  return MeasureRay({absl::StrCat(RayFolder(), "/ray_calls"),
                     absl::StrCat(RayFolder(), "/ray_calls.so")});
}

}  // namespace hoplite::task
