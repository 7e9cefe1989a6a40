// A Runtime for tests, that runs each task at once where it is submitted.
//
// Values are kept in memory of their own, as bytes, so that everything is
// encoded and decoded as it would be between processes. Nothing ever waits:
// whatever there is a reference to is ready.
//
// Thread safety: one thread at a time.

#ifndef HOPLITE_RAY_INTEGRATION_API_TESTING_LOCAL_RUNTIME_H_
#define HOPLITE_RAY_INTEGRATION_API_TESTING_LOCAL_RUNTIME_H_

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
#include "ray_integration/api/options.h"
#include "ray_integration/api/registry.h"
#include "ray_integration/api/runtime.h"
#include "ray_integration/api/value.h"

namespace hoplite::task {

class LocalRuntime final : public Runtime {
 public:
  // Is the current one as long as it lives.
  LocalRuntime() { Install(this); }
  ~LocalRuntime() override { Install(nullptr); }

  Reference Submit(Call call) override;
  ActorReference CreateActor(Call factory, ActorOptions options) override;
  Reference CallActor(const ActorReference& actor, Call call) override;
  absl::StatusOr<Reference> Put(const Encoded& value) override;
  absl::StatusOr<Stored> Get(const Reference& reference,
                             absl::Duration timeout) override;
  absl::StatusOr<std::vector<std::size_t>> Wait(
      std::span<const Reference> references, std::size_t k,
      absl::Duration timeout) override;
  Reference Reduce(std::vector<Reference> sources, ReduceOp op, DataType type,
                   std::optional<std::uint32_t> count) override;
  absl::StatusOr<std::vector<ObjectId>> ReducedRefs(
      const Reference& target, absl::Duration timeout) override;
  void Cancel(const Reference& reference, bool force) override;
  void Kill(const ActorReference& actor) override;
  bool IsCancelled() override { return cancels_ > 0; }
  Reference FailedReference(absl::Status why) override;
  ActorReference FailedActor(absl::Status why) override;

  // Values lie so many bytes behind an aligned address, as in a message.
  void set_misalignment(std::size_t bytes) { misalignment_ = bytes; }
  // From now on every Put ends with it.
  void FailPuts(absl::Status why) { put_error_ = std::move(why); }
  // With what the last task or actor was submitted.
  const TaskOptions& task_options() const { return task_options_; }
  const ActorOptions& actor_options() const { return actor_options_; }
  // How often a function or method has run.
  int runs() const { return runs_; }
  // How many references were cancelled, with force or without.
  int cancels() const { return cancels_; }

 private:
  Stored Store(const Encoded& value) const;
  Reference Keep(absl::StatusOr<Stored> value,
                 std::vector<ObjectId> reduced = {});
  absl::StatusOr<Stored> Run(const Call& call, Instance& instance);
  ObjectId NextId();

  std::uint64_t ids_ = 0;
  std::size_t misalignment_ = 0;
  absl::Status put_error_;
  TaskOptions task_options_;
  ActorOptions actor_options_;
  int runs_ = 0;
  int cancels_ = 0;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_API_TESTING_LOCAL_RUNTIME_H_
