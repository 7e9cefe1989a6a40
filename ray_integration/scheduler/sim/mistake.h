// Known mistakes that can be planted in a run, to see that they are found.
//
// Thread safety: values; as safe as int.

#ifndef HOPLITE_RAY_INTEGRATION_SCHEDULER_SIM_MISTAKE_H_
#define HOPLITE_RAY_INTEGRATION_SCHEDULER_SIM_MISTAKE_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace hoplite::task::sim {

enum class Mistake : std::uint8_t {
  kNone,
  // What a scheduler hears.
  kLoseRequest,    // it is never queued
  kForgetReturn,   // a worker that was given back stays leased
  kForgetWorker,   // a worker that died stays
  kForgetResumed,  // a worker that went on takes no processor
  kForgetOwner,    // a lost owner's workers go on
  kTakeUnready,    // arguments count as here at once
  kReverseDepth,   // the shallowest first
  kForgetHops,     // requests are handed on for ever
  // What it says.
  kLoseGrant,
  kLoseRefusal,
  kGrantTwice,     // one worker to two owners
  kAnswerTwice,    // a grant, and a refusal
  kReclaimAtOnce,  // a lease that nobody waits for, or that is young
  kFailCalls,      // though few workers are blocked
  // Its bounds.
  kOvercommit,       // it believes in more processors than there are
  kTakeResultsRoom,  // and in a larger store
  kTooManyWorkers,
  kQueueTooLong,
  // What an owner does.
  kAcceptTwice,  // runs a task again whose result it has
  kLoseTask,     // of a worker that died
};

absl::string_view ToString(Mistake mistake);
// All but kNone.
std::vector<Mistake> AllMistakes();

// Shared by all of one run.
struct Plant {
  Mistake mistake = Mistake::kNone;
  bool made = false;  // the opportunity came

  // True once, where it is that mistake's turn.
  bool Once(Mistake which) {
    if (mistake != which || made) return false;
    return made = true;
  }
  // True every time.
  bool Always(Mistake which) {
    if (mistake != which) return false;
    return made = true;
  }
};

}  // namespace hoplite::task::sim

#endif  // HOPLITE_RAY_INTEGRATION_SCHEDULER_SIM_MISTAKE_H_
