// From what the runtime was handed to a C++ call, on the worker's side.
//
// Thread safety: thread-safe, where the function is.

#ifndef HOPLITE_RAY_INTEGRATION_API_INVOKE_H_
#define HOPLITE_RAY_INTEGRATION_API_INVOKE_H_

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ray_integration/api/call.h"
#include "ray_integration/api/codec.h"
#include "ray_integration/api/registry.h"
#include "ray_integration/api/value.h"
#include "ray_integration/api/value_view.h"

namespace hoplite::task::internal {

// What `body` returns; an exception becomes kUnknown with its what().
absl::StatusOr<Encoded> Guarded(
    absl::FunctionRef<absl::StatusOr<Encoded>()> body);
absl::Status WrongArgumentCount(std::size_t expected, std::size_t got);
// The first error, with the number of its argument.
absl::Status CheckDecoded(std::span<const absl::Status* const> decoded);
absl::Status NoSuchActor(const char* expected_class);
absl::Status NullActor();

template <typename P>
auto DecodeArgument(Stored&& argument) {
  using Bare = std::remove_cvref_t<P>;
  if constexpr (kIsValue<Bare>) {
    return Bare::From(std::move(argument));
  } else {
    return Decode<Bare>(argument);
  }
}

template <typename T>
struct IsStatusOr : std::false_type {};
template <typename T>
struct IsStatusOr<absl::StatusOr<T>> : std::true_type {};

// Runs `body`, and makes of its result what travels.
template <typename Body>
absl::StatusOr<Encoded> EncodeResultOf(Body&& body) {
  using R = std::remove_cvref_t<decltype(body())>;
  if constexpr (std::is_void_v<R>) {
    body();
    return EncodeNothing();
  } else if constexpr (std::is_same_v<R, absl::Status>) {
    absl::Status status = body();
    if (!status.ok()) return status;
    return EncodeNothing();
  } else if constexpr (IsStatusOr<R>::value) {
    auto result = body();
    if (!result.ok()) return std::move(result).status();
    return EncodeOwned(*std::move(result));
  } else {
    return EncodeOwned<R>(body());
  }
}

// Runs the factory, whose actor goes into `instance`.
template <typename Body>
absl::StatusOr<Encoded> MakeInstance(Instance& instance, Body&& body) {
  std::shared_ptr<void> made;
  using R = decltype(body());
  if constexpr (IsStatusOr<R>::value) {
    auto result = body();
    if (!result.ok()) return std::move(result).status();
    made = *std::move(result);
  } else {
    made = body();
  }
  if (made == nullptr) return NullActor();
  instance = {.object = std::move(made), .type = &typeid(ClassMadeBy<R>)};
  return EncodeNothing();
}

// Decodes the arguments and hands them to `use` as the parameters P.
template <typename... P, typename Use, std::size_t... I>
absl::StatusOr<Encoded> WithArguments(std::vector<Stored>& arguments,
                                      std::index_sequence<I...>, Use use) {
  if (arguments.size() != sizeof...(P)) {
    return WrongArgumentCount(sizeof...(P), arguments.size());
  }
  [[maybe_unused]] std::tuple<decltype(DecodeArgument<P>(
      std::declval<Stored>()))...>
  decoded(DecodeArgument<P>(std::move(arguments[I]))...);
  const std::array<const absl::Status*, sizeof...(P)> statuses{
      &std::get<I>(decoded).status()...};
  absl::Status all = CheckDecoded(statuses);
  if (!all.ok()) return all;
  return Guarded([&] { return use(*std::move(std::get<I>(decoded))...); });
}

template <typename R, typename... P>
Invoke MakeInvoke(R (*function)(P...)) {
  return [function](Instance& instance, std::vector<Stored>& arguments) {
    return WithArguments<P...>(arguments, std::index_sequence_for<P...>(),
                               [&](auto&&... values) {
                                 const auto body = [&]() -> R {
                                   return function(std::move(values)...);
                                 };
                                 if constexpr (kIsFactory<R>) {
                                   return MakeInstance(instance, body);
                                 } else {
                                   return EncodeResultOf(body);
                                 }
                               });
  };
}

// `Method` is R (C::*)(P...), const or not.
template <typename C, typename R, typename... P, typename Method>
Invoke MakeMethodInvoke(Method method) {
  return [method](Instance& instance, std::vector<Stored>& arguments) {
    if (instance.object == nullptr || *instance.type != typeid(C)) {
      return absl::StatusOr<Encoded>(NoSuchActor(typeid(C).name()));
    }
    return WithArguments<P...>(
        arguments, std::index_sequence_for<P...>(), [&](auto&&... values) {
          return EncodeResultOf([&]() -> R {
            return (static_cast<C*>(instance.object.get())->*method)(
                std::move(values)...);
          });
        });
  };
}

}  // namespace hoplite::task::internal

#endif  // HOPLITE_RAY_INTEGRATION_API_INVOKE_H_
