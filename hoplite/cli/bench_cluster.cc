#include "hoplite/cli/bench_cluster.h"

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
  for (int i = 0; i < options.nodes; ++i) {
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
  const absl::Status status =
      options_.daemon ? StartDaemons(store_bytes) : StartEmbedded(store_bytes);
  // No run has begun that could have passed its deadline.
  if (!absl::IsDeadlineExceeded(status)) return status;
  return absl::UnavailableError(status.message());
}

absl::Status BenchCluster::StartEmbedded(
    const std::vector<std::uint64_t>& store_bytes) {
  const absl::Time deadline = absl::Now() + kStartTimeout;
  const auto start = [&](int member) {
    return Json{{"do", "start"},
                {"listen", ListenAddress(member)},
                {"join", head_},
                {"store", store_bytes[static_cast<std::size_t>(member)]},
                {"schedule", static_cast<int>(options_.schedule)}};
  };
  int first = 0;
  if (head_.empty()) {
    HOPLITE_ASSIGN_OR_RETURN(const Json head, Ask(0, start(0), deadline));
    head_ = head.at("address");
    first = 1;
  }
  return AskAll(
             [&](int member) {
               return member < first ? Json() : start(member);
             },
             deadline)
      .status();
}

absl::StatusOr<BenchCluster::Process> BenchCluster::StartDaemon(
    int member, std::uint64_t store_bytes) {
  return Launch(member,
                {"start", head_.empty() ? "--head" : "--join=" + head_,
                 absl::StrCat("--listen=", ListenAddress(member)),
                 absl::StrCat("--store=", store_bytes),
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

absl::Status BenchCluster::StartDaemons(
    const std::vector<std::uint64_t>& store_bytes) {
  const absl::Time deadline = absl::Now() + kStartTimeout;
  HOPLITE_ASSIGN_OR_RETURN(sockets_, TemporaryFolder::Create());
  std::vector<std::string> sockets(members_.size());
  // The others start at once, when the head is there.
  for (std::size_t begin = 0, end = head_.empty() ? 1 : members_.size();
       begin < members_.size(); begin = end, end = members_.size()) {
    for (std::size_t i = begin; i < end; ++i) {
      HOPLITE_ASSIGN_OR_RETURN(
          Process daemon, StartDaemon(static_cast<int>(i), store_bytes[i]));
      kills_.push_back(std::make_unique<UndoAtSignal>(
          [pid = daemon->pid()] { kill(pid, SIGKILL); }));
      daemons_.push_back(std::move(daemon));
    }
    for (std::size_t i = begin; i < end; ++i) {
      HOPLITE_ASSIGN_OR_RETURN(const Json started,
                               ReadStarted(*daemons_[i], deadline));
      if (head_.empty()) head_ = started.at("address");
      sockets[i] = started.at("socket");
    }
  }
  return AskAll(
             [&](int member) {
               return Json{
                   {"do", "connect"},
                   {"socket", sockets[static_cast<std::size_t>(member)]}};
             },
             deadline)
      .status();
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
