// ObjectStore is one memory of fixed capacity, from which buffers are taken
// and to which they return.
//
// The whole memory is reserved at the start, reused, and shared with other
// processes by file descriptor; see SharedMapping for their side. A buffer
// lives as long as somebody holds it: that is the pin, and deleting an object
// never takes memory from under a reader.
//
// Not responsible for: which object a buffer holds, what may be evicted, who
// waits for room.
// Thread safety: thread-safe.
// Units: bytes; every buffer begins at a multiple of 64.

#ifndef HOPLITE_STORE_OBJECT_STORE_H_
#define HOPLITE_STORE_OBJECT_STORE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "hoplite/base/id.h"
#include "hoplite/store/object_buffer.h"

namespace hoplite {

struct StoreOptions {
  std::uint64_t capacity_bytes = 0;  // rounded up to a multiple of 64
};

class ObjectStore {
  class Arena;

 public:
  // Reserves the memory, which takes about a quarter of a second for each GiB,
  // and goes on to touch it in the background, so that first use is fast.
  // Errors: kInvalidArgument: no capacity. kResourceExhausted: more than this
  // machine has left, with both sizes.
  static absl::StatusOr<std::unique_ptr<ObjectStore>> Create(
      const StoreOptions& options);

  // Buffers may outlive the store: they keep its memory.
  // REQUIRES: not called from within the callback for freed room.
  ~ObjectStore();
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;

  // A buffer of `size` bytes, 0 too, with watermark 0 and any content.
  // Errors: kResourceExhausted: larger than the store (see FitsEver), or no
  // room now; the message says which and names the sizes.
  absl::StatusOr<std::shared_ptr<ObjectBuffer>> Allocate(BufferId id,
                                                         std::uint64_t size);
  // False where `size` is larger than the whole store.
  bool FitsEver(std::uint64_t size) const { return size <= capacity_bytes(); }

  std::uint64_t capacity_bytes() const;
  // Taken by buffers that somebody holds.
  std::uint64_t used_bytes() const;
  // The largest size that Allocate has room for now.
  std::uint64_t largest_free_bytes() const;
  std::size_t buffer_count() const;

  // After memory has come back, `callback` is called by the thread that let
  // the buffer go, with no lock held. It replaces an earlier one, of which no
  // call is running or will come afterwards; nullptr is none.
  // REQUIRES: not called from within the callback, nor by two threads at once.
  void SetRoomFreedCallback(std::function<void()> callback);

  // To pass to other processes, which map the memory with it.
  // Ownership: the store's; closed with its last buffer.
  int descriptor() const;
  // For those who may only read.
  int descriptor_read_only() const;

  // For Create only: nobody else has an Arena.
  explicit ObjectStore(std::shared_ptr<Arena> arena);

 private:
  class Lease;

  const std::shared_ptr<Arena> arena_;
  ListenerId room_freed_listener_;
  std::jthread toucher_;  // last: it ends before the rest
};

}  // namespace hoplite

#endif  // HOPLITE_STORE_OBJECT_STORE_H_
