// The boundary of the task runtime: what the templates that users see ask of
// whatever runs their tasks.
//
// Everything here is about bytes and names. ray_integration/worker implements
// it over Hoplite; a double for tests runs tasks at once in the same process.
// Errors of tasks come out of Get; nothing that gives a Reference fails by
// itself, but gives one whose value is an error.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_RAY_INTEGRATION_API_RUNTIME_H_
#define HOPLITE_RAY_INTEGRATION_API_RUNTIME_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "hoplite/base/reduction.h"
#include "ray_integration/api/options.h"
#include "ray_integration/api/value.h"

namespace hoplite::task {

// One run of a registered function (ray_integration/api/registry.h).
struct Call {
  // Never one that is not registered here.
  std::string function;
  // Pieces of values are valid until the method that got this Call returns.
  std::vector<Argument> arguments;
  // Of an actor's call and of a factory: nothing is read here.
  TaskOptions options;
};

// References and actors that it is given are never null.
class Runtime {
 public:
  // The installed one. REQUIRES: Init was called (says so, and aborts).
  static Runtime& Current();
  // For Init and tests; null takes it away. REQUIRES: no call is under way.
  static void Install(Runtime* runtime);
  static bool IsInstalled();

  virtual ~Runtime() = default;

  // The reference is the task's result. Blocks while too many tasks of this
  // process are unanswered.
  virtual Reference Submit(Call call) = 0;
  // Runs the factory in a worker of its own, where the object then lives.
  virtual ActorReference CreateActor(Call factory, ActorOptions options) = 0;
  // Calls one of its methods, after all that this process called before.
  virtual Reference CallActor(const ActorReference& actor, Call call) = 0;

  // Copies the value. Errors: kResourceExhausted where the store is full.
  virtual absl::StatusOr<Reference> Put(const Encoded& value) = 0;
  // Errors: kDeadlineExceeded; kCancelled where this task was; that of the
  // task whose result it is.
  virtual absl::StatusOr<Stored> Get(const Reference& reference,
                                     absl::Duration timeout) = 0;
  // The first `k` that are ready (with a value or an error), or all that are
  // when the time is over: their indices, ascending.
  // REQUIRES: k <= references.size().
  virtual absl::StatusOr<std::vector<std::size_t>> Wait(
      std::span<const Reference> references, std::size_t k,
      absl::Duration timeout) = 0;

  // Folds the first `count` sources that are ready, or all. Elements are of
  // `type` in all sources; that their shapes agree is the runtime's to check.
  virtual Reference Reduce(std::vector<Reference> sources, ReduceOp op,
                           DataType type,
                           std::optional<std::uint32_t> count) = 0;
  // Waits until a reduction's result is final: which sources are in it.
  // Errors: as Get; kInvalidArgument where it is no reduction's result.
  virtual absl::StatusOr<std::vector<ObjectId>> ReducedRefs(
      const Reference& target, absl::Duration timeout) = 0;

  // A queued task goes; a running one sees it, or with force is killed.
  virtual void Cancel(const Reference& reference, bool force) = 0;
  virtual void Kill(const ActorReference& actor) = 0;
  // Of the task that runs on this thread; false where none does.
  virtual bool IsCancelled() = 0;

  // A result that is an error from the start. REQUIRES: !why.ok().
  virtual Reference FailedReference(absl::Status why) = 0;
  // An actor that never was: each call of it gives a result with `why`.
  virtual ActorReference FailedActor(absl::Status why) = 0;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_API_RUNTIME_H_
