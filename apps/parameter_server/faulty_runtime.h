// A task runtime for tests in which actors die and tasks fail, as told.
//
// All else is done at once, in this process, by LocalRuntime. So whoever is
// given first in a reduction is in it.
//
// Thread safety: one thread at a time.

#ifndef HOPLITE_APPS_PARAMETER_SERVER_FAULTY_RUNTIME_H_
#define HOPLITE_APPS_PARAMETER_SERVER_FAULTY_RUNTIME_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "hoplite/base/reduction.h"
#include "ray_integration/api/runtime.h"
#include "ray_integration/api/testing/local_runtime.h"
#include "ray_integration/api/value.h"

namespace hoplite::apps {

class FaultyRuntime final : public task::Runtime {
 public:
  // Is the current one as long as it lives.
  FaultyRuntime() { Install(this); }
  ~FaultyRuntime() override { Install(nullptr); }

  // Every so many calls, from now on, the actor dies of the call; 0: none.
  void KillAtEvery(int calls) { kill_at_every_ = calls; }
  // The task that is submitted after so many others fails.
  void FailTask(int after) { fail_task_at_ = tasks_ + after; }

  task::Reference Submit(task::Call call) override {
    if (tasks_++ == fail_task_at_) return FailedReference(Death());
    return local_.Submit(std::move(call));
  }
  task::ActorReference CreateActor(task::Call factory,
                                   task::ActorOptions options) override {
    return local_.CreateActor(std::move(factory), std::move(options));
  }
  task::Reference CallActor(const task::ActorReference& actor,
                            task::Call call) override {
    if (kill_at_every_ > 0 && ++calls_ % kill_at_every_ == 0) {
      local_.Kill(actor);
    }
    return local_.CallActor(actor, std::move(call));
  }
  absl::StatusOr<task::Reference> Put(const task::Encoded& value) override {
    return local_.Put(value);
  }
  absl::StatusOr<task::Stored> Get(const task::Reference& reference,
                                   absl::Duration timeout) override {
    return local_.Get(reference, timeout);
  }
  absl::StatusOr<std::vector<std::size_t>> Wait(
      std::span<const task::Reference> references, std::size_t k,
      absl::Duration timeout) override {
    return local_.Wait(references, k, timeout);
  }
  task::Reference Reduce(std::vector<task::Reference> sources, ReduceOp op,
                         DataType type,
                         std::optional<std::uint32_t> count) override {
    return local_.Reduce(std::move(sources), op, type, count);
  }
  absl::StatusOr<std::vector<ObjectId>> ReducedRefs(
      const task::Reference& target, absl::Duration timeout) override {
    return local_.ReducedRefs(target, timeout);
  }
  void Cancel(const task::Reference& reference, bool force) override {
    local_.Cancel(reference, force);
  }
  void Kill(const task::ActorReference& actor) override { local_.Kill(actor); }
  bool IsCancelled() override { return local_.IsCancelled(); }
  task::Reference FailedReference(absl::Status why) override {
    return local_.FailedReference(std::move(why));
  }
  task::ActorReference FailedActor(absl::Status why) override {
    return local_.FailedActor(std::move(why));
  }

 private:
  static absl::Status Death() {
    return absl::UnavailableError("the worker died");
  }

  task::LocalRuntime local_;
  int kill_at_every_ = 0;
  int calls_ = 0;
  int fail_task_at_ = -1;
  int tasks_ = 0;
};

}  // namespace hoplite::apps

#endif  // HOPLITE_APPS_PARAMETER_SERVER_FAULTY_RUNTIME_H_
