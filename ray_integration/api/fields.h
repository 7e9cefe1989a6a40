// HOPLITE_FIELDS(Type, a, b, c): values of Type travel as these fields.
//
//   struct Step { int number; Eigen::MatrixXf weights; };
//   HOPLITE_FIELDS(Step, number, weights);
//
// It stands after the type, in the same namespace. Fields that are not named
// do not travel, and are at the other end as the default constructor makes
// them.
//
// Thread safety: a function without state.

#ifndef HOPLITE_RAY_INTEGRATION_API_FIELDS_H_
#define HOPLITE_RAY_INTEGRATION_API_FIELDS_H_

#include <type_traits>

#include "ray_integration/api/for_each.h"

#define HOPLITE_FIELDS(Type, ...)                                       \
  template <typename HopliteObject, typename HopliteVisitor>            \
  requires std::is_same_v<std::remove_const_t<HopliteObject>, Type>     \
  void HopliteVisitFields(HopliteObject& hoplite_object,                \
                          HopliteVisitor&& hoplite_visitor) {           \
    hoplite_visitor(                                                    \
        HOPLITE_FOR_EACH_LISTED(HOPLITE_FIELD_OF_OBJECT, __VA_ARGS__)); \
  }                                                                     \
  static_assert(true, "a semicolon follows")

#define HOPLITE_FIELD_OF_OBJECT(hoplite_field) hoplite_object.hoplite_field

namespace hoplite::task {

struct IgnoreFields {
  void operator()(const auto&...) const {}
};

// A type for which HOPLITE_FIELDS stands in its namespace.
template <typename T>
concept HasFields = requires(T& object) {
  HopliteVisitFields(object, IgnoreFields());
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_API_FIELDS_H_
