#include "hoplite/store/object_store.h"

#include <optional>
#include <span>
#include <stop_token>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "hoplite/base/check.h"
#include "hoplite/base/mutex.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/store/free_map.h"
#include "hoplite/store/listener_list.h"
#include "hoplite/store/shared_memory.h"

namespace hoplite {
namespace {

// A cache line: no two buffers share one.
constexpr std::uint64_t kAlignment = 64;
// Below this a thread costs more than it saves.
constexpr std::uint64_t kTouchFromBytes = std::uint64_t{16} << 20;

// REQUIRES: bytes <= UINT64_MAX - kAlignment.
constexpr std::uint64_t AlignUp(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

// The memory and who has which part of it; lives until the last buffer goes.
class ObjectStore::Arena {
 public:
  explicit Arena(std::shared_ptr<SharedMemory> memory)
      : memory_(std::move(memory)), free_(memory_->bytes().size()) {}

  const SharedMemory& memory() const { return *memory_; }
  std::uint64_t capacity() const { return memory_->bytes().size(); }
  ListenerList& room_freed() { return room_freed_; }

  std::optional<std::uint64_t> Take(std::uint64_t size) {
    MutexLock lock(mutex_);
    std::optional<std::uint64_t> offset = 0;
    if (size > 0) offset = free_.Take(AlignUp(size));
    if (offset.has_value()) ++buffer_count_;
    return offset;
  }

  void GiveBack(std::uint64_t offset, std::uint64_t size) {
    {
      MutexLock lock(mutex_);
      HOPLITE_CHECK(buffer_count_ > 0);
      --buffer_count_;
      if (size == 0) return;
      free_.GiveBack(offset, AlignUp(size));
    }
    room_freed_.Notify();
  }

  std::uint64_t free_bytes() const {
    MutexLock lock(mutex_);
    return free_.free_bytes();
  }
  std::uint64_t largest_free() const {
    MutexLock lock(mutex_);
    return free_.largest();
  }
  std::size_t buffer_count() const {
    MutexLock lock(mutex_);
    return buffer_count_;
  }

 private:
  const std::shared_ptr<SharedMemory> memory_;
  ListenerList room_freed_;
  mutable Mutex mutex_;
  FreeMap free_ ABSL_GUARDED_BY(mutex_);
  std::size_t buffer_count_ ABSL_GUARDED_BY(mutex_) = 0;
};

// One buffer with its part of the memory, which goes back when the last
// holder lets go.
class ObjectStore::Lease {
 public:
  Lease(std::shared_ptr<Arena> arena, BufferId id, std::uint64_t offset,
        std::uint64_t size)
      : arena_(std::move(arena)) {
    buffer_.emplace(id, arena_->memory().bytes().subspan(offset, size), offset);
  }
  ~Lease() {
    const std::uint64_t offset = buffer_->offset();
    const std::uint64_t size = buffer_->size();
    buffer_.reset();
    arena_->GiveBack(offset, size);
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  ObjectBuffer* buffer() { return &*buffer_; }

 private:
  const std::shared_ptr<Arena> arena_;
  std::optional<ObjectBuffer> buffer_;
};

absl::StatusOr<std::unique_ptr<ObjectStore>> ObjectStore::Create(
    const StoreOptions& options) {
  const std::uint64_t capacity =
      options.capacity_bytes > UINT64_MAX - kAlignment
          ? options.capacity_bytes
          : AlignUp(options.capacity_bytes);
  HOPLITE_ASSIGN_OR_RETURN(std::shared_ptr<SharedMemory> memory,
                           SharedMemory::Create(capacity));
  return std::make_unique<ObjectStore>(
      std::make_shared<Arena>(std::move(memory)));
}

ObjectStore::ObjectStore(std::shared_ptr<Arena> arena)
    : arena_(std::move(arena)) {
  if (arena_->capacity() < kTouchFromBytes) return;
  toucher_ = std::jthread([arena = arena_.get()](std::stop_token stop) {
    arena->memory().Touch(std::move(stop));
  });
}

ObjectStore::~ObjectStore() { SetRoomFreedCallback(nullptr); }

absl::StatusOr<std::shared_ptr<ObjectBuffer>> ObjectStore::Allocate(
    BufferId id, std::uint64_t size) {
  if (!FitsEver(size)) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "an object of %d bytes is larger than the store of %d bytes; start the "
        "node with a larger store",
        size, capacity_bytes()));
  }
  const std::optional<std::uint64_t> offset = arena_->Take(size);
  if (!offset.has_value()) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "no room for an object of %d bytes now: of the store's %d bytes %d are "
        "used, and the largest free piece has %d bytes",
        size, capacity_bytes(), used_bytes(), largest_free_bytes()));
  }
  auto lease = std::make_shared<Lease>(arena_, id, *offset, size);
  ObjectBuffer* const buffer = lease->buffer();
  return std::shared_ptr<ObjectBuffer>(std::move(lease), buffer);
}

std::uint64_t ObjectStore::capacity_bytes() const { return arena_->capacity(); }

std::uint64_t ObjectStore::used_bytes() const {
  return arena_->capacity() - arena_->free_bytes();
}

std::uint64_t ObjectStore::largest_free_bytes() const {
  return arena_->largest_free();
}

std::size_t ObjectStore::buffer_count() const { return arena_->buffer_count(); }

void ObjectStore::SetRoomFreedCallback(std::function<void()> callback) {
  arena_->room_freed().Remove(room_freed_listener_);
  room_freed_listener_ = ListenerId();
  if (callback != nullptr) {
    room_freed_listener_ = arena_->room_freed().Add(std::move(callback));
  }
}

int ObjectStore::descriptor() const { return arena_->memory().descriptor(); }

int ObjectStore::descriptor_read_only() const {
  return arena_->memory().descriptor_read_only();
}

}  // namespace hoplite
