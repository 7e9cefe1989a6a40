// Memory that goes back to the system as soon as it is let go: room for one
// object, or a file's content.
//
// Thread safety: none; one thread at a time.
// Units: bytes.

#ifndef HOPLITE_CLI_MAPPED_MEMORY_H_
#define HOPLITE_CLI_MAPPED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

namespace hoplite::cli {

class MappedMemory {
 public:
  // Zeros. Errors: kResourceExhausted.
  static absl::StatusOr<MappedMemory> Zeros(std::uint64_t size);
  // What the file holds now; changes to the memory stay in this process.
  // REQUIRES: a regular file at its begin.
  // Errors: kResourceExhausted.
  static absl::StatusOr<MappedMemory> OfFile(int file);

  MappedMemory(MappedMemory&& other) noexcept;
  MappedMemory& operator=(MappedMemory&& other) noexcept;
  ~MappedMemory();

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedMemory(std::span<std::byte> bytes) : bytes_(bytes) {}

  std::span<std::byte> bytes_;
};

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_MAPPED_MEMORY_H_
