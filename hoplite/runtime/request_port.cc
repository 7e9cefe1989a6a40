#include "hoplite/runtime/request_port.h"

#include <algorithm>
#include <cstdint>
#include <variant>

#include "absl/strings/str_format.h"
#include "hoplite/core/config.h"

namespace hoplite {
namespace {

absl::Status ValidateId(const ObjectId& id, absl::string_view role) {
  if (id != ObjectId()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "the id of the %s is all zeros, which stands for no object", role));
}

absl::Status Validate(const event::PutRequested& put) {
  if (put.payload != nullptr && put.payload->size() != put.size) {
    return absl::InvalidArgumentError(
        absl::StrFormat("Put of %s says %d bytes and brings %d",
                        put.object.ToHex(), put.size, put.payload->size()));
  }
  if (put.payload != nullptr && put.size > kInlineBytesMax) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "Put of %s brings %d bytes in one message, above the limit of %d",
        put.object.ToHex(), put.size, kInlineBytesMax));
  }
  return ValidateId(put.object, "object");
}
absl::Status Validate(const event::GetRequested& get) {
  return ValidateId(get.object, "object");
}
absl::Status Validate(const event::DeleteRequested& request) {
  return ValidateId(request.object, "object");
}

absl::Status ValidateSources(const event::ReduceRequested& reduce) {
  for (const ObjectId& source : reduce.sources) {
    if (absl::Status status = ValidateId(source, "source"); !status.ok()) {
      return status;
    }
    if (source == reduce.target) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "Reduce of %s names its target as a source", source.ToHex()));
    }
  }
  std::vector<ObjectId> sorted = reduce.sources;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice == sorted.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("Reduce of %s names the source %s twice",
                      reduce.target.ToHex(), twice->ToHex()));
}

absl::Status Validate(const event::ReduceRequested& reduce) {
  if (absl::Status status = ValidateId(reduce.target, "target"); !status.ok()) {
    return status;
  }
  const std::size_t source_count = reduce.sources.size();
  if (source_count > kReduceSourcesMax) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "Reduce of %s names %d sources, above the limit of %d: reduce groups "
        "of them first, and then those targets",
        reduce.target.ToHex(), source_count, kReduceSourcesMax));
  }
  if (reduce.count == 0 || reduce.count > source_count) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "Reduce of %s wants %d of %d sources; it takes at least one, and at "
        "most all",
        reduce.target.ToHex(), reduce.count, source_count));
  }
  if (static_cast<std::size_t>(reduce.op) >= kReduceOpCount ||
      static_cast<std::size_t>(reduce.type) >= kDataTypeCount) {
    return absl::InvalidArgumentError(
        absl::StrFormat("Reduce of %s has an operation or a type that there "
                        "is not",
                        reduce.target.ToHex()));
  }
  if (!Supports(reduce.op, reduce.type)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "Reduce of %s: %s is for integers, not for %s", reduce.target.ToHex(),
        ToString(reduce.op), ToString(reduce.type)));
  }
  return ValidateSources(reduce);
}

absl::Status Validate(const auto& /*other*/) {
  return absl::InvalidArgumentError("not a request of a client");
}

}  // namespace

absl::Status ValidateRequest(const Event& request) {
  return std::visit([](const auto& event) { return Validate(event); }, request);
}

}  // namespace hoplite
