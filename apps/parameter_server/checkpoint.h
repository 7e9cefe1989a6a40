// The last weights that were published, in a file: what a server that is
// started again goes on from.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_APPS_PARAMETER_SERVER_CHECKPOINT_H_
#define HOPLITE_APPS_PARAMETER_SERVER_CHECKPOINT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hoplite::apps {

struct Checkpoint {
  std::int64_t updates = 0;  // that are in the weights
  std::vector<float> weights;
};

// The file is the old or the new one, never a part.
// Errors: kFailedPrecondition, naming the path.
absl::Status WriteCheckpoint(const std::string& path, std::int64_t updates,
                             std::span<const float> weights);

// None where there is no such file.
// Errors: kFailedPrecondition: it cannot be read; kDataLoss: it is no
// checkpoint.
absl::StatusOr<std::optional<Checkpoint>> ReadCheckpoint(
    const std::string& path);

}  // namespace hoplite::apps

#endif  // HOPLITE_APPS_PARAMETER_SERVER_CHECKPOINT_H_
