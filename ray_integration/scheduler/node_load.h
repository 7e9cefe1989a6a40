// A node's row in the table of free resources that the head spreads.
//
// Thread safety: values; as safe as int.

#ifndef HOPLITE_RAY_INTEGRATION_SCHEDULER_NODE_LOAD_H_
#define HOPLITE_RAY_INTEGRATION_SCHEDULER_NODE_LOAD_H_

#include <cstdint>
#include <string>

#include "hoplite/base/id.h"
#include "ray_integration/scheduler/resources.h"

namespace hoplite::task {

struct NodeLoad {
  NodeRef node;
  std::string host;  // the name that tasks may ask for
  Resources free;    // nothing that a request there waits for
  Resources total;
  std::uint32_t queued = 0;  // requests that wait there
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_SCHEDULER_NODE_LOAD_H_
