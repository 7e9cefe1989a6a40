// What a node's scheduler is told when it begins.
//
// Thread safety: values; as safe as int.
// Units: bytes.

#ifndef HOPLITE_RAY_INTEGRATION_SCHEDULER_SCHEDULER_CONFIG_H_
#define HOPLITE_RAY_INTEGRATION_SCHEDULER_SCHEDULER_CONFIG_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "ray_integration/scheduler/resources.h"

namespace hoplite::task {

struct SchedulerConfig {
  NodeRef node;  // this one
  std::string host;
  Resources total;
  // Of the node's store; a quarter of it is kept for results.
  std::uint64_t store_bytes = std::uint64_t{1} << 30;

  // Requests that may wait; more are handed on or refused.
  std::uint32_t queued_max = 10'000;
  // Processes apart from blocked ones, and from idle ones that own something.
  std::uint32_t workers_max = 64;
  // Of these, places that actors leave to tasks.
  std::uint32_t task_workers_min = 4;
  // Blocked workers; the agent knows how much memory there is.
  std::uint32_t blocked_max = 256;
  // Starts of one program that fail in a row before it is given up.
  std::uint32_t start_failures_max = 3;

  // How long to wait for a host, for resources or for room that is not there.
  absl::Duration patience = absl::Seconds(10);
  // From when on a lease is taken back while others wait.
  absl::Duration lease_age = absl::Milliseconds(10);
  // A request that does not fit keeps what it needs from later ones from here
  // on.
  absl::Duration yield_age = absl::Seconds(1);
  // Between two rows of the table; a node that fills or empties says so at
  // once, but not more often than the second.
  absl::Duration load_interval = absl::Milliseconds(500);
  absl::Duration load_interval_min = absl::Milliseconds(10);
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_SCHEDULER_SCHEDULER_CONFIG_H_
