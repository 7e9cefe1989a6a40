// C++ values as payloads, and back.
//
// A flat value (type_traits.h) is its own payload: nothing is copied on the
// way out. Anything else is written as a composite, part by part. All that
// does not depend on the type is in payload_writer.h, payload_reader.h and
// flat.h; here is only what the compiler has to make for each.
//
// Thread safety: functions of their arguments.

#ifndef HOPLITE_RAY_INTEGRATION_API_CODEC_H_
#define HOPLITE_RAY_INTEGRATION_API_CODEC_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ray_integration/api/flat.h"
#include "ray_integration/api/flat_codec.h"
#include "ray_integration/api/parts.h"
#include "ray_integration/api/payload_reader.h"
#include "ray_integration/api/payload_writer.h"
#include "ray_integration/api/type_traits.h"
#include "ray_integration/api/value.h"

namespace hoplite::task {

// `value` outlives the result.
template <typename T>
Encoded Encode(const T& value) {
  if constexpr (Flat<T>) {
    return EncodeFlat(ShapeOf(value), DataOf(value));
  } else {
    PayloadWriter writer;
    WritePart(writer, value);
    return std::move(writer).Finish();
  }
}

// Has `encoded` own `value` too.
void AddOwner(Encoded& encoded, std::shared_ptr<const void> value);

// The result owns its value.
template <typename T>
Encoded EncodeOwned(T value) {
  auto owned = std::make_shared<const T>(std::move(value));
  Encoded encoded = Encode(*owned);
  AddOwner(encoded, std::move(owned));
  return encoded;
}

Encoded EncodeNothing();

// A copy of what has come. Errors: kInvalidArgument where it is no T.
template <typename T>
absl::StatusOr<T> Decode(const Stored& stored) {
  T value{};
  if constexpr (Flat<T>) {
    auto shape = CheckFlat(stored, kFlatTypeOf<T>);
    if (!shape.ok()) return std::move(shape).status();
    const auto [rows, columns] = shape->extents;
    if (!Resize(value, rows, columns)) return DoesNotFit(*shape);
    Fill(value, stored.bytes);
  } else {
    PayloadReader reader(stored);
    ReadPart(reader, value);
    absl::Status read = reader.Finish();
    if (!read.ok()) return read;
  }
  return value;
}

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_API_CODEC_H_
