// LruOrder keeps buffers in the order of their last use, and says which to
// give up when room is needed.
//
// Not responsible for: pins (the caller's predicate), leave to evict (the
// directory's), the memory.
// Thread safety: none; one thread at a time.
// Units: bytes.
// Complexity: O(1) for each call; Candidates: O(buffers that it looks at).

#ifndef HOPLITE_STORE_EVICTION_H_
#define HOPLITE_STORE_EVICTION_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "hoplite/base/id.h"

namespace hoplite {

class LruOrder {
 public:
  // What Candidates found.
  struct Choice {
    std::vector<BufferId> ids;  // least recently used first
    std::uint64_t bytes = 0;    // the sum of their sizes
  };

  // `id` is the most recently used from now on. REQUIRES: it is not here.
  void Insert(BufferId id, std::uint64_t size);
  // So it is again; false where it is not here.
  bool Touch(BufferId id);
  // False where it is not here.
  bool Erase(BufferId id);

  // The least recently used of those for which `may_evict`, as few as have
  // `bytes_needed` together; all of them where even they have less. Buffers of
  // 0 bytes free nothing and are left out. Changes nothing.
  Choice Candidates(std::uint64_t bytes_needed,
                    absl::FunctionRef<bool(BufferId)> may_evict) const;

  std::size_t size() const { return entries_.size(); }
  std::uint64_t total_bytes() const { return total_bytes_; }

 private:
  struct Entry {
    BufferId id;
    std::uint64_t size;
  };
  using Entries = std::list<Entry>;

  Entries entries_;  // least recently used first
  absl::flat_hash_map<BufferId, Entries::iterator> by_id_;
  std::uint64_t total_bytes_ = 0;
};

}  // namespace hoplite

#endif  // HOPLITE_STORE_EVICTION_H_
