// SpanRing hands the spans of what a worker has run to its agent, through
// memory that both have: the worker writes, the agent takes, and no message is
// needed but one when half of it is full. What a worker has written before it
// died is there, too.
//
// Thread safety: one writer and one reader, who may work at the same time.
// The reader does not trust what it finds.
// Units: bytes.

#ifndef HOPLITE_RAY_INTEGRATION_WORKER_SPAN_RING_H_
#define HOPLITE_RAY_INTEGRATION_WORKER_SPAN_RING_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "ray_integration/wire/trace_message.h"

namespace hoplite::task {

class SpanRing {
 public:
  // Some ten thousand spans.
  static constexpr std::size_t kSize = 1 << 20;
  // All zeros is empty.
  struct Area {
    std::atomic<std::uint64_t> written;  // in all
    std::atomic<std::uint64_t> taken;    // in all
    std::atomic<std::uint64_t> left_out;
    std::atomic<std::uint64_t> told;  // that it is half full
    std::array<char, kSize> bytes;
  };

  // Null: keeps nothing. Ownership: `area` outlives this.
  explicit SpanRing(Area* area) : area_(area) {}

  // Leaves it out where there is no room. True where the reader has to be told
  // that it should take.
  bool Write(const TaskSpan& span);

  // Takes what is there, as Pack has made it; what is no span is dropped.
  // Returns how many were left out since the last call.
  std::uint64_t Take(absl::FunctionRef<void(std::string packed)> take);

 private:
  void CopyIn(std::uint64_t at, absl::string_view bytes);
  std::string CopyOut(std::uint64_t at, std::size_t size) const;

  Area* const area_;
  std::string packed_;  // of the writer; used again and again
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_WORKER_SPAN_RING_H_
