// What an owner asks a node for: a worker for a task, and what the task needs.
//
// Thread safety: values; as safe as int.
// Units: bytes.

#ifndef HOPLITE_RAY_INTEGRATION_SCHEDULER_LEASE_REQUEST_H_
#define HOPLITE_RAY_INTEGRATION_SCHEDULER_LEASE_REQUEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "hoplite/base/id.h"
#include "ray_integration/scheduler/lease_id.h"
#include "ray_integration/scheduler/resources.h"

namespace hoplite::task {

// A by-reference argument.
struct LeaseArgument {
  ObjectId object;
  std::uint64_t bytes = 0;     // 0: not known
  std::vector<NodeRef> nodes;  // where copies were last known to be
};

struct LeaseRequest {
  LeaseId lease;
  // The build, path and environment that its worker has to be of, as a key.
  std::string program;
  Resources need;
  std::uint32_t depth = 0;  // of the task: its parent's + 1
  std::vector<LeaseArgument> arguments;
  std::string host;        // where it has to run; empty: anywhere
  bool spread = false;     // over all nodes, in turn
  bool for_actor = false;  // the lease is kept until the actor ends
  std::uint32_t hops = 0;  // how often it was forwarded
};

// How often a request may be handed on.
inline constexpr std::uint32_t kHopsMax = 2;
// More is refused as invalid.
inline constexpr std::uint32_t kArgumentsMax = 10'000;
inline constexpr std::uint32_t kResourceKindsMax = 32;

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_SCHEDULER_LEASE_REQUEST_H_
