// From a C++ call to what the runtime is handed.
//
// A parameter decides what its argument may be. For a parameter of type T,
// const T& or Value<T> it is something that converts to T, or an ObjectRef<T>
// whose value the task waits for. For a parameter ObjectRef<T> it is such a
// reference, which is handed over as it is and not waited for.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_RAY_INTEGRATION_API_CALL_H_
#define HOPLITE_RAY_INTEGRATION_API_CALL_H_

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ray_integration/api/codec.h"
#include "ray_integration/api/object_ref.h"
#include "ray_integration/api/options.h"
#include "ray_integration/api/registry.h"
#include "ray_integration/api/type_traits.h"
#include "ray_integration/api/value.h"
#include "ray_integration/api/value_view.h"

namespace hoplite::task::internal {

// T of a parameter T, const T&, T&& or Value<T>.
template <typename P>
struct ValueOfParameter {
  static_assert(!std::is_lvalue_reference_v<P> ||
                    std::is_const_v<std::remove_reference_t<P>>,
                "a task cannot change its caller's variable: take this "
                "parameter as T, const T& or Value<T>, and return the result");
  using Type = std::remove_cvref_t<P>;
};
template <typename P>
requires kIsValue<std::remove_cvref_t<P>>
struct ValueOfParameter<P> {
  template <typename T>
  static T Of(const Value<T>&);
  using Type = decltype(Of(std::declval<P>()));
};
template <typename P>
using ValueOf = typename ValueOfParameter<P>::Type;

// What the reference to a function's result refers to.
template <typename R>
struct ResultOfFunction {
  using Type = std::remove_cvref_t<R>;
};
template <>
struct ResultOfFunction<absl::Status> {
  using Type = void;
};
template <typename T>
struct ResultOfFunction<absl::StatusOr<T>> : ResultOfFunction<T> {};
template <typename R>
using ResultOf = typename ResultOfFunction<std::remove_cvref_t<R>>::Type;

// The class of an actor that a factory makes; void where R is no factory's.
template <typename R>
struct MadeBy {
  using Type = void;
};
template <typename C>
struct MadeBy<std::unique_ptr<C>> {
  using Type = C;
};
template <typename R>
using ClassMadeBy = typename MadeBy<ResultOf<R>>::Type;
template <typename R>
inline constexpr bool kIsFactory = !std::is_void_v<ClassMadeBy<R>>;

// A reference or the value of the parameter's type; it may be `argument`.
template <typename P, typename A>
decltype(auto) Convert(const A& argument) {
  using Wanted = ValueOf<P>;
  if constexpr (std::is_same_v<A, Wanted>) {
    return (argument);
  } else if constexpr (kIsObjectRef<A>) {
    static_assert(std::is_same_v<typename A::ValueType, Wanted>,
                  "this ObjectRef refers to another type than the parameter "
                  "has: a parameter T, const T&, Value<T> or ObjectRef<T> "
                  "takes an ObjectRef<T>, and nothing is converted");
    return (argument);
  } else {
    static_assert(std::is_convertible_v<const A&, Wanted>,
                  "this argument does not convert to the type of its "
                  "parameter");
    return static_cast<Wanted>(argument);
  }
}

template <typename P, typename C>
Argument MakeArgument(const C& converted) {
  if constexpr (std::is_same_v<C, ValueOf<P>>) {
    return Encode(converted);
  } else {
    return converted.reference();
  }
}

// The values stay the caller's while the result is used.
template <typename... P, typename... C>
std::vector<Argument> MakeArguments(const C&... converted) {
  std::vector<Argument> arguments;
  arguments.reserve(sizeof...(C));
  (arguments.push_back(MakeArgument<P>(converted)), ...);
  return arguments;
}

// What cannot be submitted gives a reference that is an error: a function
// that is not registered, and an argument that refers to nothing.
Reference Submit(const FunctionKey& function, std::vector<Argument> arguments,
                 const TaskOptions& options);
ActorReference CreateActor(const FunctionKey& factory,
                           std::vector<Argument> arguments,
                           const ActorOptions& options);
Reference CallActor(const ActorReference& actor, const FunctionKey& method,
                    std::vector<Argument> arguments);

}  // namespace hoplite::task::internal

#endif  // HOPLITE_RAY_INTEGRATION_API_CALL_H_
