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
  kStartAgain,         // from byte 0, because a server was lost
  // Reductions.
  kFoldSourceTwice,
  kDropSource,  // and reports it all the same
  kReportOtherSource,
  kFoldOneLess,    // than the count asked for
  kForgetDivisor,  // of an average
  // Reductions that lose a member.
  kForgetAncestor,  // it is not told to start again
  kKeepGeneration,  // of a position that another member fills
  kTakeLostInput,   // without having been told
  kChangeFinal,     // another version of a final target
  // Answers.
  kAnswerEarly,        // a Get before all bytes are there
  kAnswerBeforeFinal,  // a Get of a target that may still change
  kAnswerTwice,
  kAnswerNever,
  kAnswerLate,        // long after the deadline
  kSealEarly,         // a Put before its client has written
  kDenyObject,        // says deleted of what is there
  kDeclareLoss,       // says lost of what is there
  kAnswerPartialSum,  // of some of a target's sources, to one reader
  // Memory.
  kKeepBuffer,
  kReleaseTwice,
  kEvictLastCopy,
  kDeleteNothing,  // says deleted, and all stays
  // Recovery.
  kReportNothing,  // of what it holds to a new host
  kTakeNoReport,   // of a member, and concludes all the same
  // Members.
  kAdmitAsAnother,   // under the id of a living member
  kAdmitInOldLife,   // under an incarnation that was given out before
  kMissMember,       // one member is not told of a new one
  kKeepTheDead,      // goes on hearing who is no member
  kDropOnSuspicion,  // takes a broken stream for a verdict
  kLiveOn,           // after its own death was declared
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
