// What an agent says of its node's tasks, as JSON: for `hoplite status`.
//
// Thread safety: the agent's lock.

#ifndef HOPLITE_RAY_INTEGRATION_AGENT_AGENT_REPORT_H_
#define HOPLITE_RAY_INTEGRATION_AGENT_AGENT_REPORT_H_

#include <string>

#include "absl/time/time.h"
#include "ray_integration/agent/agent_state.h"

namespace hoplite::task {

// One object on one line: host, resources, counts of the scheduler, and the
// processes, in the order of their numbers, with what they run and since when.
std::string AgentReport(const AgentState& state, const std::string& host,
                        absl::Time now);

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_AGENT_AGENT_REPORT_H_
