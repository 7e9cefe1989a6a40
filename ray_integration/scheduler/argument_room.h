// Which requests' arguments are brought here, and when.
//
// The arguments of one request are fetched as a whole, in the order of the
// queue, into three quarters of the store: the last one is kept for results.
// While a request waits for room no later one begins, and what was fetched for
// later ones is given up. An object that several requests want takes its room
// once. A granted lease keeps its arguments.
//
// Thread safety: none; one thread at a time.
// Units: bytes.
// Complexity: O(arguments · log n) for each call.

#ifndef HOPLITE_RAY_INTEGRATION_SCHEDULER_ARGUMENT_ROOM_H_
#define HOPLITE_RAY_INTEGRATION_SCHEDULER_ARGUMENT_ROOM_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "hoplite/base/id.h"
#include "ray_integration/scheduler/lease_id.h"
#include "ray_integration/scheduler/lease_request.h"

namespace hoplite::task {

// The place in the queue: the deepest first, then in order of arrival.
struct RoomKey {
  std::uint32_t inverse_depth = 0;
  std::uint64_t arrival = 0;

  friend auto operator<=>(const RoomKey&, const RoomKey&) = default;
};

class ArgumentRoom {
 public:
  struct Change {
    RoomKey key;
    FetchId fetch;
    bool drop = false;  // else: begin
  };

  explicit ArgumentRoom(std::uint64_t store_bytes)
      : room_bytes_(store_bytes - store_bytes / 4) {}

  // Whether they fit where nothing else is.
  bool CouldHold(const std::vector<LeaseArgument>& arguments) const;
  // REQUIRES: a new key; CouldHold(arguments).
  void Add(const RoomKey& key, const std::vector<LeaseArgument>& arguments);
  // Begins what there is room for, and gives up what has to wait.
  void Plan(std::vector<Change>& out);
  // The fetch that it had, or none.
  FetchId Remove(const RoomKey& key);
  // It is granted: it is not given up any more.
  void Keep(const RoomKey& key);
  // The request of a fetch that was begun, not given up, and not kept;
  // nullptr where there is none.
  const RoomKey* Find(FetchId fetch) const;
  std::vector<ObjectId> ObjectsOf(const RoomKey& key) const;

  std::uint64_t bytes() const { return bytes_; }
  std::size_t waiting() const { return waiting_.size(); }
  // In the order of the queue.
  const absl::btree_set<RoomKey>& waiting_keys() const { return waiting_; }
  std::string CheckInvariants() const;

 private:
  struct Entry {
    std::vector<LeaseArgument> arguments;  // each object once
    FetchId fetch;
    bool kept = false;
  };
  struct Object {
    std::uint64_t bytes = 0;
    std::uint32_t holders = 0;
  };

  bool Fits(const Entry& entry) const;
  void Take(Entry& entry);
  void Release(Entry& entry);

  const std::uint64_t room_bytes_;
  std::map<RoomKey, Entry> entries_;
  absl::btree_set<RoomKey> waiting_;
  absl::btree_set<RoomKey> begun_;  // and not kept
  absl::btree_map<FetchId, RoomKey> fetches_;
  absl::flat_hash_map<ObjectId, Object> objects_;  // for look-up only
  std::uint64_t bytes_ = 0;
  FetchId last_fetch_;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_SCHEDULER_ARGUMENT_ROOM_H_
