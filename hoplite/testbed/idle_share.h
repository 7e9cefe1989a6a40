// The share of this machine's processors that was idle in a span of time.
//
// A measurement on emulated hosts is worth little when the machine was busy:
// print the share beside it.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_TESTBED_IDLE_SHARE_H_
#define HOPLITE_TESTBED_IDLE_SHARE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace hoplite::testbed {

// All processors' ticks since the machine started.
struct ProcessorTicks {
  std::uint64_t idle = 0;
  std::uint64_t total = 0;
};

// From the text of /proc/stat. Waiting for a disk is idle; what a hypervisor
// took away is not.
//
// Errors: kInvalidArgument without a line that sums up all processors.
absl::StatusOr<ProcessorTicks> ParseProcessorTicks(absl::string_view text);

class IdleShareSampler {
 public:
  // Starts the span.
  //
  // Errors: kUnavailable where /proc/stat cannot be read.
  static absl::StatusOr<IdleShareSampler> Create();

  // From 0 to 1, of all processors together, since the last call or Create,
  // and starts the next span. 1 for a span too short to have a tick.
  //
  // Errors: kUnavailable where /proc/stat cannot be read.
  absl::StatusOr<double> Take();

 private:
  explicit IdleShareSampler(ProcessorTicks begin) : begin_(begin) {}

  ProcessorTicks begin_;
};

}  // namespace hoplite::testbed

#endif  // HOPLITE_TESTBED_IDLE_SHARE_H_
