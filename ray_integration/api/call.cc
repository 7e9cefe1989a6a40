#include "ray_integration/api/call.h"

#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ray_integration/api/runtime.h"

namespace hoplite::task::internal {
namespace {

absl::Status NotRegistered() {
  return absl::FailedPreconditionError(
      "what is called is not registered: write HOPLITE_REMOTE(Function) or "
      "HOPLITE_REMOTE(&Class::Method) at namespace scope, in a file that is "
      "linked into this program");
}

absl::StatusOr<Call> MakeCall(const FunctionKey& function,
                              std::vector<Argument> arguments) {
  const absl::string_view name = Registry::Global().NameOf(function);
  if (name.empty()) return NotRegistered();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto* reference = std::get_if<Reference>(&arguments[i]);
    if (reference != nullptr && *reference == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "argument ", i + 1, " of '", name,
          "' is an ObjectRef that refers to nothing: it was made by its "
          "default constructor"));
    }
  }
  return Call{.function = std::string(name), .arguments = std::move(arguments)};
}

}  // namespace

Reference Submit(const FunctionKey& function, std::vector<Argument> arguments,
                 const TaskOptions& options) {
  Runtime& runtime = Runtime::Current();
  auto call = MakeCall(function, std::move(arguments));
  if (!call.ok()) return runtime.FailedReference(std::move(call).status());
  call->options = options;
  return runtime.Submit(*std::move(call));
}

ActorReference CreateActor(const FunctionKey& factory,
                           std::vector<Argument> arguments,
                           const ActorOptions& options) {
  Runtime& runtime = Runtime::Current();
  auto call = MakeCall(factory, std::move(arguments));
  if (!call.ok()) return runtime.FailedActor(std::move(call).status());
  return runtime.CreateActor(*std::move(call), options);
}

Reference CallActor(const ActorReference& actor, const FunctionKey& method,
                    std::vector<Argument> arguments) {
  Runtime& runtime = Runtime::Current();
  auto call = MakeCall(method, std::move(arguments));
  if (call.ok() && actor == nullptr) {
    call = absl::InvalidArgumentError(absl::StrCat(
        "'", call->function,
        "' is called on an ActorRef that refers to nothing: it was made by "
        "its default constructor"));
  }
  if (!call.ok()) return runtime.FailedReference(std::move(call).status());
  return runtime.CallActor(actor, *std::move(call));
}

}  // namespace hoplite::task::internal
