// What an agent gathers of what has run on its node, and tells who asks.
//
// Thread safety: the agent's lock.

#ifndef HOPLITE_RAY_INTEGRATION_AGENT_AGENT_TRACE_H_
#define HOPLITE_RAY_INTEGRATION_AGENT_AGENT_TRACE_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "hoplite/runtime/transfer_log.h"
#include "ray_integration/agent/agent_state.h"
#include "ray_integration/agent/trace_log.h"
#include "ray_integration/wire/message.h"

namespace hoplite::task {

// What the worker has written.
void TakeSpans(const WorkerState& worker, TraceLog& log);
// The same of one that has ended, and the task that it died in.
void TakeLastSpans(const WorkerState& worker, const std::string& why,
                   absl::Time now, TraceLog& log);

// All that is known, of tasks that run now nothing. `nodes` has this one first.
message::Trace AgentTrace(AgentState& state, const message::Nodes& nodes,
                          const std::vector<TransferRecord>& transfers);

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_AGENT_AGENT_TRACE_H_
