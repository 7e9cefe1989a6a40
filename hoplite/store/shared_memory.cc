#include "hoplite/store/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/store/memory_limit.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

namespace hoplite {
namespace {

// Left for everything else on the machine: page tables, programs.
constexpr std::uint64_t kHeadroomBytes = std::uint64_t{64} << 20;
// What is reserved between two looks at what the machine has left; a signal
// makes the kernel undo the piece at hand.
constexpr std::uint64_t kReserveBytes = std::uint64_t{16} << 20;
// What is touched between two looks at the stop token.
constexpr std::uint64_t kTouchBytes = std::uint64_t{4} << 20;

absl::Status ErrnoError(absl::string_view what, std::uint64_t bytes) {
  const int error = errno;
  return absl::ErrnoToStatus(
      error,
      absl::StrFormat("cannot make a store of %d bytes: %s", bytes, what));
}

// OK where a store of `bytes`, `reserved` of which it has, can have the rest.
absl::Status CheckAvailable(std::uint64_t bytes, std::uint64_t reserved) {
  const AvailableMemory available = FindAvailableMemory();
  const std::uint64_t usable =
      available.bytes - std::min(available.bytes, kHeadroomBytes);
  if (usable >= bytes - reserved) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrFormat(
      "cannot reserve a store of %d bytes: %s has room for %d (another %d "
      "always stay free); choose a smaller store",
      bytes, available.limited_by, reserved + usable, kHeadroomBytes));
}

// The kernel gives out memory that it does not have, and ends processes later:
// hence the looks at what is left, again and again, as others may be taking
// some too.
absl::Status Reserve(int descriptor, std::uint64_t bytes) {
  for (std::uint64_t begin = 0; begin < bytes;) {
    HOPLITE_RETURN_IF_ERROR(CheckAvailable(bytes, begin));
    const std::uint64_t length = std::min(kReserveBytes, bytes - begin);
    if (fallocate(descriptor, 0, static_cast<off_t>(begin),
                  static_cast<off_t>(length)) == 0) {
      begin += length;
    } else if (errno == ENOSPC || errno == ENOMEM) {
      return absl::ResourceExhaustedError(absl::StrFormat(
          "cannot reserve a store of %d bytes: the kernel has no memory left "
          "after %d bytes; choose a smaller store",
          bytes, begin));
    } else if (errno != EINTR) {
      return ErrnoError("fallocate", bytes);
    }
  }
  return absl::OkStatus();
}

}  // namespace

OwnedDescriptor::~OwnedDescriptor() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::StatusOr<std::shared_ptr<SharedMemory>> SharedMemory::Create(
    std::uint64_t bytes) {
  if (bytes == 0) {
    return absl::InvalidArgumentError("a store needs a capacity above 0 bytes");
  }
  HOPLITE_RETURN_IF_ERROR(CheckAvailable(bytes, 0));
  const int descriptor =
      memfd_create("hoplite-store", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return ErrnoError("memfd_create", bytes);
  OwnedDescriptor owned(descriptor);
  if (ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
    return ErrnoError("ftruncate", bytes);
  }
  HOPLITE_RETURN_IF_ERROR(Reserve(descriptor, bytes));
  if (fcntl(descriptor, F_ADD_SEALS,
            F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return ErrnoError("sealing its size", bytes);
  }
  const std::string path = absl::StrCat("/proc/self/fd/", descriptor);
  OwnedDescriptor read_only(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (read_only.get() < 0) return ErrnoError(path, bytes);
  void* const address =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (address == MAP_FAILED) return ErrnoError("mmap", bytes);
  return std::make_shared<SharedMemory>(
      std::move(owned), std::move(read_only),
      std::span<std::byte>(static_cast<std::byte*>(address), bytes));
}

SharedMemory::SharedMemory(OwnedDescriptor descriptor,
                           OwnedDescriptor descriptor_read_only,
                           std::span<std::byte> mapping)
    : descriptor_(std::move(descriptor)),
      descriptor_read_only_(std::move(descriptor_read_only)),
      mapping_(mapping) {}

SharedMemory::~SharedMemory() { munmap(mapping_.data(), mapping_.size()); }

void SharedMemory::Touch(std::stop_token stop) const {
  for (std::size_t begin = 0; begin < mapping_.size();) {
    const std::size_t length = std::min(kTouchBytes, mapping_.size() - begin);
    // An older kernel cannot: then the first use of a page is slower, no more.
    if (stop.stop_requested() ||
        madvise(mapping_.data() + begin, length, MADV_POPULATE_WRITE) != 0) {
      return;
    }
    begin += length;
  }
}

}  // namespace hoplite
