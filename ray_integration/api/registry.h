// The functions of this program that another process may run, by name.
//
// HOPLITE_REMOTE (ray_integration/api/remote.h) fills it before main; a worker
// looks up what it is told to run. A caller finds the name of what it was
// given by the function's address.
//
// Thread safety: Add before main only; the rest is thread-safe after that.

#ifndef HOPLITE_RAY_INTEGRATION_API_REGISTRY_H_
#define HOPLITE_RAY_INTEGRATION_API_REGISTRY_H_

#include <array>
#include <compare>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ray_integration/api/value.h"

namespace hoplite::task {

// An actor's state: null in a worker that is none.
struct Instance {
  std::shared_ptr<void> object;
  // Of the class that the object's factory named, for methods to look at.
  const std::type_info* type = nullptr;
};

// Runs the function. A factory fills `instance` and gives an empty value, a
// method uses it, a task leaves it alone. It may move from `arguments`. The
// result owns its value. It catches what the function throws.
// Errors: the function's own, without its name (see task_error.h);
// kInvalidArgument where the arguments are not the parameters'.
using Invoke = std::function<absl::StatusOr<Encoded>(
    Instance& instance, std::vector<Stored>& arguments)>;

enum class FunctionKind { kTask, kFactory, kMethod };

struct RegisteredFunction {
  FunctionKind kind = FunctionKind::kTask;
  Invoke invoke;
};

// The address of a function or of a method. Its type is part of it, since
// virtual methods of two classes may have equal bytes.
struct FunctionKey {
  std::type_index type;
  std::array<std::byte, 16> bytes{};

  template <typename F>
  static FunctionKey Of(F function) {
    static_assert(sizeof(F) <= 16);
    FunctionKey key{.type = typeid(F)};
    std::memcpy(key.bytes.data(), &function, sizeof(F));
    return key;
  }
  friend bool operator==(const FunctionKey&, const FunctionKey&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const FunctionKey& key) {
    return H::combine(std::move(state), key.bytes);
  }
};

class Registry {
 public:
  static Registry& Global();

  // The same function may come several times under one name. Two functions
  // of one name stop the program, with a message that says what to do.
  void Add(absl::string_view name, const FunctionKey& key,
           RegisteredFunction function);
  // Null where nothing is registered under that name.
  const RegisteredFunction* Find(absl::string_view name) const;
  // "" where it is not registered.
  absl::string_view NameOf(const FunctionKey& key) const;
  // All, in order: for whoever says what is there.
  std::vector<std::string> Names() const;

 private:
  absl::flat_hash_map<std::string, std::unique_ptr<RegisteredFunction>>
      functions_;
  absl::flat_hash_map<FunctionKey, std::string> names_;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_API_REGISTRY_H_
