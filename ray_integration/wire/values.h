// What travels of values, references and tasks, within the messages.
//
// Thread safety: values; as safe as int.
// Units: bytes.

#ifndef HOPLITE_RAY_INTEGRATION_WIRE_VALUES_H_
#define HOPLITE_RAY_INTEGRATION_WIRE_VALUES_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "hoplite/base/id.h"
#include "ray_integration/base/process_id.h"

namespace hoplite::task {

// A process, and where it listens for others: over TCP; those of its own node
// find its Unix socket by its number.
struct Endpoint {
  ProcessId process;
  std::string address;
  auto Fields() { return std::tie(process, address); }
};

// A reference on its way; its owner is in the id, its address here. Also that
// of an actor.
struct ReferenceInfo {
  ObjectId id;
  std::string owner_address;
  auto Fields() { return std::tie(id, owner_address); }
};

// What went wrong; absl::OkStatus() where nothing did.
struct ErrorInfo {
  std::uint8_t code = 0;
  std::string message;
  auto Fields() { return std::tie(code, message); }
};
ErrorInfo ToInfo(const absl::Status& status);
// An unknown code becomes kUnknown.
absl::Status ToStatus(const ErrorInfo& info);

// A value: its bytes, where it is small, or where they are.
struct ValueInfo {
  bool in_store = false;  // else `bytes` has them
  std::string bytes;
  std::uint64_t size = 0;
  std::string meta;                       // type and shape; see api/codec.h
  NodeRef location;                       // in the store: the node that made it
  std::vector<ReferenceInfo> references;  // those inside
  std::vector<ReferenceInfo> actors;      // likewise
  auto Fields() {
    return std::tie(in_store, bytes, size, meta, location, references, actors);
  }
};

// An argument: a value, or a reference to one, whose value may stand beside it.
struct ArgumentInfo {
  ReferenceInfo reference;  // none: only the value
  bool has_value = false;
  ValueInfo value;
  auto Fields() { return std::tie(reference, has_value, value); }
};

// One attempt of a task, or one call of an actor.
struct TaskInfo {
  ObjectId result;
  std::uint32_t attempt = 0;
  std::string function;
  std::uint32_t depth = 0;
  std::vector<ArgumentInfo> arguments;
  ObjectId actor;                 // none: a task; else whose method it is
  std::uint32_t incarnation = 0;  // of that actor
  std::uint64_t sequence = 0;     // of its caller's calls, from 1
  std::uint64_t answered = 0;     // those below have been answered
  bool creates = false;           // its function is the actor's factory
  auto Fields() {
    return std::tie(result, attempt, function, depth, arguments, actor,
                    incarnation, sequence, answered, creates);
  }
};

// Names and thousandths.
using ResourceList = std::vector<std::pair<std::string, std::int64_t>>;

// A program whose workers a node starts.
struct ProgramInfo {
  std::string path;
  std::vector<std::string> arguments;
  std::string folder;
  std::vector<std::string> environment;
  std::string build;  // two builds do not work together
  auto Fields() {
    return std::tie(path, arguments, folder, environment, build);
  }
};
// The same text for the same program, owner and all.
std::string KeyOf(const ProgramInfo& program, const ProcessId& driver);

struct NodeInfo {
  NodeRef node;
  std::string host;
  std::string agent_address;
  auto Fields() { return std::tie(node, host, agent_address); }
  friend bool operator==(const NodeInfo&, const NodeInfo&) = default;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_WIRE_VALUES_H_
