// What has run on the nodes of a cluster, as their agents tell it.
//
// Thread safety: values; as safe as int.

#ifndef HOPLITE_RAY_INTEGRATION_AGENT_NODE_TRACE_H_
#define HOPLITE_RAY_INTEGRATION_AGENT_NODE_TRACE_H_

#include <cstdint>
#include <vector>

#include "ray_integration/base/process_id.h"
#include "ray_integration/wire/trace_message.h"
#include "ray_integration/wire/values.h"

namespace hoplite::task {

struct RanTask {
  WorkerNumber worker;
  TaskSpan span;
};

struct NodeTrace {
  NodeInfo node;
  std::vector<RanTask> tasks;           // in the order of their ends, by worker
  std::vector<TransferSpan> transfers;  // into it
  std::uint64_t left_out = 0;           // tasks for which there was no room
};

struct ClusterTrace {
  std::vector<NodeTrace> nodes;
  std::vector<NodeInfo> silent;  // did not answer
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_AGENT_NODE_TRACE_H_
