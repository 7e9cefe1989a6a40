// The models of the paper's Figure 9: how large they are, and how long their
// worker's processor, an NVIDIA V100, computes one batch of 128 images.
//
// The one place of these times. No processor of that kind is needed here: a
// worker waits as long.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_APPS_PARAMETER_SERVER_MODELS_H_
#define HOPLITE_APPS_PARAMETER_SERVER_MODELS_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace hoplite::apps {

// Images in a worker's batch.
inline constexpr int kBatchSamples = 128;
// The paper's links had 9.69 Gbit/s: payloads divided by this behave on links
// of 250 Mbit/s as theirs did, second for second.
inline constexpr double kPaperScale = 38.76;

struct Model {
  absl::string_view name;   // as on the command line
  absl::string_view title;  // as in tables
  std::uint64_t parameters;
  double compute_ms;         // forward and backward, 32 bits, one batch
  absl::string_view source;  // of compute_ms

  std::uint64_t bytes() const { return parameters * sizeof(float); }
};

std::span<const Model> Models();
// Errors: kInvalidArgument, naming those that there are.
absl::StatusOr<Model> FindModel(absl::string_view name);

// The floats of an object of the model's size, divided by `scale`.
// REQUIRES: scale > 0.
std::uint64_t ScaledElements(const Model& model, double scale);

}  // namespace hoplite::apps

#endif  // HOPLITE_APPS_PARAMETER_SERVER_MODELS_H_
