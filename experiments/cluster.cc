#include "experiments/cluster.h"

#include <csignal>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "hoplite/base/check.h"
#include "hoplite/base/status_macros.h"

namespace hoplite::experiments {
namespace {

using Json = nlohmann::json;

constexpr absl::Duration kStartTimeout = absl::Seconds(60);

}  // namespace

Cluster::Cluster(testbed::Testbed& hosts, ClusterOptions options,
                 std::unique_ptr<cli::TemporaryFolder> sockets)
    : hosts_(hosts),
      options_(std::move(options)),
      sockets_(std::move(sockets)),
      nodes_(static_cast<std::size_t>(hosts.host_count())),
      kills_(nodes_.size()) {}

Cluster::~Cluster() {
  kills_.clear();
  nodes_.clear();
}

absl::StatusOr<std::unique_ptr<Cluster>> Cluster::Start(
    testbed::Testbed& hosts, const ClusterOptions& options) {
  HOPLITE_ASSIGN_OR_RETURN(std::unique_ptr<cli::TemporaryFolder> sockets,
                           cli::TemporaryFolder::Create());
  // No make_unique: the constructor is private.
  std::unique_ptr<Cluster> cluster(
      new Cluster(hosts, options, std::move(sockets)));
  HOPLITE_RETURN_IF_ERROR(cluster->StartNode(0));
  const absl::Time deadline = absl::Now() + kStartTimeout;
  for (int host = 1; host < hosts.host_count(); ++host) {
    HOPLITE_RETURN_IF_ERROR(cluster->Launch(host));
  }
  for (int host = 1; host < hosts.host_count(); ++host) {
    HOPLITE_RETURN_IF_ERROR(cluster->AwaitStart(host, deadline));
  }
  return cluster;
}

std::string Cluster::SocketOf(int host) const {
  return absl::StrCat(sockets_->path(), "/", host);
}

absl::Status Cluster::StartNode(int host) {
  HOPLITE_RETURN_IF_ERROR(Launch(host));
  return AwaitStart(host, absl::Now() + kStartTimeout);
}

absl::Status Cluster::Launch(int host) {
  const auto i = static_cast<std::size_t>(host);
  HOPLITE_ASSIGN_OR_RETURN(
      nodes_[i],
      hosts_.Start(
          host, {.arguments = {
                     options_.program, "start",
                     head_.empty() ? "--head" : absl::StrCat("--join=", head_),
                     absl::StrCat("--listen=", hosts_.address(host), ":0"),
                     absl::StrCat("--store=", options_.store_bytes),
                     absl::StrCat("--schedule=", options_.schedule),
                     absl::StrCat("--socket=", SocketOf(host)),
                     "--end-with-input", "--json"}}));
  kills_[i] = std::make_unique<cli::UndoAtSignal>(
      [pid = nodes_[i]->pid()] { kill(pid, SIGKILL); });
  return absl::OkStatus();
}

absl::Status Cluster::AwaitStart(int host, absl::Time deadline) {
  const auto line = nodes_[static_cast<std::size_t>(host)]->ReadLine(deadline);
  const Json started =
      line.ok() ? Json::parse(*line, nullptr, false) : Json::object();
  if (!started.is_object() || !started.contains("address")) {
    return absl::UnavailableError(
        absl::StrCat("the node on ", hosts_.name(host), " did not start: ",
                     line.ok() ? *line : std::string(line.status().message())));
  }
  if (head_.empty()) head_ = started.at("address").get<std::string>();
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<testbed::HostProcess>> Cluster::Run(
    int host, std::vector<std::string> arguments) {
  return hosts_.Start(
      host, {.arguments = std::move(arguments),
             .environment = {absl::StrCat("HOPLITE_NODE=", SocketOf(host))}});
}

void Cluster::KillNode(int host) {
  HOPLITE_CHECK(host > 0);
  const auto i = static_cast<std::size_t>(host);
  kills_[i].reset();
  nodes_[i].reset();
}

}  // namespace hoplite::experiments
