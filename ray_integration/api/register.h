// HOPLITE_REMOTE(Function, &Class::Method, ...): what other processes may run.
//
//   int Plus(int a, int b) { return a + b; }
//   HOPLITE_REMOTE(Plus);
//
// It stands at namespace scope, in any namespace, behind the declarations. A
// function is known by its name with all namespaces but those without a name,
// the same in every process, since all run the same program.
//
// Thread safety: runs before main, where there is one thread.

#ifndef HOPLITE_RAY_INTEGRATION_API_REGISTER_H_
#define HOPLITE_RAY_INTEGRATION_API_REGISTER_H_

#include <string>

#include "absl/strings/string_view.h"
#include "hoplite/base/status_macros.h"
#include "ray_integration/api/call.h"
#include "ray_integration/api/for_each.h"
#include "ray_integration/api/invoke.h"
#include "ray_integration/api/registry.h"

#define HOPLITE_REMOTE(...)                         \
  HOPLITE_FOR_EACH(HOPLITE_REMOTE_ONE, __VA_ARGS__) \
  static_assert(true, "a semicolon follows")

#define HOPLITE_REMOTE_ONE(function)                                 \
  [[maybe_unused]] static const bool HOPLITE_CONCAT(hoplite_remote_, \
                                                    __COUNTER__) =   \
      ::hoplite::task::internal::Register<(function)>(#function);

namespace hoplite::task::internal {

// "ns::Class::Method" out of what the compiler writes for a function with the
// template argument F; the text that stands in HOPLITE_REMOTE, where that
// cannot be read.
std::string FunctionName(absl::string_view pretty, absl::string_view text);

template <typename R, typename... P>
void AddToRegistry(absl::string_view name, R (*function)(P...)) {
  Registry::Global().Add(
      name, FunctionKey::Of(function),
      {.kind = kIsFactory<R> ? FunctionKind::kFactory : FunctionKind::kTask,
       .invoke = MakeInvoke(function)});
}

template <typename C, typename R, typename... P>
void AddToRegistry(absl::string_view name, R (C::*method)(P...)) {
  Registry::Global().Add(name, FunctionKey::Of(method),
                         {.kind = FunctionKind::kMethod,
                          .invoke = MakeMethodInvoke<C, R, P...>(method)});
}

template <typename C, typename R, typename... P>
void AddToRegistry(absl::string_view name, R (C::*method)(P...) const) {
  Registry::Global().Add(name, FunctionKey::Of(method),
                         {.kind = FunctionKind::kMethod,
                          .invoke = MakeMethodInvoke<C, R, P...>(method)});
}

template <auto F>
bool Register(const char* text) {
  AddToRegistry(FunctionName(__PRETTY_FUNCTION__, text), F);
  return true;
}

}  // namespace hoplite::task::internal

#endif  // HOPLITE_RAY_INTEGRATION_API_REGISTER_H_
