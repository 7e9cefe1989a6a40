// The machine and the programs that a number was measured with: in every row,
// so that rows of two machines or two builds are never taken for one.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_EXPERIMENTS_MACHINE_H_
#define HOPLITE_EXPERIMENTS_MACHINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace hoplite::experiments {

// From the text of /proc/cpuinfo; "unknown processor" where it says nothing.
std::string ProcessorName(absl::string_view text);

// "Some Processor 3.0 GHz; 2 processors; 23 GiB; Linux 6.1.0": no commas.
std::string ThisMachine();

// The same for the same content of all files, in this order: 12 digits.
// Errors: kFailedPrecondition: one cannot be read.
absl::StatusOr<std::string> BuildOf(const std::vector<std::string>& programs);

}  // namespace hoplite::experiments

#endif  // HOPLITE_EXPERIMENTS_MACHINE_H_
