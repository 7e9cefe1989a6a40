#include "ray_integration/api/invoke.h"

#include <cstddef>
#include <exception>
#include <new>
#include <span>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace hoplite::task::internal {

absl::StatusOr<Encoded> Guarded(
    absl::FunctionRef<absl::StatusOr<Encoded>()> body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("it ran out of memory");
  } catch (const std::exception& error) {
    return absl::UnknownError(error.what());
  } catch (...) {
    return absl::UnknownError("it threw something that is no std::exception");
  }
}

absl::Status WrongArgumentCount(std::size_t expected, std::size_t got) {
  return absl::InvalidArgumentError(
      absl::StrCat("it takes ", expected, " arguments, and got ", got));
}

absl::Status CheckDecoded(std::span<const absl::Status* const> decoded) {
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    if (!decoded[i]->ok()) {
      return absl::Status(
          decoded[i]->code(),
          absl::StrCat("argument ", i + 1, ": ", decoded[i]->message()));
    }
  }
  return absl::OkStatus();
}

absl::Status NoSuchActor(const char* expected_class) {
  return absl::FailedPreconditionError(
      absl::StrCat("this worker has no actor of the class ", expected_class));
}

absl::Status NullActor() {
  return absl::InternalError("the actor's factory returned null");
}

}  // namespace hoplite::task::internal
