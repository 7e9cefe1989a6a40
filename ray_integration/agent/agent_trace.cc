#include "ray_integration/agent/agent_trace.h"

#include <utility>

#include "ray_integration/wire/pack.h"

namespace hoplite::task {

void TakeSpans(const WorkerState& worker, TraceLog& log) {
  log.AddLeftOut(worker.memory->spans().Take(
      [&](std::string packed) { log.Add(worker.number, std::move(packed)); }));
}

void TakeLastSpans(const WorkerState& worker, const std::string& why,
                   absl::Time now, TraceLog& log) {
  TakeSpans(worker, log);
  const Begun begun = worker.memory->begun().Read();
  if (begun.result == ObjectId()) return;
  // What else is to be said of it was in the worker.
  const TaskSpan span{.result = begun.result,
                      .function = begun.function,
                      .caller = worker.lease.owner,
                      .begun = absl::ToUnixNanos(begun.since),
                      .ended = absl::ToUnixNanos(now),
                      .outcome = Outcome::kLost,
                      .error = why};
  std::string packed;
  Pack(span, packed);
  log.Add(worker.number, std::move(packed));
}

message::Trace AgentTrace(AgentState& state, const message::Nodes& nodes,
                          const std::vector<TransferRecord>& transfers) {
  for (const auto& [token, worker] : state.workers) {
    TakeSpans(worker, state.trace);
  }
  message::Trace trace{.node = nodes.nodes.front(),
                       .nodes = nodes.nodes,
                       .tasks = state.trace.Entries(),
                       .left_out = state.trace.left_out()};
  for (const TransferRecord& record : transfers) {
    trace.transfers.push_back({.object = record.object,
                               .server = record.server,
                               .bytes = record.bytes,
                               .begun = absl::ToUnixNanos(record.started),
                               .ended = absl::ToUnixNanos(record.ended),
                               .is_input = record.is_input,
                               .failed = record.failed});
  }
  return trace;
}

}  // namespace hoplite::task
