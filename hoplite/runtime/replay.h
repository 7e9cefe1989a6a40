// Runs the core along the recorded log of a node, and says where it orders
// something else than that node's did.
//
// Not responsible for: carrying commands out; reading files.
// Thread safety: thread-safe.

#ifndef HOPLITE_RUNTIME_REPLAY_H_
#define HOPLITE_RUNTIME_REPLAY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace hoplite {

struct ReplayReport {
  std::uint64_t lives = 0;
  // All of them, or those up to the first that differs.
  std::uint64_t steps = 0;
  // Of that step, in words: what happened, what the log has, what the core
  // orders now. Empty: everything is the same.
  std::string difference;
};

// Errors: kInvalidArgument: `log` is none, of another release, or says what no
// driver does: a time that goes back, a request under a number that was used.
absl::StatusOr<ReplayReport> Replay(absl::string_view log);

}  // namespace hoplite

#endif  // HOPLITE_RUNTIME_REPLAY_H_
