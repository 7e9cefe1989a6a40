// Which C++ types travel between tasks, and as what.
//
//   plain       numbers, enums, and whatever else can be copied as bytes
//   string      std::string
//   flat vector std::vector of plain elements, but not of bool
//   matrix      Eigen::Matrix and Eigen::Array (known by what they have, so
//               that who does not use Eigen need not include it)
//   composite   vectors, maps, pairs, tuples and optionals of such, types
//               with HOPLITE_FIELDS, ObjectRef and ActorRef
//
// Thread safety: nothing is left of it at run time.

#ifndef HOPLITE_RAY_INTEGRATION_API_TYPE_TRAITS_H_
#define HOPLITE_RAY_INTEGRATION_API_TYPE_TRAITS_H_

#include <array>
#include <concepts>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "hoplite/base/reduction.h"
#include "ray_integration/api/fields.h"
#include "ray_integration/api/object_ref.h"
#include "ray_integration/api/value.h"

namespace hoplite::task {

// The elements that Reduce knows; nullopt for any other type.
template <typename E>
constexpr std::optional<DataType> DataTypeOf() {
  if constexpr (std::is_same_v<E, float>) return DataType::kF32;
  if constexpr (std::is_same_v<E, double>) return DataType::kF64;
  if constexpr (std::is_integral_v<E> && !std::is_same_v<E, bool>) {
    constexpr bool kSigned = std::is_signed_v<E>;
    if (sizeof(E) == 1) return kSigned ? DataType::kI8 : DataType::kU8;
    if (sizeof(E) == 4) return kSigned ? DataType::kI32 : DataType::kU32;
    if (sizeof(E) == 8) return kSigned ? DataType::kI64 : DataType::kU64;
  }
  return std::nullopt;
}

// An Eigen object that owns its elements.
template <typename T>
concept Matrix = requires {
  typename T::Scalar;
  typename T::ConstMapType;
  T::RowsAtCompileTime;
}
&&std::is_same_v<typename T::PlainObject, T>;

// ActorRef, which is declared above this.
template <typename T>
concept ActorRefType = requires(const T& actor) {
  typename T::ActorType;
  { actor.reference() } -> std::same_as<const ActorReference&>;
};

// Bytes that mean something only in the process where they are.
template <typename T>
inline constexpr bool kPointsElsewhere =
    std::is_pointer_v<T> || std::is_member_pointer_v<T> ||
    std::is_null_pointer_v<T> || std::is_same_v<T, absl::string_view>;
template <typename E, std::size_t kSize>
inline constexpr bool kPointsElsewhere<std::span<E, kSize>> = true;
template <typename T>
inline constexpr bool kPointsElsewhere<std::reference_wrapper<T>> = true;
template <typename T, std::size_t kSize>
inline constexpr bool kPointsElsewhere<std::array<T, kSize>> =
    kPointsElsewhere<T>;

template <typename T>
inline constexpr bool kIsVector = false;
template <typename E>
inline constexpr bool kIsVector<std::vector<E>> = true;
template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <typename T>
inline constexpr bool kIsTuple = false;
template <typename A, typename B>
inline constexpr bool kIsTuple<std::pair<A, B>> = true;
template <typename First, typename... Rest>
inline constexpr bool kIsTuple<std::tuple<First, Rest...>> = true;

template <typename T>
concept MapType = requires {
  typename T::key_type;
  typename T::mapped_type;
};

template <typename T>
concept Plain = std::is_trivially_copyable_v<T> &&
                std::is_default_constructible_v<T> && !kPointsElsewhere<T> &&
                !kIsOptional<T> && !kIsTuple<T> && !HasFields<T>;

template <typename T>
inline constexpr bool kIsFlatVector = false;
template <Plain E>
inline constexpr bool kIsFlatVector<std::vector<E>> = !std::is_same_v<E, bool>;

// Its payload is its elements and nothing else.
template <typename T>
concept Flat = !HasFields<T> && (std::is_same_v<T, std::string> ||
                                 kIsFlatVector<T> || Matrix<T> || Plain<T>);

// What a flat value is a run of.
template <typename T>
struct ElementOfFlat {
  using Type = T;
};
template <>
struct ElementOfFlat<std::string> {
  // Not a number: text is not reduced.
  using Type = std::byte;
};
template <typename E>
struct ElementOfFlat<std::vector<E>> {
  using Type = E;
};
template <Matrix M>
struct ElementOfFlat<M> {
  using Type = typename M::Scalar;
};
template <typename T>
using ElementOf = typename ElementOfFlat<T>::Type;

// What Reduce takes.
template <typename T>
concept Numeric = Flat<T> && DataTypeOf<ElementOf<T>>()
.has_value();

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_API_TYPE_TRAITS_H_
