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

// By when a node that lives has answered a call with this deadline.
absl::Time GuardOf(absl::Time deadline);

// What a client says of its own: the node has not answered by the guard.
absl::Status ExpiredError(absl::string_view operation, const ObjectId& object,
                          absl::Time deadline);
// The caller has cancelled the call.
absl::Status CancelledError(absl::string_view operation,
                            const ObjectId& object);

}  // namespace hoplite

#endif  // HOPLITE_API_CALL_GUARD_H_
