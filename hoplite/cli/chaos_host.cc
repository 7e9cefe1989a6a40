#include "hoplite/cli/chaos_host.h"

#include <csignal>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/chaos_member.h"
#include "hoplite/net/host_port.h"

namespace hoplite::cli {
namespace {

using Json = nlohmann::json;

constexpr char kOwnProgram[] = "/proc/self/exe";
// Whoever calls never gives a number with this bit.
constexpr std::uint64_t kOwnCalls = std::uint64_t{1} << 63;
// One operation of the largest objects takes 24 MiB of a node; some are still
// being deleted while the next ones run.
constexpr std::uint64_t kStoreBytes = 256 << 20;
// So a silent node is dead after a second, four beats later.
constexpr int kHeartbeatMs = 250;
constexpr int kDeadAfterMs = 1000;
// Longer than a head is away.
constexpr absl::string_view kJoinTimeout = "20s";

// The number of a process within this one.
std::uint64_t NextProcess() {
  static std::uint64_t last = 0;
  return ++last;
}

}  // namespace

// --- Processes. -------------------------------------------------------------

absl::Status ChaosHost::Launch(const std::vector<std::string>& arguments,
                               std::unique_ptr<ChaosProcess>& process) {
  testbed::HostCommand command;
  command.arguments = {kOwnProgram};
  command.arguments.insert(command.arguments.end(), arguments.begin(),
                           arguments.end());
  command.capture_standard_error = !setting_.verbose;
  HOPLITE_ASSIGN_OR_RETURN(std::unique_ptr<testbed::HostProcess> started,
                           setting_.testbed->Start(setting_.host, command));
  process = std::make_unique<ChaosProcess>(NextProcess(), std::move(started),
                                           setting_.inbox);
  return absl::OkStatus();
}

std::string ChaosHost::Listen(bool same_address) const {
  if (same_address && !address_.empty()) return address_;
  return HostPort{.host = setting_.testbed->address(setting_.host), .port = 0}
      .ToString();
}

absl::Status ChaosHost::Start(const std::string& head, bool same_address) {
  Kill();
  node_ = Node::kStarting;
  return setting_.daemon ? StartDaemon(head, same_address)
                         : StartEmbedded(head, same_address);
}

absl::Status ChaosHost::StartEmbedded(const std::string& head,
                                      bool same_address) {
  HOPLITE_RETURN_IF_ERROR(Launch({kChaosMemberCommand}, member_));
  AskOwn({{"do", "start"},
          {"listen", Listen(same_address)},
          {"data_listen", same_address ? data_address_ : ""},
          {"join", head},
          {"store", kStoreBytes},
          {"heartbeat_ms", kHeartbeatMs},
          {"dead_after_ms", kDeadAfterMs}});
  return absl::OkStatus();
}

absl::Status ChaosHost::StartDaemon(const std::string& head,
                                    bool same_address) {
  if (member_ == nullptr) {
    HOPLITE_RETURN_IF_ERROR(Launch({kChaosMemberCommand}, member_));
  }
  return Launch(
      {"start", head.empty() ? "--head" : "--join=" + head,
       absl::StrCat("--listen=", Listen(same_address)),
       absl::StrCat("--store=", kStoreBytes),
       absl::StrCat("--socket=", kChaosSocketFolder, "/", setting_.host),
       absl::StrCat("--heartbeat=", kHeartbeatMs, "ms"),
       absl::StrCat("--dead-after=", kDeadAfterMs, "ms"),
       absl::StrCat("--timeout=", kJoinTimeout), "--end-with-input", "--json"},
      daemon_);
}

void ChaosHost::Kill() {
  node_ = Node::kDown;
  report_.reset();
  own_call_ = 0;
  (setting_.daemon ? daemon_ : member_).reset();
}

absl::Status ChaosHost::Signal(int number) {
  return node_process().Signal(number);
}

pid_t ChaosHost::pid() const { return node_process().pid(); }

void ChaosHost::Fail(std::string why) {
  node_ = Node::kFailed;
  failure_ = std::move(why);
}

std::string ChaosHost::failure() const {
  const ChaosProcess* const process =
      (setting_.daemon ? daemon_ : member_).get();
  return absl::StrCat("host ", setting_.host, ": ", failure_,
                      process == nullptr ? "" : "\n",
                      process == nullptr ? "" : process->LastWords());
}

// --- Lines. -----------------------------------------------------------------

absl::Status ChaosHost::Send(const Json& command) {
  return member_->WriteLine(command.dump());
}

void ChaosHost::AskOwn(Json command) {
  static std::uint64_t last = kOwnCalls;
  own_call_ = ++last;
  own_command_ = command.at("do");
  command["call"] = own_call_;
  // One that has ended is noticed by its last line.
  Send(command).IgnoreError();
}

void ChaosHost::AskReport() {
  report_.reset();
  AskOwn({{"do", "report"}});
}

void ChaosHost::AskFiles(absl::string_view folder) {
  files_.reset();
  AskOwn({{"do", "files"}, {"folder", std::string(folder)}});
}

bool ChaosHost::Take(const ChaosLine& line, std::optional<Json>& answer) {
  const bool of_member =
      member_ != nullptr && member_->number() == line.process;
  const bool of_daemon =
      daemon_ != nullptr && daemon_->number() == line.process;
  if (!of_member && !of_daemon) return false;
  if (!line.text.has_value()) {
    Fail("its process has ended by itself");
    return true;
  }
  const Json json = Json::parse(*line.text, nullptr, false);
  if (!json.is_object()) {
    Fail(absl::StrCat("it says \"", *line.text, "\""));
  } else if (of_daemon) {
    TakeStarted(json);
  } else if (const std::uint64_t call = json.value("call", std::uint64_t{0});
             (call & kOwnCalls) == 0) {
    answer = json;
  } else if (call == own_call_) {
    TakeOwn(json);
  }
  return true;
}

void ChaosHost::TakeStarted(const Json& answer) {
  if (!answer.contains("address")) {
    Fail(absl::StrCat("its node did not start: ", answer.value("error", "?")));
    return;
  }
  address_ = answer.at("address");
  data_address_ = answer.value("data_address", "");
  if (setting_.daemon) {
    AskOwn({{"do", "connect"}, {"socket", answer.at("socket")}});
  } else {
    node_ = Node::kUp;
  }
}

void ChaosHost::TakeOwn(const Json& answer) {
  if (own_command_ == "start") {
    TakeStarted(answer);
  } else if (own_command_ == "connect") {
    if (answer.contains("error")) {
      Fail(absl::StrCat("no client: ", answer.value("error", "?")));
    } else {
      node_ = Node::kUp;
    }
  } else if (own_command_ == "report" && answer.contains("report")) {
    auto report = NodeReportFromJson(answer.value("report", ""));
    if (report.ok()) report_ = *std::move(report);
  } else if (own_command_ == "files" && answer.contains("files")) {
    files_ = answer.at("files").get<std::vector<std::string>>();
  }
}

}  // namespace hoplite::cli
