// Bounds a call from the client's side, where its node does not answer, and
// lets its future cancel it.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_API_CALL_GUARD_H_
#define HOPLITE_API_CALL_GUARD_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/base/id.h"

namespace hoplite {

// A call, as its errors name it.
struct CallName {
  absl::string_view operation;  // "Get"
  ObjectId object;
  absl::Time began;
  absl::Time deadline;
};

// By when a node that lives has answered a call with this deadline.
absl::Time GuardOf(absl::Time deadline);

// "Get of <id> on this host's node: <why>; after 0.250s, deadline 5.000s".
absl::Status CallError(absl::StatusCode code, const CallName& call,
                       absl::string_view why);
// What a client says of its own: the node has not answered by the guard.
absl::Status ExpiredError(const CallName& call);
// The caller has cancelled the call.
absl::Status CancelledError(const CallName& call);

}  // namespace hoplite

#endif  // HOPLITE_API_CALL_GUARD_H_
