// What processes and agents, and agents among themselves, say to each other.
//
// Thread safety: values; as safe as int.
// Units: bytes; resources in thousandths.

#ifndef HOPLITE_RAY_INTEGRATION_WIRE_LEASE_MESSAGE_H_
#define HOPLITE_RAY_INTEGRATION_WIRE_LEASE_MESSAGE_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "hoplite/base/id.h"
#include "ray_integration/base/process_id.h"
#include "ray_integration/wire/values.h"

namespace hoplite::task::message {

inline constexpr std::uint32_t kProtocolVersion = 1;

enum class Role : std::uint8_t { kDriver, kWorker, kAgent, kObserver };
constexpr Role LastOf(Role) { return Role::kObserver; }

// The first frame of each side. A process that is not known yet to its own
// node's agent has no worker number, and is answered with Registered.
struct Hello {
  std::uint32_t version = kProtocolVersion;
  Role role = Role::kWorker;
  Endpoint from;
  std::int64_t process = 0;  // its number on its host
  std::uint64_t token = 0;   // of a worker: what its agent started it with
  ProgramInfo program;       // to agents: whose workers are wanted
  Endpoint driver;           // to agents, of a worker: for whom it works
  auto Fields() {
    return std::tie(version, role, from, process, token, program, driver);
  }
};

// Agent to a process of its node.
struct Registered {
  ProcessId process;
  std::string sockets;  // where a worker number is added: its Unix socket
  ErrorInfo error;
  bool plain = false;             // transport=plain
  std::uint64_t small_bytes = 0;  // what travels with tasks and answers
  std::string host;
  Endpoint driver;  // of a worker
  auto Fields() {
    return std::tie(process, sockets, error, plain, small_bytes, host, driver);
  }
};

struct LeaseArgument {
  ObjectId id;
  std::uint64_t size = 0;
  NodeRef location;
  auto Fields() { return std::tie(id, size, location); }
};

// Owner to agent, answered by one of the next three. The numbers are the
// owner's.
struct LeaseRequest {
  std::uint64_t number = 0;
  ResourceList resources;
  std::uint32_t depth = 0;
  std::vector<LeaseArgument> arguments;
  std::string host;
  bool spread = false;
  bool actor = false;
  std::uint32_t hops = 0;
  auto Fields() {
    return std::tie(number, resources, depth, arguments, host, spread, actor,
                    hops);
  }
};
struct LeaseWithdraw {
  std::uint64_t number = 0;
  auto Fields() { return std::tie(number); }
};
struct LeaseGranted {
  std::uint64_t number = 0;
  Endpoint worker;
  auto Fields() { return std::tie(number, worker); }
};
struct LeaseForwarded {
  std::uint64_t number = 0;
  NodeInfo to;
  auto Fields() { return std::tie(number, to); }
};
struct LeaseRefused {
  std::uint64_t number = 0;
  ErrorInfo error;
  auto Fields() { return std::tie(number, error); }
};

// Owner to agent: done with the worker.
struct LeaseReturn {
  WorkerNumber worker;
  auto Fields() { return std::tie(worker); }
};
// Agent to owner: others wait for it.
struct LeaseReclaim {
  WorkerNumber worker;
  auto Fields() { return std::tie(worker); }
};
// Owner to agent: kill it. Answered by WorkerEnded, as every death is.
struct EndWorker {
  WorkerNumber worker;
  auto Fields() { return std::tie(worker); }
};
// Agent to the owner that has the lease. `begun` is the result of the task
// that it ran.
struct WorkerEnded {
  ProcessId worker;
  std::string why;
  ObjectId begun;
  auto Fields() { return std::tie(worker, why, begun); }
};

// Worker to its agent: its thread waits, and goes on.
struct Blocked {
  auto Fields() { return std::tie(); }
};
struct Resumed {
  auto Fields() { return std::tie(); }
};

// Worker to its agent, which would end it for idleness: whether others need
// what it owns.
struct Owns {
  bool owns = false;
  auto Fields() { return std::tie(owns); }
};

// Agent to the processes of its node: who lives.
struct Nodes {
  std::vector<NodeInfo> nodes;
  auto Fields() { return std::tie(nodes); }
};
// Agent to the head's agent, that to all agents, those to their processes. No
// worker number: all processes of the node.
struct ProcessEnded {
  ProcessId process;
  std::string why;
  auto Fields() { return std::tie(process, why); }
};

// What a node has free. To the head's agent, and from there to all.
struct Load {
  NodeRef node;
  ResourceList free;
  ResourceList total;
  std::uint32_t queued = 0;
  std::string host;
  std::uint32_t last_number = 0;  // of its processes
  auto Fields() {
    return std::tie(node, free, total, queued, host, last_number);
  }
};
struct Loads {
  std::vector<Load> loads;
  auto Fields() { return std::tie(loads); }
};

// Agent to the driver: a line that one of its workers has written.
struct Output {
  ProcessId process;
  std::string host;
  bool error = false;  // standard error
  std::string line;
  auto Fields() { return std::tie(process, host, error, line); }
};

// Whoever asks an agent, and its answer, as JSON.
struct Report {
  std::string text;
  auto Fields() { return std::tie(text); }
};

}  // namespace hoplite::task::message

#endif  // HOPLITE_RAY_INTEGRATION_WIRE_LEASE_MESSAGE_H_
