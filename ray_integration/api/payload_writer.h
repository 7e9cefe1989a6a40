// Makes the payload of a composite value.
//
// Two streams: the head, into which everything small is copied, and behind it
// the large runs of bytes, which stay where they are. The reader knows from a
// run's length in which of the two it is.
//
// Thread safety: one thread at a time.

#ifndef HOPLITE_RAY_INTEGRATION_API_PAYLOAD_WRITER_H_
#define HOPLITE_RAY_INTEGRATION_API_PAYLOAD_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "ray_integration/api/value.h"

namespace hoplite::task {

// A run of at least as many bytes is not copied into the head.
inline constexpr std::size_t kLongRunBytes = 512;

class PayloadWriter {
 public:
  PayloadWriter() : head_(std::make_shared<std::string>()) {}

  void AddBytes(const void* data, std::size_t size_bytes);
  void AddCount(std::uint64_t count);
  // Without its length. Stays readable until the value has been moved on.
  void AddRun(std::span<const std::byte> run);
  // Null is nothing, and arrives as such.
  void AddReference(const Reference& reference);
  void AddActor(const ActorReference& actor);

  // The head is owned by the result; long runs are the value's.
  Encoded Finish() &&;

 private:
  std::shared_ptr<std::string> head_;
  Encoded encoded_;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_API_PAYLOAD_WRITER_H_
