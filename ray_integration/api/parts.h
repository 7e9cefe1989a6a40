// The parts of a composite value, written and read in the same order.
//
// Thread safety: functions of their arguments.

#ifndef HOPLITE_RAY_INTEGRATION_API_PARTS_H_
#define HOPLITE_RAY_INTEGRATION_API_PARTS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "ray_integration/api/fields.h"
#include "ray_integration/api/flat_codec.h"
#include "ray_integration/api/object_ref.h"
#include "ray_integration/api/payload_reader.h"
#include "ray_integration/api/payload_writer.h"
#include "ray_integration/api/type_traits.h"

namespace hoplite::task {

template <typename T>
constexpr void RefuseType() {
  static_assert(!kPointsElsewhere<T>,
                "a pointer or a view means nothing in another process: pass "
                "what it points to, as a std::string or std::vector, or an "
                "ObjectRef to it");
  static_assert(kPointsElsewhere<T>,
                "values of this type cannot travel between tasks: write "
                "HOPLITE_FIELDS(Type, field, ...) after the type, in its "
                "namespace (and give it a default constructor), or use what "
                "ray_integration/api/type_traits.h lists");
}

template <Flat T>
void WriteFlatPart(PayloadWriter& writer, const T& value) {
  const Shape shape = ShapeOf(value);
  for (int i = 0; i < kRankOf<T>; ++i) writer.AddCount(shape.extents[i]);
  const std::span elements(
      reinterpret_cast<const std::byte*>(DataOf(value)),
      shape.extents[0] * shape.extents[1] * shape.element_bytes);
  if constexpr (kRankOf<T> == 0) {
    writer.AddBytes(elements.data(), elements.size());
  } else {
    writer.AddRun(elements);
  }
}

template <typename T>
void WritePart(PayloadWriter& writer, const T& value) {
  [[maybe_unused]] const auto write_all = [&writer](const auto&... parts) {
    (WritePart(writer, parts), ...);
  };
  if constexpr (HasFields<T>) {
    HopliteVisitFields(value, write_all);
  } else if constexpr (Flat<T>) {
    WriteFlatPart(writer, value);
  } else if constexpr (kIsObjectRef<T>) {
    writer.AddReference(value.reference());
  } else if constexpr (ActorRefType<T>) {
    writer.AddActor(value.reference());
  } else if constexpr (kIsTuple<T>) {
    std::apply(write_all, value);
  } else if constexpr (kIsOptional<T>) {
    writer.AddCount(value.has_value() ? 1 : 0);
    if (value.has_value()) WritePart(writer, *value);
  } else if constexpr (kIsVector<T> || MapType<T>) {
    writer.AddCount(value.size());
    for (const auto& element : value) WritePart(writer, element);
  } else {
    RefuseType<T>();
  }
}

template <Flat T>
void ReadFlatPart(PayloadReader& reader, T& value) {
  if constexpr (kRankOf<T> == 0) {
    std::array<std::byte, sizeof(T)> bytes;
    reader.ReadBytes(bytes.data(), bytes.size());
    Fill(value, bytes);
  } else {
    constexpr FlatType kType = kFlatTypeOf<T>;
    const std::uint64_t rows = reader.ReadCount();
    const std::uint64_t columns = kType.rank == 2 ? reader.ReadCount() : 1;
    const auto run = reader.ReadRun(rows, columns, kType.element_bytes);
    if (!reader.ok()) return;
    if (!kType.Allows(rows, columns) || !Resize(value, rows, columns)) {
      reader.Fail("a matrix has more or fewer elements than its type");
      return;
    }
    Fill(value, run);
  }
}

// A vector's or map's elements; a vector grows as they come, and not to
// whatever size the other side claims.
template <typename T, typename Element>
void ReadElements(PayloadReader& reader, T& value);

template <typename T>
void ReadPart(PayloadReader& reader, T& value) {
  [[maybe_unused]] const auto read_all = [&reader](auto&... parts) {
    (ReadPart(reader, parts), ...);
  };
  if constexpr (HasFields<T>) {
    HopliteVisitFields(value, read_all);
  } else if constexpr (Flat<T>) {
    ReadFlatPart(reader, value);
  } else if constexpr (kIsObjectRef<T>) {
    value = T(reader.ReadReference());
  } else if constexpr (ActorRefType<T>) {
    value = T(reader.ReadActor());
  } else if constexpr (kIsTuple<T>) {
    std::apply(read_all, value);
  } else if constexpr (kIsOptional<T>) {
    if (reader.ReadCount() > 0) ReadPart(reader, value.emplace());
  } else if constexpr (MapType<T>) {
    ReadElements<T, std::pair<typename T::key_type, typename T::mapped_type>>(
        reader, value);
  } else if constexpr (kIsVector<T>) {
    ReadElements<T, typename T::value_type>(reader, value);
  } else {
    RefuseType<T>();
  }
}

template <typename T, typename Element>
void ReadElements(PayloadReader& reader, T& value) {
  PayloadReader::Nesting nesting(reader);
  const std::size_t count = reader.ReadElementCount();
  value.clear();
  for (std::size_t i = 0; i < count && reader.ok(); ++i) {
    Element element{};
    ReadPart(reader, element);
    value.insert(value.end(), std::move(element));
  }
}

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_API_PARTS_H_
