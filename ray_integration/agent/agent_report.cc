#include "ray_integration/agent/agent_report.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace hoplite::task {
namespace {

nlohmann::json ToJson(const Resources& resources) {
  constexpr double kMilli = 1000;
  nlohmann::json amounts = nlohmann::json::object();
  for (const Resource& one : resources.amounts()) {
    amounts[one.name] = static_cast<double>(one.milli) / kMilli;
  }
  return amounts;
}

nlohmann::json ProcessReport(const AgentState& state, WorkerNumber number,
                             const Peer& peer, absl::Time now) {
  const bool is_driver = peer.role == message::Role::kDriver;
  nlohmann::json report = {{"number", number.value()}, {"driver", is_driver}};
  const auto program = state.programs.find(peer.program);
  if (program != state.programs.end()) {
    report["program"] = program->second.info.path;
  }
  const auto token = state.tokens.find(number);
  if (token == state.tokens.end()) return report;
  const WorkerState& worker = state.workers.at(token->second);
  const Begun begun = worker.memory->begun().Read();
  const bool runs = begun.result != ObjectId();
  report["leased_by"] = worker.lease ? ToString(worker.lease.owner) : "";
  report["actor"] = begun.actor;
  report["running"] = runs ? begun.result.ToHex() : "";
  report["function"] = runs ? begun.function : "";
  report["running_seconds"] =
      runs ? absl::ToDoubleSeconds(now - begun.since) : 0.0;
  return report;
}

}  // namespace

std::string AgentReport(const AgentState& state, const std::string& host,
                        absl::Time now) {
  const SchedulerStatus status = state.scheduler.Status();
  nlohmann::json report = {{"host", host},
                           {"node", state.self.ref.node.value()},
                           {"free", ToJson(status.free)},
                           {"total", ToJson(status.total)},
                           {"queued", status.queued},
                           {"idle", status.idle},
                           {"leased", status.leased},
                           {"blocked", status.blocked},
                           {"actors", status.actors},
                           {"starting", status.starting},
                           {"processes", nlohmann::json::array()}};
  std::map<WorkerNumber, nlohmann::json> processes;
  for (const auto& [process, peer] : state.processes) {
    if (process.node != state.self.ref) continue;
    processes[process.worker] =
        ProcessReport(state, process.worker, *peer, now);
  }
  for (auto& [number, process] : processes) {
    report["processes"].push_back(std::move(process));
  }
  return report.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace hoplite::task
