// Values by reference: Put, Get, Wait, and Reduce.
//
//   ObjectRef<Eigen::VectorXf> weights = task::Put(initial);
//   absl::StatusOr<Value<Eigen::VectorXf>> now = task::Get(weights);
//
// Thread safety: thread-safe. What waits holds no processor of its node.

#ifndef HOPLITE_RAY_INTEGRATION_API_OBJECTS_H_
#define HOPLITE_RAY_INTEGRATION_API_OBJECTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "hoplite/base/reduction.h"
#include "ray_integration/api/actor_ref.h"
#include "ray_integration/api/codec.h"
#include "ray_integration/api/object_ref.h"
#include "ray_integration/api/reference_calls.h"
#include "ray_integration/api/type_traits.h"
#include "ray_integration/api/value_view.h"

namespace hoplite::task {

// A copy of `value` as an object of this process; it goes when this ends. An
// error (a full store) is the reference's.
template <typename T>
ObjectRef<T> Put(const T& value) {
  return ObjectRef<T>(internal::Put(Encode(value)));
}

// Waits for the value. Errors: kDeadlineExceeded; the task's own, with the
// names of those through which it came; kInvalidArgument for a reference that
// refers to nothing.
template <typename T>
absl::StatusOr<Value<T>> Get(
    const ObjectRef<T>& ref,
    absl::Duration timeout = absl::InfiniteDuration()) {
  auto stored = internal::Get(ref.reference(), timeout);
  if (!stored.ok()) return std::move(stored).status();
  return Value<T>::From(*std::move(stored));
}
inline absl::Status Get(const ObjectRef<void>& ref,
                        absl::Duration timeout = absl::InfiniteDuration()) {
  return internal::Get(ref.reference(), timeout).status();
}
// All of them, in order; the first error else.
template <typename T>
absl::StatusOr<std::vector<Value<T>>> Get(
    const std::vector<ObjectRef<T>>& refs,
    absl::Duration timeout = absl::InfiniteDuration()) {
  auto all = internal::GetAll(internal::ReferencesOf(refs), timeout);
  if (!all.ok()) return std::move(all).status();
  std::vector<Value<T>> values;
  values.reserve(all->size());
  for (Stored& stored : *all) {
    auto value = Value<T>::From(std::move(stored));
    if (!value.ok()) return std::move(value).status();
    values.push_back(*std::move(value));
  }
  return values;
}

// The first `k` that are ready, or all that are when the time is over: their
// indices, in the order of `refs`. An error is ready too.
template <typename T>
absl::StatusOr<std::vector<std::size_t>> Wait(
    const std::vector<ObjectRef<T>>& refs, std::size_t k,
    absl::Duration timeout = absl::InfiniteDuration()) {
  return internal::Wait(internal::ReferencesOf(refs), k, timeout);
}

// The sum, or whatever `op` makes, of the first `count` that are ready, or of
// all: vectors, matrices or numbers of one shape. They are added while they
// come. Sources that fail are left out as long as `count` can be reached.
template <typename T>
ObjectRef<T> Reduce(const std::vector<ObjectRef<T>>& refs, ReduceOp op,
                    std::optional<std::uint32_t> count = std::nullopt) {
  static_assert(Numeric<T>,
                "Reduce folds numbers, and vectors and Eigen matrices of "
                "numbers: of float, double, or integers of 8, 32 or 64 bits");
  if constexpr (Numeric<T>) {
    return ObjectRef<T>(internal::Reduce(internal::ReferencesOf(refs), op,
                                         *DataTypeOf<ElementOf<T>>(), count));
  }
}

// Waits until a reduction is final: which of `refs` are in it, by index.
template <typename T>
absl::StatusOr<std::vector<std::size_t>> ReducedRefs(
    const ObjectRef<T>& total, const std::vector<ObjectRef<T>>& refs,
    absl::Duration timeout = absl::InfiniteDuration()) {
  return internal::ReducedIndices(total.reference(),
                                  internal::ReferencesOf(refs), timeout);
}
// The same, for whoever has not the references: their ids.
template <typename T>
absl::StatusOr<std::vector<ObjectId>> ReducedRefs(
    const ObjectRef<T>& total,
    absl::Duration timeout = absl::InfiniteDuration()) {
  return internal::ReducedRefs(total.reference(), timeout);
}

// The task whose result this is shall not run, or end soon: it sees
// IsCancelled(), and what it waits for ends with kCancelled, as does the Get
// of its result. With force its worker is killed (of tasks only).
template <typename T>
void Cancel(const ObjectRef<T>& ref, bool force = false) {
  internal::Cancel(ref.reference(), force);
}
// Whether the task that asks has been cancelled.
bool IsCancelled();

// Ends the actor, whoever else refers to it. Its calls then fail.
template <typename C>
void Kill(const ActorRef<C>& actor) {
  internal::Kill(actor.reference());
}

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_API_OBJECTS_H_
