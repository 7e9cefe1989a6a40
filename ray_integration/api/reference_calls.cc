#include "ray_integration/api/reference_calls.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "hoplite/runtime/clock.h"
#include "ray_integration/api/runtime.h"

namespace hoplite::task::internal {
namespace {

constexpr char kRefersToNothing[] =
    "this ObjectRef refers to nothing: it was made by its default constructor";

absl::Status CheckAll(const std::vector<Reference>& references) {
  for (std::size_t i = 0; i < references.size(); ++i) {
    if (references[i] == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("of ", references.size(), " references, number ", i + 1,
                       " refers to nothing: it was made by its default "
                       "constructor"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckReduce(const std::vector<Reference>& sources, ReduceOp op,
                         DataType type, std::optional<std::uint32_t> count) {
  if (sources.empty()) {
    return absl::InvalidArgumentError("Reduce was given no references");
  }
  if (count && (*count == 0 || *count > sources.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("Reduce shall fold ", *count, " of ", sources.size(),
                     " references: name 1 to ", sources.size()));
  }
  if (!Supports(op, type)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Reduce has no ", ToString(op), " of elements of ", ToString(type)));
  }
  return CheckAll(sources);
}

}  // namespace

Reference Put(const Encoded& value) {
  Runtime& runtime = Runtime::Current();
  auto put = runtime.Put(value);
  return put.ok() ? *std::move(put)
                  : runtime.FailedReference(std::move(put).status());
}

absl::StatusOr<Stored> Get(const Reference& reference, absl::Duration timeout) {
  if (reference == nullptr) return absl::InvalidArgumentError(kRefersToNothing);
  return Runtime::Current().Get(reference, timeout);
}

absl::StatusOr<std::vector<Stored>> GetAll(
    const std::vector<Reference>& references, absl::Duration timeout) {
  absl::Status all_are_there = CheckAll(references);
  if (!all_are_there.ok()) return all_are_there;
  const absl::Time deadline = SystemClock::Now() + timeout;
  std::vector<Stored> values;
  values.reserve(references.size());
  for (const Reference& reference : references) {
    auto stored = Runtime::Current().Get(
        reference,
        std::max(deadline - SystemClock::Now(), absl::ZeroDuration()));
    if (!stored.ok()) return std::move(stored).status();
    values.push_back(*std::move(stored));
  }
  return values;
}

absl::StatusOr<std::vector<std::size_t>> Wait(
    const std::vector<Reference>& references, std::size_t k,
    absl::Duration timeout) {
  absl::Status all_are_there = CheckAll(references);
  if (!all_are_there.ok()) return all_are_there;
  if (k > references.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Wait for ", k, " of ", references.size(), " references never ends"));
  }
  return Runtime::Current().Wait(references, k, timeout);
}

Reference Reduce(std::vector<Reference> sources, ReduceOp op, DataType type,
                 std::optional<std::uint32_t> count) {
  Runtime& runtime = Runtime::Current();
  absl::Status possible = CheckReduce(sources, op, type, count);
  if (!possible.ok()) return runtime.FailedReference(std::move(possible));
  return runtime.Reduce(std::move(sources), op, type, count);
}

absl::StatusOr<std::vector<ObjectId>> ReducedRefs(const Reference& target,
                                                  absl::Duration timeout) {
  if (target == nullptr) return absl::InvalidArgumentError(kRefersToNothing);
  return Runtime::Current().ReducedRefs(target, timeout);
}

absl::StatusOr<std::vector<std::size_t>> ReducedIndices(
    const Reference& target, const std::vector<Reference>& sources,
    absl::Duration timeout) {
  auto ids = ReducedRefs(target, timeout);
  if (!ids.ok()) return std::move(ids).status();
  const absl::flat_hash_set<ObjectId> reduced(ids->begin(), ids->end());
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (sources[i] && reduced.contains(sources[i]->id)) indices.push_back(i);
  }
  return indices;
}

void Cancel(const Reference& reference, bool force) {
  if (reference) Runtime::Current().Cancel(reference, force);
}

void Kill(const ActorReference& actor) {
  if (actor) Runtime::Current().Kill(actor);
}

}  // namespace hoplite::task::internal
