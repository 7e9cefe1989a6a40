// Buffer reads an object in place; WritableBuffer makes one in place.
//
// Neither copies: both are views of the node's store, which keeps the memory
// for as long as the buffer or a copy of it lives. A Buffer may outlive the
// client that it came from.
//
// Thread safety: Buffer is a value, as safe as a pointer to const bytes.
// WritableBuffer: one thread at a time.
// Units: bytes.

#ifndef HOPLITE_API_BUFFER_H_
#define HOPLITE_API_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "hoplite/api/future.h"

namespace hoplite {

class PutCall;

// Complete and immutable bytes, pinned until the last copy of this is gone.
class Buffer {
 public:
  // Of no bytes.
  Buffer() = default;
  // For Client only: `pin` keeps the bytes where they are.
  Buffer(std::span<const std::byte> bytes, std::shared_ptr<const void> pin)
      : bytes_(bytes), pin_(std::move(pin)) {}

  const std::byte* data() const { return bytes_.data(); }
  std::uint64_t size() const { return bytes_.size(); }
  std::span<const std::byte> bytes() const { return bytes_; }
  absl::string_view text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> pin_;
};

// An object that is being made. Destroyed before its Seal, the object never
// was.
class WritableBuffer {
 public:
  // For Client only.
  explicit WritableBuffer(std::shared_ptr<PutCall> call);
  WritableBuffer(WritableBuffer&&) noexcept;
  WritableBuffer& operator=(WritableBuffer&&) noexcept;
  ~WritableBuffer();

  // All of it, to fill from the beginning. What Advance has named is not to be
  // written again, and nothing after Seal.
  std::span<std::byte> data() const;
  std::uint64_t size() const { return data().size(); }

  // [0, to) is written and never changes again: readers that already follow
  // get it now. Optional. REQUIRES: to <= size(), and never falls.
  void Advance(std::uint64_t to);

  // The object is all written; blocks until the directory has accepted it.
  // REQUIRES, as all else here: called once, and nothing after it.
  // Errors: kAlreadyExists: the id was put by somebody else. kNotFound: it is
  // deleted. kDeadlineExceeded: the timeout given to Create has passed; and
  // the others of Client.
  absl::Status Seal();
  Future<void> SealAsync();

 private:
  std::shared_ptr<PutCall> call_;  // null once sealed, or moved from
};

}  // namespace hoplite

#endif  // HOPLITE_API_BUFFER_H_
