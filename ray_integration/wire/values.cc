#include "ray_integration/wire/values.h"

#include "absl/strings/str_cat.h"
#include "hoplite/base/digest.h"
#include "ray_integration/wire/pack.h"

namespace hoplite::task {

ErrorInfo ToInfo(const absl::Status& status) {
  return {.code = static_cast<std::uint8_t>(status.code()),
          .message = std::string(status.message())};
}

absl::Status ToStatus(const ErrorInfo& info) {
  constexpr auto kLast =
      static_cast<std::uint8_t>(absl::StatusCode::kUnauthenticated);
  const auto code = info.code <= kLast
                        ? static_cast<absl::StatusCode>(info.code)
                        : absl::StatusCode::kUnknown;
  return absl::Status(code, info.message);
}

std::string KeyOf(const ProgramInfo& program, const ProcessId& driver) {
  std::string packed;
  Pack(program, packed);
  Pack(driver, packed);
  return packed;
}

}  // namespace hoplite::task
