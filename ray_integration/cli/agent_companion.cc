// Lets `hoplite start` run a node's agent, `hoplite status` show its
// tasks, and `hoplite trace` write what has run.

#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/companion.h"
#include "ray_integration/agent/agent.h"
#include "ray_integration/agent/agent_client.h"
#include "ray_integration/cli/chrome_trace.h"
#include "ray_integration/cli/task_text.h"

namespace hoplite::task {
namespace {

class AgentCompanion final : public cli::Companion {
 public:
  explicit AgentCompanion(std::unique_ptr<Agent> agent)
      : agent_(std::move(agent)) {}

  absl::Status Begin(NodeServer& node) override { return agent_->Attach(node); }
  void End() override { agent_->Stop(); }

 private:
  const std::unique_ptr<Agent> agent_;
};

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

absl::StatusOr<std::unique_ptr<cli::Companion>> Make(
    const std::string& resources, NodeOptions& options) {
  AgentOptions agent_options{.host = HostName(),
                             .store_bytes = options.store_bytes};
  HOPLITE_ASSIGN_OR_RETURN(agent_options.total, ParseResources(resources));
  if (agent_options.total.milli(kCpu) == 0) {
    const unsigned processors = std::thread::hardware_concurrency();
    agent_options.total.Add(Resources::Cpus(processors > 0 ? processors : 1));
  }
  HOPLITE_ASSIGN_OR_RETURN(std::unique_ptr<Agent> agent,
                           Agent::Create(agent_options));
  options.agent_address = agent->address();
  options.membership_observer = agent.get();
  return std::make_unique<AgentCompanion>(std::move(agent));
}

absl::StatusOr<cli::CompanionTrace> Trace(const std::string& socket,
                                          absl::Time deadline) {
  HOPLITE_ASSIGN_OR_RETURN(const ClusterTrace cluster,
                           ClusterTraceOf(socket, deadline));
  cli::CompanionTrace trace{.text = ChromeTrace(cluster.nodes),
                            .nodes = cluster.nodes.size()};
  for (const NodeTrace& node : cluster.nodes) {
    trace.tasks += node.tasks.size();
    trace.transfers += node.transfers.size();
    trace.left_out += node.left_out;
  }
  for (const NodeInfo& node : cluster.silent) {
    trace.silent.push_back(ToString(node.node.node));
  }
  return trace;
}

const bool registered = [] {
  cli::SetCompanion({.make = Make,
                     .report = AgentReportOf,
                     .text = TaskText,
                     .trace = Trace});
  return true;
}();

}  // namespace
}  // namespace hoplite::task
