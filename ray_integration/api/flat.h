// Flat values as bytes and back, where nothing depends on the C++ type.
//
// Thread safety: functions of their arguments.

#ifndef HOPLITE_RAY_INTEGRATION_API_FLAT_H_
#define HOPLITE_RAY_INTEGRATION_API_FLAT_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hoplite/base/reduction.h"
#include "ray_integration/api/meta.h"
#include "ray_integration/api/value.h"

namespace hoplite::task {

// The value whose bytes begin at `data`, which stay its own.
Encoded EncodeFlat(const Shape& shape, const void* data);

// An extent of a type that any value may have.
inline constexpr std::int64_t kAnyExtent = -1;

// What a type expects of a flat value.
struct FlatType {
  std::optional<DataType> numbers;
  std::size_t element_bytes = 1;
  int rank = 0;
  std::int64_t rows = kAnyExtent;
  std::int64_t columns = kAnyExtent;

  // The extents that it leaves no choice of are these.
  bool Allows(std::uint64_t value_rows, std::uint64_t value_columns) const;
};

// The shape of what has come, which is of that type and has as many bytes.
// Errors: kInvalidArgument, and says what it is instead.
absl::StatusOr<Shape> CheckFlat(const Stored& stored, const FlatType& type);

// Errors: kInvalidArgument, always: of a type that has less room.
absl::Status DoesNotFit(const Shape& shape);

// The same value at an address that is a multiple of `alignment`: what came
// inside a message lies anywhere and is copied. REQUIRES: a power of two.
void Align(Stored& stored, std::size_t alignment);

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_API_FLAT_H_
