// ObjectRef<T>: the value that a task will have made, before it exists.
//
// It can be copied, kept, given to other tasks, and be inside other values.
// It keeps the object in being, but pins nothing: the Value that Get returns
// does that.
//
// Thread safety: as safe as a std::shared_ptr.

#ifndef HOPLITE_RAY_INTEGRATION_API_OBJECT_REF_H_
#define HOPLITE_RAY_INTEGRATION_API_OBJECT_REF_H_

#include <type_traits>
#include <utility>

#include "hoplite/base/id.h"
#include "ray_integration/api/value.h"

namespace hoplite::task {

// T is void for a task that returns nothing or an absl::Status.
template <typename T>
class ObjectRef {
  static_assert(std::is_same_v<T, std::remove_cvref_t<T>>,
                "ObjectRef<T>: leave const and & out of T");

 public:
  using ValueType = T;

  // Refers to nothing; what it is given to fails.
  ObjectRef() = default;
  explicit ObjectRef(Reference reference) : reference_(std::move(reference)) {}

  explicit operator bool() const { return reference_ != nullptr; }
  // None where it refers to nothing.
  ObjectId id() const { return reference_ ? reference_->id : ObjectId(); }
  const Reference& reference() const { return reference_; }

  friend bool operator==(const ObjectRef& a, const ObjectRef& b) {
    return a.id() == b.id();
  }
  template <typename H>
  friend H AbslHashValue(H state, const ObjectRef& ref) {
    return H::combine(std::move(state), ref.id());
  }

 private:
  Reference reference_;
};

template <typename T>
inline constexpr bool kIsObjectRef = false;
template <typename T>
inline constexpr bool kIsObjectRef<ObjectRef<T>> = true;

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_API_OBJECT_REF_H_
