#include "ray_integration/api/testing/local_runtime.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "hoplite/base/id.h"
#include "hoplite/kernels/fold.h"
#include "ray_integration/api/task_error.h"
#include "ray_integration/base/process_id.h"

namespace hoplite::task {
namespace {

constexpr std::size_t kAlignment = 64;

class LocalObject final : public ReferenceState {
 public:
  LocalObject(const ObjectId& object, absl::StatusOr<Stored> its_value,
              std::vector<ObjectId> its_reduced)
      : ReferenceState(object),
        value(std::move(its_value)),
        reduced(std::move(its_reduced)) {}

  const absl::StatusOr<Stored> value;
  const std::vector<ObjectId> reduced;
};

class LocalActor final : public ActorState {
 public:
  explicit LocalActor(const ObjectId& object) : ActorState(ActorId{object}) {}

  Instance instance;
  absl::Status state;
};

const LocalObject& ObjectOf(const Reference& reference) {
  return static_cast<const LocalObject&>(*reference);
}

// Handles are const, the actors are not.
LocalActor& ActorOf(const ActorReference& actor) {
  return const_cast<LocalActor&>(static_cast<const LocalActor&>(*actor));
}

}  // namespace

ObjectId LocalRuntime::NextId() {
  const ProcessId here{.node = {NodeId(2), Incarnation(1)},
                       .worker = WorkerNumber(1)};
  return MakeObjectId(here, ++ids_);
}

Stored LocalRuntime::Store(const Encoded& value) const {
  const std::size_t size_bytes = value.size_bytes();
  auto room = std::make_shared<std::vector<std::byte>>(size_bytes + kAlignment +
                                                       misalignment_);
  void* start = room->data();
  std::size_t room_bytes = room->size();
  std::align(kAlignment, size_bytes, start, room_bytes);
  std::byte* bytes = static_cast<std::byte*>(start) + misalignment_;
  value.CopyTo(bytes);
  return {.bytes = {bytes, size_bytes},
          .meta = value.meta,
          .references = value.references,
          .actors = value.actors,
          .pin = std::move(room)};
}

Reference LocalRuntime::Keep(absl::StatusOr<Stored> value,
                             std::vector<ObjectId> reduced) {
  return std::make_shared<const LocalObject>(NextId(), std::move(value),
                                             std::move(reduced));
}

absl::StatusOr<Stored> LocalRuntime::Run(const Call& call, Instance& instance) {
  std::vector<Stored> arguments;
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const auto* reference = std::get_if<Reference>(&call.arguments[i]);
    if (reference == nullptr) {
      arguments.push_back(Store(std::get<Encoded>(call.arguments[i])));
    } else if (const auto& value = ObjectOf(*reference).value; value.ok()) {
      arguments.push_back(*value);
    } else {
      return NotRunTask(call.function, i, value.status());
    }
  }
  ++runs_;
  const RegisteredFunction* found = Registry::Global().Find(call.function);
  auto result = found->invoke(instance, arguments);
  if (!result.ok()) return FailedTask(call.function, result.status());
  return Store(*result);
}

Reference LocalRuntime::Submit(Call call) {
  task_options_ = call.options;
  const int attempts = call.options.retry_errors ? call.options.retries : 0;
  Instance none;
  auto result = Run(call, none);
  for (int i = 0; i < attempts && !result.ok(); ++i) result = Run(call, none);
  return Keep(std::move(result));
}

ActorReference LocalRuntime::CreateActor(Call factory, ActorOptions options) {
  actor_options_ = std::move(options);
  auto actor = std::make_shared<LocalActor>(NextId());
  actor->state = Run(factory, actor->instance).status();
  return actor;
}

Reference LocalRuntime::CallActor(const ActorReference& actor, Call call) {
  LocalActor& called = ActorOf(actor);
  if (!called.state.ok()) {
    return Keep(FailedTask(call.function, called.state));
  }
  return Keep(Run(call, called.instance));
}

absl::StatusOr<Reference> LocalRuntime::Put(const Encoded& value) {
  if (!put_error_.ok()) return put_error_;
  return Keep(Store(value));
}

absl::StatusOr<Stored> LocalRuntime::Get(const Reference& reference,
                                         absl::Duration) {
  return ObjectOf(reference).value;
}

absl::StatusOr<std::vector<std::size_t>> LocalRuntime::Wait(
    std::span<const Reference>, std::size_t k, absl::Duration) {
  std::vector<std::size_t> ready(k);
  std::iota(ready.begin(), ready.end(), 0);
  return ready;
}

Reference LocalRuntime::Reduce(std::vector<Reference> sources, ReduceOp op,
                               DataType type,
                               std::optional<std::uint32_t> count) {
  std::vector<ObjectId> reduced;
  std::vector<std::span<const std::byte>> inputs;
  std::string meta;
  const std::size_t wanted = count.value_or(sources.size());
  for (const Reference& source : sources) {
    const auto& value = ObjectOf(source).value;
    if (!value.ok() || inputs.size() == wanted) continue;
    if (inputs.empty()) meta = value->meta;
    if (value->meta != meta) {
      return FailedReference(absl::InvalidArgumentError(
          "the sources of a Reduce have different shapes"));
    }
    inputs.push_back(value->bytes);
    reduced.push_back(source->id);
  }
  if (inputs.size() < wanted) {
    return FailedReference(absl::AbortedError(
        absl::StrCat("a Reduce of ", wanted, " has ", inputs.size(),
                     " sources that have not failed")));
  }
  std::vector<std::byte> output(inputs.front().size());
  Fold({.op = op, .type = type, .divisor = inputs.size()}, output, inputs);
  Encoded total;
  total.meta = std::move(meta);
  if (!output.empty()) total.pieces.emplace_back(output);
  return Keep(Store(total), std::move(reduced));
}

absl::StatusOr<std::vector<ObjectId>> LocalRuntime::ReducedRefs(
    const Reference& target, absl::Duration) {
  if (!ObjectOf(target).value.ok()) return ObjectOf(target).value.status();
  return ObjectOf(target).reduced;
}

void LocalRuntime::Cancel(const Reference&, bool) { ++cancels_; }

void LocalRuntime::Kill(const ActorReference& actor) {
  ActorOf(actor).state = absl::UnavailableError("the actor was killed");
}

Reference LocalRuntime::FailedReference(absl::Status why) {
  return Keep(std::move(why));
}

ActorReference LocalRuntime::FailedActor(absl::Status why) {
  auto actor = std::make_shared<LocalActor>(NextId());
  actor->state = std::move(why);
  return actor;
}

}  // namespace hoplite::task
