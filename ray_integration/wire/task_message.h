// What owners, workers and borrowers say to each other.
//
// Thread safety: values; as safe as int.
// Units: bytes.

#ifndef HOPLITE_RAY_INTEGRATION_WIRE_TASK_MESSAGE_H_
#define HOPLITE_RAY_INTEGRATION_WIRE_TASK_MESSAGE_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "hoplite/base/id.h"
#include "ray_integration/base/process_id.h"
#include "ray_integration/wire/values.h"

namespace hoplite::task::message {

// Owner to the worker that it leases, or to an actor.
struct PushTask {
  TaskInfo task;
  auto Fields() { return std::tie(task); }
};
// Its answer: a value or an error.
struct TaskAnswer {
  ObjectId result;
  std::uint32_t attempt = 0;
  ErrorInfo error;
  ValueInfo value;
  std::vector<ObjectId> reduced;  // of a plain Reduce: the sources that went in
  std::uint32_t run_micros = 0;
  bool receipt = false;  // wanted: the value holds references
  auto Fields() {
    return std::tie(result, attempt, error, value, reduced, run_micros,
                    receipt);
  }
};
// Owner to worker: what the value refers to is held.
struct TaskReceipt {
  ObjectId result;
  auto Fields() { return std::tie(result); }
};
// Owner to worker: hand back what is not begun; and the answer, which a worker
// also gives of itself before it waits.
struct ReturnTasks {
  auto Fields() { return std::tie(); }
};
struct TasksReturned {
  std::vector<ObjectId> results;
  auto Fields() { return std::tie(results); }
};
struct CancelTask {
  ObjectId result;
  auto Fields() { return std::tie(result); }
};

// Borrower to owner: tell me of it, now where it is known, and as it changes.
struct Subscribe {
  ObjectId id;
  auto Fields() { return std::tie(id); }
};
enum class ObjectPhase : std::uint8_t { kPending, kReady, kFailed };
constexpr ObjectPhase LastOf(ObjectPhase) { return ObjectPhase::kFailed; }
struct ObjectState {
  ObjectId id;
  ObjectPhase phase = ObjectPhase::kPending;
  ValueInfo value;
  ErrorInfo error;
  std::vector<ObjectId> reduced;  // of a target: the sources that went in
  auto Fields() { return std::tie(id, phase, value, error, reduced); }
};

// Borrower to owner: I hold it. Answered.
struct Borrow {
  ObjectId id;
  auto Fields() { return std::tie(id); }
};
struct Borrowed {
  ObjectId id;
  auto Fields() { return std::tie(id); }
};
// Borrower to owner: I hold it no more.
struct Release {
  ObjectId id;
  auto Fields() { return std::tie(id); }
};
// Borrower to owner: its bytes are gone.
struct Lost {
  ObjectId id;
  auto Fields() { return std::tie(id); }
};
// Borrower to owner: a Reduce names it, put it into the store.
struct Store {
  ObjectId id;
  auto Fields() { return std::tie(id); }
};

// Caller to an actor's owner: where is it, and tell me when it changes.
struct WatchActor {
  ObjectId actor;
  auto Fields() { return std::tie(actor); }
};
enum class ActorPhase : std::uint8_t { kStarting, kAlive, kEnded };
constexpr ActorPhase LastOf(ActorPhase) { return ActorPhase::kEnded; }
struct ActorIs {
  ObjectId actor;
  ActorPhase phase = ActorPhase::kStarting;
  Endpoint at;
  std::uint32_t incarnation = 0;
  bool retry_calls = false;
  ErrorInfo why;  // it ended
  auto Fields() {
    return std::tie(actor, phase, at, incarnation, retry_calls, why);
  }
};
struct KillActor {
  ObjectId actor;
  auto Fields() { return std::tie(actor); }
};

}  // namespace hoplite::task::message

#endif  // HOPLITE_RAY_INTEGRATION_WIRE_TASK_MESSAGE_H_
