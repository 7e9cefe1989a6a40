// When a node says what it has free: twice a second while that changes, and at
// once when it fills or empties.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_RAY_INTEGRATION_SCHEDULER_LOAD_PUBLISHER_H_
#define HOPLITE_RAY_INTEGRATION_SCHEDULER_LOAD_PUBLISHER_H_

#include <optional>

#include "absl/time/time.h"
#include "ray_integration/scheduler/scheduler_command.h"

namespace hoplite::task {

class LoadPublisher {
 public:
  // `interval` between two rows; `interval_min` where it fills or empties.
  LoadPublisher(absl::Duration interval, absl::Duration interval_min)
      : interval_(interval), interval_min_(interval_min) {}

  // Whether `load` is to be published now; then it counts as published.
  bool Due(absl::Time now, const scheduler_command::PublishLoad& load);
  // When what was last shown is to be published.
  std::optional<absl::Time> next() const { return next_; }

 private:
  const absl::Duration interval_;
  const absl::Duration interval_min_;
  std::optional<scheduler_command::PublishLoad> published_;
  absl::Time published_at_;
  std::optional<absl::Time> next_;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_SCHEDULER_LOAD_PUBLISHER_H_
