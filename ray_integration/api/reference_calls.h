// What objects.h asks of the runtime, where no C++ type matters: the checks
// of what a user has handed over, and then the call.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_RAY_INTEGRATION_API_REFERENCE_CALLS_H_
#define HOPLITE_RAY_INTEGRATION_API_REFERENCE_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "hoplite/base/reduction.h"
#include "ray_integration/api/object_ref.h"
#include "ray_integration/api/value.h"

namespace hoplite::task::internal {

template <typename T>
std::vector<Reference> ReferencesOf(const std::vector<ObjectRef<T>>& refs) {
  std::vector<Reference> references;
  references.reserve(refs.size());
  for (const auto& ref : refs) references.push_back(ref.reference());
  return references;
}

// Each as its namesake in objects.h. A null among the references is
// kInvalidArgument, or a reference that is this error.
Reference Put(const Encoded& value);
absl::StatusOr<Stored> Get(const Reference& reference, absl::Duration timeout);
absl::StatusOr<std::vector<Stored>> GetAll(
    const std::vector<Reference>& references, absl::Duration timeout);
absl::StatusOr<std::vector<std::size_t>> Wait(
    const std::vector<Reference>& references, std::size_t k,
    absl::Duration timeout);
Reference Reduce(std::vector<Reference> sources, ReduceOp op, DataType type,
                 std::optional<std::uint32_t> count);
absl::StatusOr<std::vector<ObjectId>> ReducedRefs(const Reference& target,
                                                  absl::Duration timeout);
absl::StatusOr<std::vector<std::size_t>> ReducedIndices(
    const Reference& target, const std::vector<Reference>& sources,
    absl::Duration timeout);
void Cancel(const Reference& reference, bool force);
void Kill(const ActorReference& actor);

}  // namespace hoplite::task::internal

#endif  // HOPLITE_RAY_INTEGRATION_API_REFERENCE_CALLS_H_
