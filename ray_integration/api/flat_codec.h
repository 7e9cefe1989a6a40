// What the compiler has to make for each type of flat value.
//
// Thread safety: functions of their arguments.

#ifndef HOPLITE_RAY_INTEGRATION_API_FLAT_CODEC_H_
#define HOPLITE_RAY_INTEGRATION_API_FLAT_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "ray_integration/api/flat.h"
#include "ray_integration/api/meta.h"
#include "ray_integration/api/type_traits.h"

namespace hoplite::task {

template <Flat T>
inline constexpr std::uint8_t kRankOf = Matrix<T>                          ? 2
                                        : !std::is_same_v<ElementOf<T>, T> ? 1
                                                                           : 0;

template <Flat T>
constexpr FlatType MakeFlatType() {
  using Element = ElementOf<T>;
  FlatType type{.numbers = DataTypeOf<Element>(),
                .element_bytes = sizeof(Element),
                .rank = kRankOf<T>};
  if constexpr (Matrix<T>) {
    // -1, in Eigen, is what may be any number.
    type.rows = T::RowsAtCompileTime;
    type.columns = T::ColsAtCompileTime;
  }
  return type;
}
template <Flat T>
inline constexpr FlatType kFlatTypeOf = MakeFlatType<T>();

template <Flat T>
Shape ShapeOf(const T& value) {
  using Element = ElementOf<T>;
  Shape shape{.numbers = DataTypeOf<Element>(),
              .element_bytes = sizeof(Element),
              .rank = kRankOf<T>};
  if constexpr (Matrix<T>) {
    shape.extents = {static_cast<std::uint64_t>(value.rows()),
                     static_cast<std::uint64_t>(value.cols())};
  } else if constexpr (kRankOf<T> == 1) {
    shape.extents[0] = value.size();
  }
  return shape;
}

// Where its elements begin; const or not as `value` is.
template <typename T>
auto* DataOf(T& value) {
  if constexpr (kRankOf<std::remove_const_t<T>> == 0) {
    return &value;
  } else {
    return value.data();
  }
}

// Makes room for so many elements. False where T cannot have as many.
template <Flat T>
bool Resize(T& value, std::uint64_t rows, std::uint64_t columns) {
  if constexpr (Matrix<T>) {
    constexpr std::int64_t kRowsMax = T::MaxRowsAtCompileTime;
    constexpr std::int64_t kColumnsMax = T::MaxColsAtCompileTime;
    if (kRowsMax >= 0 && std::cmp_greater(rows, kRowsMax)) return false;
    if (kColumnsMax >= 0 && std::cmp_greater(columns, kColumnsMax))
      return false;
    value.resize(static_cast<std::int64_t>(rows),
                 static_cast<std::int64_t>(columns));
  } else if constexpr (kRankOf<T> == 1) {
    value.resize(rows);
  }
  return true;
}

// Writes the elements of a value that has room for them.
template <Flat T>
void Fill(T& value, std::span<const std::byte> bytes) {
  if constexpr (std::is_same_v<T, bool>) {
    // Any other byte is no bool.
    value = !bytes.empty() && bytes[0] != std::byte{0};
  } else if (!bytes.empty()) {
    std::memcpy(static_cast<void*>(DataOf(value)), bytes.data(), bytes.size());
  }
}

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_API_FLAT_CODEC_H_
