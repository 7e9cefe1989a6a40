// Reads the payload of a composite value, which may be anything: it comes
// from another process.
//
// The first mistake is kept, and everything read after it is empty or zero.
// So the templates that read need not look at each step, but only before they
// make room, and whoever began asks Finish at the end.
//
// Thread safety: one thread at a time.

#ifndef HOPLITE_RAY_INTEGRATION_API_PAYLOAD_READER_H_
#define HOPLITE_RAY_INTEGRATION_API_PAYLOAD_READER_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ray_integration/api/value.h"

namespace hoplite::task {

// How deep vectors and maps may be inside each other, as in a tree.
inline constexpr int kNestingMax = 100;

class PayloadReader {
 public:
  // `stored` stays as it is while this reads.
  explicit PayloadReader(const Stored& stored);

  bool ok() const { return error_ == nullptr; }
  // Keeps the first; `error` is a literal.
  void Fail(const char* error);

  void ReadBytes(void* to, std::size_t size_bytes);
  std::uint64_t ReadCount();
  // A number of elements that are read one by one: never more than there are
  // bytes left.
  std::size_t ReadElementCount();
  // `rows` times `columns` elements in one run.
  std::span<const std::byte> ReadRun(std::uint64_t rows, std::uint64_t columns,
                                     std::size_t element_bytes);
  Reference ReadReference();
  ActorReference ReadActor();

  // One level deeper, while it lives.
  class Nesting {
   public:
    explicit Nesting(PayloadReader& reader);
    ~Nesting() { --reader_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    PayloadReader& reader_;
  };

  // Errors: kInvalidArgument with the first mistake; bytes left are one.
  absl::Status Finish();

 private:
  const Stored& stored_;
  absl::string_view head_;
  std::span<const std::byte> runs_;
  int depth_ = 0;
  const char* error_ = nullptr;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_API_PAYLOAD_READER_H_
