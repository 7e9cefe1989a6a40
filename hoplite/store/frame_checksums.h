// FrameChecksums keeps the CRC32C of each frame of an object as its origin
// computed it, so that a relay passes them on and computes none of its own.
//
// 8 bytes a frame (a bit "known", the checksum), and none before the first.
//
// Thread safety: thread-safe.
// Units: frame `index` is the bytes [index, index + 1) * frame_bytes(), the
// last one cut at the object's end.

#ifndef HOPLITE_STORE_FRAME_CHECKSUMS_H_
#define HOPLITE_STORE_FRAME_CHECKSUMS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "hoplite/base/mutex.h"

namespace hoplite {

class FrameChecksums {
 public:
  // For an object of `object_bytes`.
  explicit FrameChecksums(std::uint64_t object_bytes)
      : object_bytes_(object_bytes) {}
  FrameChecksums(const FrameChecksums&) = delete;
  FrameChecksums& operator=(const FrameChecksums&) = delete;

  // Fixes the size of a frame; true where it is `frame_bytes` afterwards.
  // False for 0, and where an earlier call fixed another size, which stays.
  bool SetFrameBytes(std::uint64_t frame_bytes);
  // 0: not fixed yet.
  std::uint64_t frame_bytes() const { return frame_bytes_.load(); }

  // nullopt: not known, or no such frame.
  std::optional<std::uint32_t> Find(std::uint64_t index) const;
  // Several threads may set the same frame to the same value.
  // REQUIRES: the size of a frame is fixed, the frame exists.
  void Set(std::uint64_t index, std::uint32_t checksum);

 private:
  using Entry = std::atomic<std::uint64_t>;

  std::uint64_t FrameCount() const;
  Entry* Table();

  const std::uint64_t object_bytes_;
  std::atomic<std::uint64_t> frame_bytes_ = 0;
  std::atomic<Entry*> table_ = nullptr;  // owned_, once it is there
  Mutex mutex_;
  std::unique_ptr<Entry[]> owned_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hoplite

#endif  // HOPLITE_STORE_FRAME_CHECKSUMS_H_
