// The workers of a node: which are starting, idle, leased, blocked or ending.
//
// Thread safety: none; one thread at a time.
// Complexity: O(log n) for each call, but where it says otherwise.

#ifndef HOPLITE_RAY_INTEGRATION_SCHEDULER_WORKER_POOL_H_
#define HOPLITE_RAY_INTEGRATION_SCHEDULER_WORKER_POOL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "ray_integration/base/process_id.h"
#include "ray_integration/scheduler/argument_room.h"
#include "ray_integration/scheduler/lease_id.h"
#include "ray_integration/scheduler/ready_queue.h"

namespace hoplite::task {

// A granted lease, as its worker keeps it.
struct HeldLease {
  LeaseId id;
  LeaseShape shape;
  std::optional<RoomKey> arguments;  // none: it has none, or let them go
  absl::Time granted;
  bool reclaimed = false;  // the owner was asked to return it
};

struct PooledWorker {
  std::string program;
  std::optional<HeldLease> lease;  // none: idle
  bool blocked = false;
  bool owns = false;             // something that is referenced
  bool ending = false;           // EndWorker was ordered
  std::uint64_t idle_since = 0;  // a count, not a time
};

class WorkerPool {
 public:
  using Workers = std::map<WorkerNumber, PooledWorker>;

  // --- Starts. ---
  StartId Start(const std::string& program);
  // The program of a start that has ended, and whether it is still wanted;
  // none where there was no such start.
  std::optional<std::pair<std::string, bool>> EndStart(StartId start);
  // Starts under way are of no use any more.
  void ForgetStarts(absl::string_view program);
  std::size_t starting(absl::string_view program) const;

  // --- Workers. ---
  // False where that number is in use.
  bool Add(WorkerNumber number, const std::string& program);
  // REQUIRES for all below: there is that worker.
  void Remove(WorkerNumber number);
  void Lease(WorkerNumber number, HeldLease lease);
  HeldLease EndLease(WorkerNumber number);
  void SetBlocked(WorkerNumber number, bool blocked);
  void SetOwns(WorkerNumber number, bool owns);
  void SetEnding(WorkerNumber number, bool ending);
  // May be changed, but for what the calls above change.
  PooledWorker* Find(WorkerNumber number);
  // The one that was idle for the shortest time.
  std::optional<WorkerNumber> IdleOf(const std::string& program) const;
  // The one that was idle for the longest time and owns nothing, of another
  // program if one is named. O(programs).
  std::optional<WorkerNumber> IdleToEnd(absl::string_view not_of) const;

  const Workers& workers() const { return workers_; }
  // What the bound on workers counts, starts included.
  std::size_t counted() const { return starts_.size() + counted_; }
  std::size_t starting() const { return starts_.size(); }
  std::size_t idle() const { return idle_count_; }
  std::size_t leased() const { return leased_; }
  std::size_t blocked() const { return blocked_; }
  std::size_t actors() const { return actors_; }
  // Those that are ordered to end and still count.
  std::size_t ending() const { return ending_; }
  std::string CheckInvariants() const;

 private:
  struct StartState {
    std::string program;
    bool wanted = true;
  };
  // Enters (+1) or strikes (-1) a worker in all that follows from it.
  void Count(WorkerNumber number, const PooledWorker& worker, int by);

  StartId last_start_;
  std::map<StartId, StartState> starts_;
  std::map<std::string, std::size_t, std::less<>> wanted_starts_;
  Workers workers_;
  std::uint64_t idle_clock_ = 0;
  // Idle and not ending, by when they became so.
  std::map<std::string, std::set<std::pair<std::uint64_t, WorkerNumber>>> idle_;
  std::size_t idle_count_ = 0;
  std::size_t counted_ = 0;
  std::size_t leased_ = 0;
  std::size_t blocked_ = 0;
  std::size_t actors_ = 0;
  std::size_t ending_ = 0;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_SCHEDULER_WORKER_POOL_H_
