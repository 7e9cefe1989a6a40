// What `hoplite chaos` is asked to do, and the faults that it knows.
//
// Thread safety: values; as safe as int.
// Units: bits per second.

#ifndef HOPLITE_CLI_CHAOS_OPTIONS_H_
#define HOPLITE_CLI_CHAOS_OPTIONS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace hoplite::cli {

enum class ChaosFault : std::uint8_t {
  kKill,     // SIGKILL; started again later, at another address
  kStop,     // SIGSTOP; woken later
  kRestart,  // SIGKILL; started again at once, at the same address
  kCut,      // nothing passes the host's link for a while
  kHead,     // SIGKILL of the head; started again where it was
};
inline constexpr ChaosFault kChaosFaults[] = {
    ChaosFault::kKill, ChaosFault::kStop, ChaosFault::kRestart,
    ChaosFault::kCut, ChaosFault::kHead};

absl::string_view ToString(ChaosFault fault);
// Whether the node's process ends.
bool Kills(ChaosFault fault);

// Of "kill,stop,…". Errors: kInvalidArgument: an unknown one, one that is there
// twice, or none at all.
absl::StatusOr<std::vector<ChaosFault>> ParseChaosFaults(
    absl::string_view names);

struct ChaosOptions {
  int nodes = 16;
  std::uint64_t link_bits_per_second = 250'000'000;
  absl::Duration length = absl::Minutes(20);
  std::uint64_t seed = 1;
  std::vector<ChaosFault> faults;
  // A hoplited and a worker on each host, instead of embedded nodes.
  bool daemon = false;
  // What the nodes log, and whatever is counted against them, as it happens.
  bool verbose = false;
};

// Errors: kInvalidArgument: too few or too many nodes, or too short.
absl::Status Validate(const ChaosOptions& options);

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_CHAOS_OPTIONS_H_
