// The requests that lack nothing but resources and a worker, in the order in
// which they are served.
//
// Requests with the same need stand in one line, as all of them fit or none.
// Order: the deepest first; of one depth, owners in turn. The turns are dealt
// on arrival: a request gets a turn after its owner's last one, but not before
// the turn that was served last.
//
// Thread safety: none; one thread at a time.
// Complexity: O(log n) for each call.

#ifndef HOPLITE_RAY_INTEGRATION_SCHEDULER_READY_QUEUE_H_
#define HOPLITE_RAY_INTEGRATION_SCHEDULER_READY_QUEUE_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"
#include "ray_integration/base/process_id.h"
#include "ray_integration/scheduler/lease_id.h"
#include "ray_integration/scheduler/resources.h"

namespace hoplite::task {

// What requests of one line have in common.
struct LeaseShape {
  std::string program;
  Resources need;
  bool for_actor = false;

  friend auto operator<=>(const LeaseShape&, const LeaseShape&) = default;
};

struct ReadyKey {
  std::uint32_t inverse_depth = 0;
  std::uint64_t turn = 0;
  std::uint64_t arrival = 0;

  friend auto operator<=>(const ReadyKey&, const ReadyKey&) = default;
};

class ReadyQueue {
 public:
  struct Entry {
    LeaseId lease;
    absl::Time since;  // when it was added
  };
  struct Line {
    absl::btree_map<ReadyKey, Entry> leases;  // the next one first
    // Of each owner, those that any lease of this shape would serve.
    absl::btree_map<ProcessId, std::uint32_t> plain;
  };
  using Lines = std::map<LeaseShape, Line>;

  // REQUIRES: `arrival` is unique. `plain`: has no by-reference arguments.
  ReadyKey Add(absl::Time now, const LeaseId& lease, const LeaseShape& shape,
               std::uint32_t depth, std::uint64_t arrival, bool plain);
  // REQUIRES: was added so, under that key.
  void Remove(const ReadyKey& key, const LeaseShape& shape, bool plain);
  // The same, because it is served: owners with later turns come closer.
  void Serve(const ReadyKey& key, const LeaseShape& shape, bool plain);

  // Without empty ones.
  const Lines& lines() const { return lines_; }
  std::size_t size() const { return size_; }

 private:
  struct Turns {
    std::uint64_t last = 0;
    std::uint32_t waiting = 0;
  };
  struct Depth {
    std::uint64_t served = 0;
    absl::btree_map<ProcessId, Turns> owners;  // those that wait
  };

  Lines lines_;
  absl::btree_map<std::uint32_t, Depth> depths_;  // by inverse depth
  std::size_t size_ = 0;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_SCHEDULER_READY_QUEUE_H_
