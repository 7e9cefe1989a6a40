// Remote(function, arguments...): runs a registered function somewhere, soon.
//
//   ObjectRef<int> sum = task::Remote(Plus, 1, 2);
//   ObjectRef<int> more = task::Remote({.cpus = 2}, Plus, sum, 3);
//
// It returns at once. Whatever goes wrong comes out of Get. What its
// arguments may be is in call.h; HOPLITE_REMOTE in register.h.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_RAY_INTEGRATION_API_REMOTE_H_
#define HOPLITE_RAY_INTEGRATION_API_REMOTE_H_

#include <type_traits>

#include "ray_integration/api/call.h"
#include "ray_integration/api/object_ref.h"
#include "ray_integration/api/options.h"
#include "ray_integration/api/registry.h"

namespace hoplite::task {
namespace internal {

template <typename F>
inline constexpr bool kIsFunction =
    std::is_function_v<std::remove_pointer_t<F>>;

// Refuses what is no function.
template <typename F>
constexpr void RefuseFunction() {
  static_assert(!std::is_member_function_pointer_v<F>,
                "a method is called on an actor: actor.Remote(&Class::Method, "
                "arguments...)");
  static_assert(std::is_member_function_pointer_v<F>,
                "Remote takes the name of a function that HOPLITE_REMOTE has "
                "registered; a lambda or a function object cannot be found in "
                "another process");
}

}  // namespace internal

template <typename R, typename... P, typename... A>
ObjectRef<internal::ResultOf<R>> Remote(const TaskOptions& options,
                                        R (*function)(P...),
                                        const A&... arguments) {
  static_assert(!internal::kIsFactory<R>,
                "this function makes an actor: call it with RemoteActor");
  if constexpr (sizeof...(P) == sizeof...(A)) {
    return ObjectRef<internal::ResultOf<R>>(internal::Submit(
        FunctionKey::Of(function),
        internal::MakeArguments<P...>(internal::Convert<P>(arguments)...),
        options));
  } else {
    static_assert(sizeof...(P) == sizeof...(A),
                  "Remote needs one argument for each parameter of the "
                  "function, those with defaults too");
  }
}

template <typename R, typename... P, typename... A>
ObjectRef<internal::ResultOf<R>> Remote(R (*function)(P...),
                                        const A&... arguments) {
  return Remote(TaskOptions(), function, arguments...);
}

template <typename F, typename... A>
requires(!internal::kIsFunction<F> &&
         !std::is_same_v<F, TaskOptions>) ObjectRef<void> Remote(const F&,
                                                                 const A&...) {
  internal::RefuseFunction<F>();
  return {};
}

template <typename F, typename... A>
requires(!internal::kIsFunction<F>) ObjectRef<void> Remote(const TaskOptions&,
                                                           const F&,
                                                           const A&...) {
  internal::RefuseFunction<F>();
  return {};
}

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_API_REMOTE_H_
