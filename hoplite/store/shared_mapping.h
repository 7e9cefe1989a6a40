// SharedMapping is a worker's view of its node's whole store, mapped by the
// descriptor that the node passed to it.
//
// Offsets and sizes come from the node's messages and are checked: garbage
// is an error, not a crash.
//
// Not responsible for: which bytes may be read when (the node says so).
// Thread safety: thread-safe.
// Units: bytes.

#ifndef HOPLITE_STORE_SHARED_MAPPING_H_
#define HOPLITE_STORE_SHARED_MAPPING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"

namespace hoplite {

class SharedMapping {
 public:
  // Maps [0, capacity) of the memory. The descriptor may be closed afterwards.
  // Errors: kInvalidArgument: no memory, or a smaller one. kPermissionDenied:
  // `writable` by a descriptor that only reads. kResourceExhausted: the
  // process has no room for it.
  // Ownership: `descriptor` stays the caller's.
  static absl::StatusOr<std::unique_ptr<SharedMapping>> Map(
      int descriptor, std::uint64_t capacity, bool writable);

  // Of what Map has mapped; it ends with this.
  SharedMapping(std::span<std::byte> mapping, bool writable)
      : mapping_(mapping), writable_(writable) {}
  ~SharedMapping();
  SharedMapping(const SharedMapping&) = delete;
  SharedMapping& operator=(const SharedMapping&) = delete;

  std::uint64_t capacity() const { return mapping_.size(); }
  bool writable() const { return writable_; }

  // [offset, offset + size) of the memory.
  // Errors: kInvalidArgument: it is not all inside.
  absl::StatusOr<std::span<const std::byte>> Bytes(std::uint64_t offset,
                                                   std::uint64_t size) const;
  // The same, to write to.
  // Errors: kInvalidArgument: it is not all inside. kPermissionDenied: not
  // writable.
  absl::StatusOr<std::span<std::byte>> WritableBytes(std::uint64_t offset,
                                                     std::uint64_t size);

 private:
  absl::StatusOr<std::span<std::byte>> Find(std::uint64_t offset,
                                            std::uint64_t size) const;

  const std::span<std::byte> mapping_;
  const bool writable_;
};

}  // namespace hoplite

#endif  // HOPLITE_STORE_SHARED_MAPPING_H_
