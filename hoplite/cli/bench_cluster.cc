#include "hoplite/cli/bench_cluster.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/bench_member.h"
#include "hoplite/cli/process_memory.h"
#include "hoplite/net/host_port.h"
#include "hoplite/net/local_address.h"
#include "hoplite/testbed/local_process.h"

namespace hoplite::cli {
namespace {

using Json = nlohmann::json;

constexpr absl::Duration kStartTimeout = absl::Seconds(120);
// A node that leaves a cluster which goes on without it.
constexpr absl::Duration kLeaveTimeout = absl::Seconds(5);

// Wherever it is, and whoever may enter the folders above it.
constexpr char kOwnProgram[] = "/proc/self/exe";

}  // namespace

absl::StatusOr<std::unique_ptr<BenchCluster>> BenchCluster::Start(
    const BenchOptions& options, testbed::Testbed* hosts) {
  // No make_unique: the constructor is private.
  std::unique_ptr<BenchCluster> cluster(new BenchCluster(options, hosts));
  cluster->head_ = options.join;
  cluster->listen_host_ = "127.0.0.1";
  if (!options.join.empty()) {
    HOPLITE_ASSIGN_OR_RETURN(const HostPort head,
                             HostPort::Parse(options.join));
    HOPLITE_ASSIGN_OR_RETURN(cluster->listen_host_, LocalHostTowards(head));
  }
  const int members = options.nodes + (options.fault.has_value() ? 1 : 0);
  for (int i = 0; i < members; ++i) {
    HOPLITE_ASSIGN_OR_RETURN(Process process,
                             cluster->Launch(i, {kBenchMemberCommand}));
    cluster->members_.push_back(std::move(process));
  }
  return cluster;
}

BenchCluster::~BenchCluster() {
  kills_.clear();
  // Members first: a worker's node outlives it.
  for (std::vector<Process>* processes : {&members_, &daemons_}) {
    // One that failed to start is null.
    std::erase(*processes, nullptr);
    for (const Process& process : *processes) process->CloseInput();
    const absl::Time deadline = absl::Now() + kLeaveTimeout;
    for (const Process& process : *processes) {
      if (!options_.join.empty()) process->Wait(deadline).IgnoreError();
    }
    processes->clear();
  }
}

// --- Starting. --------------------------------------------------------------

absl::StatusOr<std::unique_ptr<testbed::HostProcess>> BenchCluster::Launch(
    int member, std::vector<std::string> arguments) {
  testbed::HostCommand command;
  command.arguments = {kOwnProgram};
  for (std::string& argument : arguments) {
    command.arguments.push_back(std::move(argument));
  }
  if (hosts_ != nullptr) return hosts_->Start(member, command);
  return testbed::StartLocalProcess(command);
}

std::string BenchCluster::ListenAddress(int member) const {
  const std::string host =
      hosts_ == nullptr ? listen_host_ : hosts_->address(member);
  return HostPort{.host = host, .port = 0}.ToString();
}

absl::Status BenchCluster::StartNodes(
    const std::vector<std::uint64_t>& store_bytes) {
  store_bytes_ = store_bytes;
  daemons_.resize(options_.daemon ? members_.size() : 0);
  kills_.resize(daemons_.size());
  if (options_.daemon) {
    HOPLITE_ASSIGN_OR_RETURN(sockets_, TemporaryFolder::Create());
  }
  const bool own_head = head_.empty();
  if (own_head) HOPLITE_RETURN_IF_ERROR(StartProcesses({head_member()}));
  // The others start at once, when the head is there.
  std::vector<int> others;
  for (int member = 0; member < size(); ++member) {
    if (!own_head || member != head_member()) others.push_back(member);
  }
  return StartProcesses(others);
}

absl::Status BenchCluster::StartProcesses(const std::vector<int>& members) {
  const absl::Status status =
      options_.daemon ? StartDaemons(members) : StartEmbedded(members);
  // No run has begun that could have passed its deadline.
  if (!absl::IsDeadlineExceeded(status)) return status;
  return absl::UnavailableError(status.message());
}

absl::Status BenchCluster::StartEmbedded(const std::vector<int>& members) {
  const auto start = [&](int member) {
    return Json{{"do", "start"},
                {"listen", ListenAddress(member)},
                {"join", head_},
                {"store", store_bytes_[static_cast<std::size_t>(member)]},
                {"schedule", static_cast<int>(options_.schedule)}};
  };
  HOPLITE_ASSIGN_OR_RETURN(const std::vector<Json> started,
                           AskAll(
                               [&](int member) {
                                 const bool chosen =
                                     std::ranges::count(members, member) > 0;
                                 return chosen ? start(member) : Json();
                               },
                               absl::Now() + kStartTimeout));
  if (head_.empty()) {
    head_ = started[static_cast<std::size_t>(head_member())].at("address");
  }
  return absl::OkStatus();
}

absl::StatusOr<BenchCluster::Process> BenchCluster::StartDaemon(int member) {
  return Launch(
      member,
      {"start", head_.empty() ? "--head" : "--join=" + head_,
       absl::StrCat("--listen=", ListenAddress(member)),
       absl::StrCat("--store=", store_bytes_[static_cast<std::size_t>(member)]),
       absl::StrCat("--schedule=", ToString(options_.schedule)),
       absl::StrCat("--socket=", sockets_->path(), "/", member),
       "--end-with-input", "--json"});
}

absl::StatusOr<Json> BenchCluster::ReadStarted(testbed::HostProcess& daemon,
                                               absl::Time deadline) {
  const absl::StatusOr<std::string> line = daemon.ReadLine(deadline);
  if (!line.ok()) {
    return absl::UnavailableError(
        absl::StrCat("hoplited did not start: ", line.status().message()));
  }
  const Json started = Json::parse(*line, nullptr, false);
  if (started.is_object() && started.contains("socket")) return started;
  return absl::UnavailableError(
      absl::StrCat("hoplited did not start: ", *line));
}

absl::Status BenchCluster::StartDaemons(const std::vector<int>& members) {
  const absl::Time deadline = absl::Now() + kStartTimeout;
  for (const int member : members) {
    const auto i = static_cast<std::size_t>(member);
    HOPLITE_ASSIGN_OR_RETURN(daemons_[i], StartDaemon(member));
    kills_[i] = std::make_unique<UndoAtSignal>(
        [pid = daemons_[i]->pid()] { kill(pid, SIGKILL); });
  }
  std::vector<Json> connects(members_.size());
  for (const int member : members) {
    const auto i = static_cast<std::size_t>(member);
    HOPLITE_ASSIGN_OR_RETURN(const Json started,
                             ReadStarted(*daemons_[i], deadline));
    if (head_.empty()) head_ = started.at("address");
    connects[i] = {{"do", "connect"}, {"socket", started.at("socket")}};
  }
  return AskAll(
             [&](int member) {
               return connects[static_cast<std::size_t>(member)];
             },
             deadline)
      .status();
}

// --- Faults. ----------------------------------------------------------------

absl::Status BenchCluster::Lose(int member, FaultKind kind) {
  const auto i = static_cast<std::size_t>(member);
  testbed::HostProcess& node = *(daemons_.empty() ? members_ : daemons_)[i];
  switch (kind) {
    case FaultKind::kKill:
      return node.Signal(SIGKILL);
    case FaultKind::kStop:
      return node.Signal(SIGSTOP);
    case FaultKind::kCut:
      if (hosts_ != nullptr) return hosts_->CutLink(member);
      return absl::InvalidArgumentError("loopback is no link that can be cut");
  }
  return absl::OkStatus();
}

absl::Status BenchCluster::Revive(int member) {
  const auto i = static_cast<std::size_t>(member);
  // Killed, in whatever way it was lost.
  members_[i].reset();
  if (options_.daemon) {
    kills_[i].reset();
    daemons_[i].reset();
  }
  if (hosts_ != nullptr) HOPLITE_RETURN_IF_ERROR(hosts_->RestoreLink(member));
  HOPLITE_ASSIGN_OR_RETURN(members_[i], Launch(member, {kBenchMemberCommand}));
  return StartProcesses({member});
}

// --- The links. -------------------------------------------------------------

absl::StatusOr<double> BenchCluster::MeasurePayloadRate() {
  const absl::Time deadline = absl::Now() + kStartTimeout;
  HOPLITE_ASSIGN_OR_RETURN(const Json server,
                           Ask(1, {{"do", "rate_serve"}}, deadline));
  const std::string host = hosts_ == nullptr ? "127.0.0.1" : hosts_->address(1);
  HOPLITE_ASSIGN_OR_RETURN(
      const Json rate,
      Ask(0, {{"do", "rate"}, {"host", host}, {"port", server.at("port")}},
          deadline));
  return rate.at("mbit").get<double>();
}

absl::StatusOr<double> BenchCluster::MeasureEcho(std::uint64_t bytes,
                                                 int warm_ups, int runs) {
  const absl::Time deadline = absl::Now() + kStartTimeout;
  HOPLITE_ASSIGN_OR_RETURN(
      const Json server,
      Ask(1, {{"do", "echo_serve"}, {"listen", ListenAddress(1)}}, deadline));
  HOPLITE_ASSIGN_OR_RETURN(const Json echo,
                           Ask(0,
                               {{"do", "echo"},
                                {"address", server.at("address")},
                                {"bytes", bytes},
                                {"warm_ups", warm_ups},
                                {"runs", runs}},
                               deadline));
  return echo.at("median_ms").get<double>();
}

// --- Commands. --------------------------------------------------------------

absl::StatusOr<Json> BenchCluster::ReadAnswer(int member, absl::Time deadline) {
  const absl::StatusOr<std::string> line =
      members_[static_cast<std::size_t>(member)]->ReadLine(deadline);
  if (!line.ok()) {
    return absl::Status(line.status().code(),
                        absl::StrFormat("node %d of the benchmark: %s", member,
                                        line.status().message()));
  }
  const Json answer = Json::parse(*line, nullptr, false);
  if (answer.is_object() && answer.contains("ok")) return answer;
  const auto code = static_cast<absl::StatusCode>(
      answer.is_object() ? answer.value("code", 0) : 0);
  return absl::Status(
      code == absl::StatusCode::kOk ? absl::StatusCode::kInternal : code,
      absl::StrFormat(
          "node %d of the benchmark: %s", member,
          answer.is_object() ? answer.value("error", *line) : *line));
}

absl::StatusOr<Json> BenchCluster::Ask(int member, const Json& command,
                                       absl::Time deadline) {
  HOPLITE_RETURN_IF_ERROR(
      members_[static_cast<std::size_t>(member)]->WriteLine(command.dump()));
  return ReadAnswer(member, deadline);
}

absl::Status BenchCluster::Tell(const std::function<Json(int)>& command) {
  told_.clear();
  for (int i = 0; i < size(); ++i) {
    const Json line = command(i);
    if (line.is_null()) continue;
    HOPLITE_RETURN_IF_ERROR(
        members_[static_cast<std::size_t>(i)]->WriteLine(line.dump()));
    told_.push_back(i);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Json>> BenchCluster::Hear(absl::Time deadline) {
  std::vector<Json> answers(members_.size());
  absl::Status first_error;
  for (int member : told_) {
    absl::StatusOr<Json> answer = ReadAnswer(member, deadline);
    first_error.Update(answer.status());
    if (answer.ok()) {
      answers[static_cast<std::size_t>(member)] = *std::move(answer);
    }
  }
  if (!first_error.ok()) return first_error;
  return answers;
}

absl::StatusOr<std::vector<Json>> BenchCluster::AskAll(
    const std::function<Json(int)>& command, absl::Time deadline) {
  HOPLITE_RETURN_IF_ERROR(Tell(command));
  return Hear(deadline);
}

double BenchCluster::PrivateMib(int member) const {
  const std::vector<Process>& nodes = daemons_.empty() ? members_ : daemons_;
  const pid_t process = nodes[static_cast<std::size_t>(member)]->pid();
  return static_cast<double>(PrivateBytes(process)) / (1 << 20);
}

}  // namespace hoplite::cli
