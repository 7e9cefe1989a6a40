// What a benchmark's member sees of its own node while a run is under way, for
// the one that loses a node in it.
//
// The node is asked once in a millisecond, or less often, and only where
// something is about to happen; nothing of that is on the way of the bytes.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_CLI_BENCH_WATCH_H_
#define HOPLITE_CLI_BENCH_WATCH_H_

#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/cli/bench_spot.h"

namespace hoplite::cli {

// `status`: the node's report, without members and shards, as text.
absl::StatusOr<nlohmann::json> ReportNode(Client& client);

nlohmann::json WatchCommand(const FaultSpot& spot, int percent);
// `watch`: until the stream has come so far (and is read), or never will
// -> reached, percent. REQUIRES: what WatchCommand makes.
absl::StatusOr<nlohmann::json> WatchStream(Client& client,
                                           const nlohmann::json& command);

nlohmann::json MissCommand(NodeRef node);
// `miss`: until the node is no member any more, as this one has heard -> at,
// in nanoseconds of the steady clock. REQUIRES: what MissCommand makes.
// Errors: kDeadlineExceeded: not within kMissTimeout.
absl::StatusOr<nlohmann::json> AwaitLoss(Client& client,
                                         const nlohmann::json& command);
inline constexpr absl::Duration kMissTimeout = absl::Seconds(60);

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_BENCH_WATCH_H_
