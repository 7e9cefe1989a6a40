// Value<T>: a value that has come, read where it lies.
//
//   absl::StatusOr<Value<std::vector<float>>> got = task::Get(ref);
//   for (float x : **got) ...                // in the store's own memory
//   std::vector<float> copy = *got;          // where it is to be changed
//
// `*value` of a vector of plain elements is a std::span, of an Eigen matrix
// an Eigen::Map, both read-only and into the object itself, which stays
// readable as long as the Value lives, and takes room in the store as long.
// Of any other T it is a `const T&` to a copy.
//
// Thread safety: as safe as a std::shared_ptr.

#ifndef HOPLITE_RAY_INTEGRATION_API_VALUE_VIEW_H_
#define HOPLITE_RAY_INTEGRATION_API_VALUE_VIEW_H_

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ray_integration/api/codec.h"
#include "ray_integration/api/flat.h"
#include "ray_integration/api/flat_codec.h"
#include "ray_integration/api/meta.h"
#include "ray_integration/api/type_traits.h"
#include "ray_integration/api/value.h"

namespace hoplite::task {

template <typename T>
class Value {
 public:
  // Errors: kInvalidArgument where what has come is no T.
  static absl::StatusOr<Value> From(Stored stored) {
    absl::StatusOr<T> decoded = Decode<T>(stored);
    if (!decoded.ok()) return std::move(decoded).status();
    return Value(*std::move(decoded));
  }

  const T& operator*() const { return value_; }
  const T* operator->() const { return &value_; }
  // NOLINTNEXTLINE(google-explicit-constructor): reads as the value itself.
  operator const T&() const { return value_; }

 private:
  explicit Value(T value) : value_(std::move(value)) {}

  T value_;
};

template <typename E>
requires kIsFlatVector<std::vector<E>>
class Value<std::vector<E>> {
 public:
  static absl::StatusOr<Value> From(Stored stored) {
    auto shape = CheckFlat(stored, kFlatTypeOf<std::vector<E>>);
    if (!shape.ok()) return std::move(shape).status();
    Align(stored, alignof(E));
    return Value(std::move(stored));
  }

  std::span<const E> operator*() const { return elements_; }
  const std::span<const E>* operator->() const { return &elements_; }
  std::size_t size() const { return elements_.size(); }
  const E& operator[](std::size_t i) const { return elements_[i]; }
  // NOLINTNEXTLINE(google-explicit-constructor): a copy, where one is wanted.
  operator std::vector<E>() const {
    return std::vector<E>(elements_.begin(), elements_.end());
  }

 private:
  explicit Value(Stored stored)
      : elements_(reinterpret_cast<const E*>(stored.bytes.data()),
                  stored.bytes.size() / sizeof(E)),
        pin_(std::move(stored.pin)) {}

  std::span<const E> elements_;
  std::shared_ptr<const void> pin_;
};

template <Matrix M>
class Value<M> {
 public:
  using View = typename M::ConstMapType;

  static absl::StatusOr<Value> From(Stored stored) {
    auto shape = CheckFlat(stored, kFlatTypeOf<M>);
    if (!shape.ok()) return std::move(shape).status();
    Align(stored, alignof(typename M::Scalar));
    return Value(std::move(stored), *shape);
  }

  View operator*() const {
    return View(elements_, static_cast<std::ptrdiff_t>(shape_.extents[0]),
                static_cast<std::ptrdiff_t>(shape_.extents[1]));
  }
  std::ptrdiff_t rows() const { return (**this).rows(); }
  std::ptrdiff_t cols() const { return (**this).cols(); }
  // NOLINTNEXTLINE(google-explicit-constructor): a copy, where one is wanted.
  operator M() const { return M(**this); }

 private:
  Value(Stored stored, const Shape& shape)
      : elements_(
            reinterpret_cast<const typename M::Scalar*>(stored.bytes.data())),
        shape_(shape),
        pin_(std::move(stored.pin)) {}

  const typename M::Scalar* elements_;
  Shape shape_;
  std::shared_ptr<const void> pin_;
};

template <typename T>
inline constexpr bool kIsValue = false;
template <typename T>
inline constexpr bool kIsValue<Value<T>> = true;

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_API_VALUE_VIEW_H_
