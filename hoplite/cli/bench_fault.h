// The fault in a benchmark's runs: which node is lost, when, and how.
//
// In text: PLACE@PERCENT% with, behind a colon, the kind where it is not kill:
// "relay@50%", "leaf@10%:stop"; or "none", which is measured as the others are.
//
// Thread safety: values; as safe as int.

#ifndef HOPLITE_CLI_BENCH_FAULT_H_
#define HOPLITE_CLI_BENCH_FAULT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace hoplite::cli {

enum class FaultPlace : std::uint8_t {
  kNone,
  kRelay,   // receives an object and is read from meanwhile
  kLeaf,    // of a reduction: sends its source
  kInner,   // of a reduction: sends a partial sum
  kHolder,  // of a broadcast: the only one that is complete
  kRoot,    // of a reduction: makes the target
};

enum class FaultKind : std::uint8_t {
  kKill,  // SIGKILL of the node's process
  kStop,  // SIGSTOP
  kCut,   // its link carries nothing any more, in silence
};

struct Fault {
  FaultPlace place = FaultPlace::kNone;
  // Of the stream that goes into a relay, out of a leaf, an inner member or a
  // holder, or that a root makes.
  int percent = 50;
  FaultKind kind = FaultKind::kKill;
  friend bool operator==(const Fault&, const Fault&) = default;
};

std::string ToString(const Fault& fault);
// nullopt: not of that form, or no percentage of 1 to 99.
std::optional<Fault> ParseFault(absl::string_view text);

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_BENCH_FAULT_H_
