#include "ray_integration/agent/agent_client.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hoplite/base/status_macros.h"
#include "ray_integration/agent/agent_question.h"
#include "ray_integration/link/poller.h"
#include "ray_integration/wire/pack.h"

namespace hoplite::task {
namespace {

std::string AddressOf(const std::string& socket) {
  return absl::StrCat("unix:", socket, ".tasks");
}

NodeTrace ToNodeTrace(message::Trace answer) {
  NodeTrace trace{.node = std::move(answer.node),
                  .transfers = std::move(answer.transfers),
                  .left_out = answer.left_out};
  for (const auto& [worker, packed] : answer.tasks) {
    RanTask& task = trace.tasks.emplace_back();
    task.worker = worker;
    Unpacker unpacker(packed);
    unpacker.Take(task.span);
    if (!unpacker.AtEnd()) trace.tasks.pop_back();
  }
  return trace;
}

}  // namespace

absl::StatusOr<std::string> AgentReportOf(const std::string& socket,
                                          absl::Time deadline) {
  HOPLITE_ASSIGN_OR_RETURN(const std::unique_ptr<Poller> poller,
                           Poller::Create());
  const AgentQuestion<message::Report> question(*poller, AddressOf(socket));
  poller->Wait([&] { return question.answered(); }, deadline);
  poller->Stop();
  HOPLITE_ASSIGN_OR_RETURN(message::Report report, question.answer());
  return std::move(report.text);
}

absl::StatusOr<ClusterTrace> ClusterTraceOf(const std::string& socket,
                                            absl::Time deadline) {
  HOPLITE_ASSIGN_OR_RETURN(const std::unique_ptr<Poller> poller,
                           Poller::Create());
  const AgentQuestion<message::Trace> own(*poller, AddressOf(socket));
  poller->Wait([&] { return own.answered(); }, deadline);
  HOPLITE_ASSIGN_OR_RETURN(message::Trace first, own.answer());
  // The others all at once.
  std::vector<std::pair<NodeInfo, AgentQuestion<message::Trace>>> others;
  others.reserve(first.nodes.size());
  for (const NodeInfo& node : first.nodes) {
    if (node.node == first.node.node || node.agent_address.empty()) continue;
    others.emplace_back(
        node, AgentQuestion<message::Trace>(*poller, node.agent_address));
  }
  poller->Wait(
      [&] {
        for (const auto& [node, question] : others) {
          if (!question.answered()) return false;
        }
        return true;
      },
      deadline);
  poller->Stop();
  ClusterTrace trace;
  trace.nodes.push_back(ToNodeTrace(std::move(first)));
  for (const auto& [node, question] : others) {
    absl::StatusOr<message::Trace> answer = question.answer();
    if (answer.ok()) {
      trace.nodes.push_back(ToNodeTrace(*std::move(answer)));
    } else {
      trace.silent.push_back(node);
    }
  }
  return trace;
}

}  // namespace hoplite::task
