// Known mistakes that can be planted in a run.
//
// Thread safety: values; as safe as int.

#ifndef HOPLITE_SIM_MISTAKE_H_
#define HOPLITE_SIM_MISTAKE_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace hoplite::sim {

enum class Mistake : std::uint8_t {
  kNone,
  // Transfers.
  kServeOtherObject,   // another object's buffer for a pull
  kServeAbandonedPut,  // bytes of a Put that was given up
  kSkipBytes,          // pulls from beyond what it has
  kGrantCircle,        // two receivers wait for each other
  kGrantTwice,         // two receivers in one place of a chain
  kFetchTwice,         // one object crosses into a node twice
  kIgnorePull,         // a pull is never answered
  // Reductions.
  kFoldSourceTwice,
  kDropSource,  // and reports it all the same
  kReportOtherSource,
  kFoldOneLess,    // than the count asked for
  kForgetDivisor,  // of an average
  // Answers.
  kAnswerEarly,        // a Get before all bytes are there
  kAnswerBeforeFinal,  // a Get of a target that may still change
  kAnswerTwice,
  kAnswerNever,
  kAnswerLate,  // long after the deadline
  kSealEarly,   // a Put before its client has written
  kDenyObject,  // says deleted of what is there
  // Memory.
  kKeepBuffer,
  kReleaseTwice,
  kEvictLastCopy,
  kDeleteNothing,  // says deleted, and all stays
};

absl::string_view ToString(Mistake mistake);
// All but kNone.
std::vector<Mistake> AllMistakes();

// Shared by the machines of one run.
struct Plant {
  Mistake mistake = Mistake::kNone;
  bool made = false;  // the opportunity came
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_MISTAKE_H_
