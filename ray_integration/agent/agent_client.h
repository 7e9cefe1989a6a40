// Asks agents what they know.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_RAY_INTEGRATION_AGENT_AGENT_CLIENT_H_
#define HOPLITE_RAY_INTEGRATION_AGENT_AGENT_CLIENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ray_integration/agent/node_trace.h"

namespace hoplite::task {

// As JSON; see agent_report.h. `socket` is the node's.
// Errors: kUnavailable where the node has no agent; kDeadlineExceeded.
absl::StatusOr<std::string> AgentReportOf(const std::string& socket,
                                          absl::Time deadline);

// Asks this node's agent, and through it those of all nodes that it knows.
// Errors: as above, of this node; others that do not answer in time are named
// in the result.
absl::StatusOr<ClusterTrace> ClusterTraceOf(const std::string& socket,
                                            absl::Time deadline);

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_AGENT_AGENT_CLIENT_H_
