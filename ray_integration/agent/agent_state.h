// What an agent knows in one life of its node.
//
// Thread safety: none; the agent's lock.

#ifndef HOPLITE_RAY_INTEGRATION_AGENT_AGENT_STATE_H_
#define HOPLITE_RAY_INTEGRATION_AGENT_AGENT_STATE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "hoplite/api/buffer.h"
#include "hoplite/core/directory/shard_map.h"
#include "ray_integration/agent/trace_log.h"
#include "ray_integration/base/process_id.h"
#include "ray_integration/link/link.h"
#include "ray_integration/scheduler/scheduler.h"
#include "ray_integration/wire/message.h"
#include "ray_integration/worker/worker_memory.h"

namespace hoplite::task {

// The other end of a link.
struct Peer {
  std::weak_ptr<Link> link;
  message::Role role = message::Role::kObserver;
  bool introduced = false;
  Endpoint from;            // a process; of an agent, its node only
  std::string program;      // the key of the workers that it wants
  std::uint64_t token = 0;  // of a worker of this node

  void Send(const Message& message) const {
    if (const LinkPtr to = link.lock()) to->Send(ToFrame(message));
  }
};
using PeerPtr = std::shared_ptr<Peer>;

// A worker of this node, from its start on.
struct WorkerState {
  StartId start;
  std::string program;
  std::unique_ptr<WorkerMemory> memory;
  WorkerNumber number;  // none until it has said hello
  Endpoint endpoint;
  LeaseId lease;  // or none
};

// The program of a driver.
struct ProgramState {
  ProgramInfo info;
  ProcessId driver;
  std::string driver_address;
};

struct AgentState {
  explicit AgentState(SchedulerConfig config) : scheduler(std::move(config)) {}

  Member self;
  Scheduler scheduler;
  std::map<NodeRef, Member> members;  // the others
  std::map<NodeRef, message::Load> loads;
  std::uint32_t last_number = 0;  // of a process of this node
  std::map<std::string, ProgramState> programs;
  std::map<std::uint64_t, WorkerState> workers;  // by token
  absl::flat_hash_map<WorkerNumber, std::uint64_t> tokens;
  absl::flat_hash_map<ProcessId, PeerPtr> processes;  // said hello here
  absl::flat_hash_map<NodeRef, LinkPtr> agents;
  std::vector<Message> unsent;  // to all, while the head is away
  absl::flat_hash_map<FetchId, std::vector<Future<Buffer>>> fetches;
  TraceLog trace;
  absl::Time next_tick = absl::InfiniteFuture();
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_AGENT_AGENT_STATE_H_
