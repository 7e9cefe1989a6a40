// The scheduler of one node: which request gets which worker here, and which
// goes elsewhere.
//
// A pure machine, in the manner of hoplite/core: it is told what happened and
// what time it is, and says what is to be done. Requests wait in one queue:
// the deepest task first, then owners in turn, then in order of arrival.
// Arguments are fetched in the order of depth and arrival, as room allows.
//
// Not responsible for: tasks, which wait at their owners; retries; what runs
// on a leased worker.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_RAY_INTEGRATION_SCHEDULER_SCHEDULER_H_
#define HOPLITE_RAY_INTEGRATION_SCHEDULER_SCHEDULER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "ray_integration/scheduler/resources.h"
#include "ray_integration/scheduler/scheduler_command.h"
#include "ray_integration/scheduler/scheduler_config.h"
#include "ray_integration/scheduler/scheduler_event.h"

namespace hoplite::task {

// For people, and for checkers.
struct SchedulerStatus {
  Resources free;  // negative where a blocked worker has gone on
  Resources total;
  std::uint32_t queued = 0;         // requests that wait, all together
  std::uint32_t unplaceable = 0;    // of these: no living node could take them
  std::uint32_t awaiting_room = 0;  // of these: for their arguments
  std::uint32_t fetching = 0;       // of these: arguments are under way
  std::uint32_t starting = 0;       // workers
  std::uint32_t idle = 0;
  std::uint32_t leased = 0;  // blocked ones and actors included
  std::uint32_t blocked = 0;
  std::uint32_t actors = 0;
  std::uint64_t argument_bytes = 0;  // room taken
};

class Scheduler {
 public:
  // REQUIRES: config.node and config.total are set, bounds are positive.
  explicit Scheduler(SchedulerConfig config);
  ~Scheduler();
  Scheduler(Scheduler&&) noexcept;

  // Appends to `out` what is to be done. REQUIRES: `now` never decreases.
  void Handle(absl::Time now, const SchedulerEvent& event,
              SchedulerCommands& out);
  // A call that comes too early, or twice, is harmless.
  void HandleTimeout(absl::Time now, SchedulerCommands& out);
  // When HandleTimeout is wanted; may change after any call.
  std::optional<absl::Time> NextTimeout() const;

  SchedulerStatus Status() const;
  // Empty where every invariant of this state holds; else the first that does
  // not, in words.
  std::string CheckInvariants() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_SCHEDULER_SCHEDULER_H_
