// SharedMemory is a memory of fixed size that other processes can map by its
// file descriptor.
//
// All of it is reserved when it is made: whoever writes to it later never
// meets a full file system or machine (which would be SIGBUS or worse). Its
// size is sealed: no process that has the descriptor can shrink it under the
// others.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_STORE_SHARED_MEMORY_H_
#define HOPLITE_STORE_SHARED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <utility>

#include "absl/status/statusor.h"

namespace hoplite {

// A file descriptor, closed at the end; -1 is none.
class OwnedDescriptor {
 public:
  explicit OwnedDescriptor(int descriptor) : descriptor_(descriptor) {}
  ~OwnedDescriptor();
  OwnedDescriptor(OwnedDescriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  OwnedDescriptor& operator=(OwnedDescriptor&&) = delete;

  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

class SharedMemory {
 public:
  // Reserves and maps `bytes` of zeros; takes about a quarter of a second for
  // each GiB.
  // Errors: kInvalidArgument: 0 bytes. kResourceExhausted: more than the
  // machine or a control group has left, which is named.
  static absl::StatusOr<std::shared_ptr<SharedMemory>> Create(
      std::uint64_t bytes);

  // Of what Create has made; the mapping ends with it.
  SharedMemory(OwnedDescriptor descriptor, OwnedDescriptor descriptor_read_only,
               std::span<std::byte> mapping);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::span<std::byte> bytes() const { return mapping_; }
  int descriptor() const { return descriptor_.get(); }
  // Maps for reading only.
  int descriptor_read_only() const { return descriptor_read_only_.get(); }

  // Brings all pages into this process's page table, so that no later access
  // stops for it; changes no byte, so others may use the memory meanwhile.
  // Ends early, within a few milliseconds, when it is asked to.
  void Touch(std::stop_token stop) const;

 private:
  const OwnedDescriptor descriptor_;
  const OwnedDescriptor descriptor_read_only_;
  const std::span<std::byte> mapping_;
};

}  // namespace hoplite

#endif  // HOPLITE_STORE_SHARED_MEMORY_H_
