#include "hoplite/api/call_guard.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hoplite/runtime/clock.h"

namespace hoplite {
namespace {

// A busy node answers a little after the deadline, and says more.
constexpr absl::Duration kGrace = absl::Milliseconds(250);

}  // namespace

absl::Time GuardOf(absl::Time deadline) { return deadline + kGrace; }

absl::Status ExpiredError(absl::string_view operation, const ObjectId& object,
                          absl::Time deadline) {
  return absl::DeadlineExceededError(absl::StrFormat(
      "%s of %s: this host's node has not answered %.3fs after the deadline",
      operation, object.ToHex(),
      absl::ToDoubleSeconds(SystemClock::Now() - deadline)));
}

absl::Status CancelledError(absl::string_view operation,
                            const ObjectId& object) {
  return absl::CancelledError(absl::StrCat(operation, " of ", object.ToHex(),
                                           ": cancelled by its caller"));
}

}  // namespace hoplite
