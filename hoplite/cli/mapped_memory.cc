#include "hoplite/cli/mapped_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/files.h"

namespace hoplite::cli {
namespace {

// `file` is -1 for memory without one.
absl::StatusOr<std::span<std::byte>> Map(std::uint64_t size, int file) {
  if (size == 0) return std::span<std::byte>();
  const int kind = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE;
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      kind | MAP_NORESERVE, file, 0);
  if (memory != MAP_FAILED) {
    return std::span<std::byte>(static_cast<std::byte*>(memory), size);
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "cannot map ", size, " bytes of memory: ", std::strerror(errno)));
}

}  // namespace

absl::StatusOr<MappedMemory> MappedMemory::Zeros(std::uint64_t size) {
  HOPLITE_ASSIGN_OR_RETURN(const std::span<std::byte> bytes, Map(size, -1));
  return MappedMemory(bytes);
}

absl::StatusOr<MappedMemory> MappedMemory::OfFile(int file) {
  const std::optional<std::uint64_t> size = RegularFileSize(file);
  HOPLITE_CHECK(size.has_value());
  HOPLITE_ASSIGN_OR_RETURN(const std::span<std::byte> bytes, Map(*size, file));
  return MappedMemory(bytes);
}

MappedMemory::MappedMemory(MappedMemory&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})) {}

MappedMemory& MappedMemory::operator=(MappedMemory&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedMemory::~MappedMemory() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

}  // namespace hoplite::cli
