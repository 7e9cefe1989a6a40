#include "hoplite/api/call_guard.h"

#include "absl/strings/str_cat.h"
#include "hoplite/runtime/client_requests.h"
#include "hoplite/runtime/clock.h"

namespace hoplite {
namespace {

// A busy node answers a little after the deadline, and says more.
constexpr absl::Duration kGrace = absl::Milliseconds(250);

}  // namespace

absl::Time GuardOf(absl::Time deadline) { return deadline + kGrace; }

absl::Status CallError(absl::StatusCode code, const CallName& call,
                       absl::string_view why) {
  return absl::Status(
      code, absl::StrCat(call.operation, " of ", call.object.ToHex(),
                         " on this host's node: ", why, "; ",
                         DescribeTimes(SystemClock::Now() - call.began,
                                       call.deadline - call.began)));
}

absl::Status ExpiredError(const CallName& call) {
  return CallError(absl::StatusCode::kDeadlineExceeded, call,
                   "it has not answered");
}

absl::Status CancelledError(const CallName& call) {
  return CallError(absl::StatusCode::kCancelled, call,
                   "cancelled by its caller");
}

}  // namespace hoplite
