// Which fault comes next, drawn by seed.
//
// Each kind comes equally often: every round has all of them, shuffled.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CLI_CHAOS_FAULTS_H_
#define HOPLITE_CLI_CHAOS_FAULTS_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "hoplite/base/random.h"
#include "hoplite/cli/chaos_options.h"

namespace hoplite::cli {

struct DrawnFault {
  ChaosFault fault = ChaosFault::kKill;
  absl::Duration gap;        // since the one before
  absl::Duration length;     // until the host is healed
  std::uint64_t victim = 0;  // modulo the number of those that can be hit
};

class ChaosFaults {
 public:
  // REQUIRES: at least one kind.
  ChaosFaults(std::uint64_t seed, std::vector<ChaosFault> kinds);

  DrawnFault Draw();

 private:
  absl::Duration DrawLength(ChaosFault fault);

  Random random_;
  const std::vector<ChaosFault> kinds_;
  std::vector<ChaosFault> round_;  // those that are still to come
};

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_CHAOS_FAULTS_H_
