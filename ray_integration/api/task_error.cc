#include "ray_integration/api/task_error.h"

#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace hoplite::task {
namespace {

absl::Status WithMessage(const absl::Status& why, std::string message) {
  constexpr absl::string_view kCut = " [...] ";
  if (message.size() > kErrorMessageBytesMax) {
    const std::size_t kept = (kErrorMessageBytesMax - kCut.size()) / 2;
    message = absl::StrCat(message.substr(0, kept), kCut,
                           message.substr(message.size() - kept));
  }
  absl::Status status(why.code(), message);
  why.ForEachPayload([&status](absl::string_view url, const absl::Cord& data) {
    status.SetPayload(url, data);
  });
  return status;
}

}  // namespace

absl::Status FailedTask(absl::string_view name, const absl::Status& why) {
  return WithMessage(why,
                     absl::StrCat("task '", name, "' failed: ", why.message()));
}

absl::Status NotRunTask(absl::string_view name, std::size_t argument,
                        const absl::Status& why) {
  return WithMessage(
      why, absl::StrCat("task '", name, "' did not run, since its argument ",
                        argument + 1, " is an error: ", why.message()));
}

}  // namespace hoplite::task
