// ActorRef<C>: an object of class C that lives in a worker of its own.
//
//   ActorRef<Counter> counter = task::RemoteActor(MakeCounter, 10);
//   ObjectRef<int> now = counter.Remote(&Counter::Add, 1);
//
// Calls of one process run in the order in which it made them, one at a time.
// The actor ends when no ActorRef to it is left anywhere, or by Kill.
//
// Thread safety: as safe as a std::shared_ptr.

#ifndef HOPLITE_RAY_INTEGRATION_API_ACTOR_REF_H_
#define HOPLITE_RAY_INTEGRATION_API_ACTOR_REF_H_

#include <type_traits>
#include <utility>

#include "ray_integration/api/call.h"
#include "ray_integration/api/object_ref.h"
#include "ray_integration/api/options.h"
#include "ray_integration/api/registry.h"
#include "ray_integration/api/value.h"

namespace hoplite::task {

template <typename C>
class ActorRef {
 public:
  using ActorType = C;

  // Refers to none; its calls fail.
  ActorRef() = default;
  explicit ActorRef(ActorReference reference)
      : reference_(std::move(reference)) {}

  explicit operator bool() const { return reference_ != nullptr; }
  ActorId id() const { return reference_ ? reference_->id : ActorId(); }
  const ActorReference& reference() const { return reference_; }

  template <typename R, typename D, typename... P, typename... A>
  ObjectRef<internal::ResultOf<R>> Remote(R (D::*method)(P...),
                                          const A&... arguments) const {
    return Call<R, D, P...>(FunctionKey::Of(method), arguments...);
  }
  template <typename R, typename D, typename... P, typename... A>
  ObjectRef<internal::ResultOf<R>> Remote(R (D::*method)(P...) const,
                                          const A&... arguments) const {
    return Call<R, D, P...>(FunctionKey::Of(method), arguments...);
  }

  friend bool operator==(const ActorRef& a, const ActorRef& b) {
    return a.id() == b.id();
  }

 private:
  template <typename R, typename D, typename... P, typename... A>
  ObjectRef<internal::ResultOf<R>> Call(const FunctionKey& method,
                                        const A&... arguments) const {
    static_assert(std::is_same_v<C, D>,
                  "this is a method of another class than the actor's; for "
                  "one of a base class, add a method that calls it");
    if constexpr (sizeof...(P) == sizeof...(A)) {
      return ObjectRef<internal::ResultOf<R>>(internal::CallActor(
          reference_, method,
          internal::MakeArguments<P...>(internal::Convert<P>(arguments)...)));
    } else {
      static_assert(sizeof...(P) == sizeof...(A),
                    "Remote needs one argument for each parameter of the "
                    "method, those with defaults too");
    }
  }

  ActorReference reference_;
};

// Starts an actor: `factory` returns a std::unique_ptr<C>, or a StatusOr of
// one, and runs in the actor's worker. Where it fails, each call fails.
template <typename R, typename... P, typename... A>
ActorRef<internal::ClassMadeBy<R>> RemoteActor(const ActorOptions& options,
                                               R (*factory)(P...),
                                               const A&... arguments) {
  static_assert(internal::kIsFactory<R>,
                "an actor's factory returns std::unique_ptr<Class> or "
                "absl::StatusOr<std::unique_ptr<Class>>; call any other "
                "function with Remote");
  if constexpr (sizeof...(P) == sizeof...(A)) {
    return ActorRef<internal::ClassMadeBy<R>>(internal::CreateActor(
        FunctionKey::Of(factory),
        internal::MakeArguments<P...>(internal::Convert<P>(arguments)...),
        options));
  } else {
    static_assert(sizeof...(P) == sizeof...(A),
                  "RemoteActor needs one argument for each parameter of the "
                  "factory, those with defaults too");
  }
}

template <typename R, typename... P, typename... A>
ActorRef<internal::ClassMadeBy<R>> RemoteActor(R (*factory)(P...),
                                               const A&... arguments) {
  return RemoteActor(ActorOptions(), factory, arguments...);
}

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_API_ACTOR_REF_H_
