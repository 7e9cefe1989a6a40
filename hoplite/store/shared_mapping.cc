#include "hoplite/store/shared_mapping.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

namespace hoplite {

absl::StatusOr<std::unique_ptr<SharedMapping>> SharedMapping::Map(
    int descriptor, std::uint64_t capacity, bool writable) {
  struct stat file = {};
  if (fstat(descriptor, &file) != 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "descriptor %d, said to be a store's, is not open", descriptor));
  }
  // Beyond a file's end there are pages that cannot be touched.
  if (capacity == 0 || !S_ISREG(file.st_mode) ||
      static_cast<std::uint64_t>(file.st_size) < capacity) {
    return absl::InvalidArgumentError(
        absl::StrFormat("descriptor %d, said to be a store of %d bytes, has %d",
                        descriptor, capacity, file.st_size));
  }
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const address =
      mmap(nullptr, capacity, protection, MAP_SHARED, descriptor, 0);
  if (address == MAP_FAILED) {
    const int error = errno;
    return absl::ErrnoToStatus(
        error == ENOMEM ? ENOSPC : error,
        absl::StrFormat("cannot map the store's %d bytes for %s", capacity,
                        writable ? "writing" : "reading"));
  }
  return std::make_unique<SharedMapping>(
      std::span<std::byte>(static_cast<std::byte*>(address), capacity),
      writable);
}

SharedMapping::~SharedMapping() { munmap(mapping_.data(), mapping_.size()); }

absl::StatusOr<std::span<const std::byte>> SharedMapping::Bytes(
    std::uint64_t offset, std::uint64_t size) const {
  return Find(offset, size);
}

absl::StatusOr<std::span<std::byte>> SharedMapping::WritableBytes(
    std::uint64_t offset, std::uint64_t size) {
  if (!writable_) {
    return absl::PermissionDeniedError(
        "the store is mapped for reading only; a buffer to fill must be "
        "created first");
  }
  return Find(offset, size);
}

absl::StatusOr<std::span<std::byte>> SharedMapping::Find(
    std::uint64_t offset, std::uint64_t size) const {
  if (offset > capacity() || size > capacity() - offset) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%d bytes at %d are not inside the store of %d bytes",
                        size, offset, capacity()));
  }
  return mapping_.subspan(offset, size);
}

}  // namespace hoplite
