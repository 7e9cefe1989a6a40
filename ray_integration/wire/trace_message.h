// What is said of tasks that have run, and of transfers, for traces.
//
// Thread safety: values; as safe as int.
// Units: bytes; times in nanoseconds since 1970, by the clock of the node
// where it was.

#ifndef HOPLITE_RAY_INTEGRATION_WIRE_TRACE_MESSAGE_H_
#define HOPLITE_RAY_INTEGRATION_WIRE_TRACE_MESSAGE_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "hoplite/base/id.h"
#include "ray_integration/base/process_id.h"
#include "ray_integration/wire/values.h"

namespace hoplite::task {

enum class Outcome : std::uint8_t {
  kDone,
  kFailed,     // its result is an error
  kCancelled,  // likewise
  kLost,       // its worker died
};
constexpr Outcome LastOf(Outcome) { return Outcome::kLost; }

// One attempt of a task, or one call of an actor, from its begin to its end.
struct TaskSpan {
  ObjectId result;
  std::uint32_t attempt = 0;
  ObjectId actor;        // none: a task
  bool creates = false;  // it made the actor
  std::string function;
  ProcessId caller;
  std::uint32_t depth = 0;
  std::int64_t begun = 0;
  std::int64_t ended = 0;
  Outcome outcome = Outcome::kDone;
  std::string error;             // the beginning of its message
  std::uint64_t bytes = 0;       // of its result
  std::vector<ObjectId> inputs;  // the arguments by reference
  auto Fields() {
    return std::tie(result, attempt, actor, creates, function, caller, depth,
                    begun, ended, outcome, error, bytes, inputs);
  }
};

// One pull into a node.
struct TransferSpan {
  ObjectId object;  // of an input of a reduction: its target
  NodeRef server;
  std::uint64_t bytes = 0;
  std::int64_t begun = 0;
  std::int64_t ended = 0;
  bool is_input = false;
  bool failed = false;
  auto Fields() {
    return std::tie(object, server, bytes, begun, ended, is_input, failed);
  }
};

namespace message {

// Worker to its agent: half of the memory for spans is full.
struct SpansWait {
  auto Fields() { return std::tie(); }
};

// Whoever asks an agent, and its answer.
struct Trace {
  NodeInfo node;
  std::vector<NodeInfo> nodes;  // all that it knows, itself among them
  // Each a TaskSpan as Pack makes it, and who ran it.
  std::vector<std::pair<WorkerNumber, std::string>> tasks;
  std::vector<TransferSpan> transfers;
  std::uint64_t left_out = 0;  // tasks for which there was no room
  auto Fields() { return std::tie(node, nodes, tasks, transfers, left_out); }
};

}  // namespace message
}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_WIRE_TRACE_MESSAGE_H_
