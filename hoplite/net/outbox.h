// What waits to be written on a stream, cut into batches.
//
// Messages are appended to the last batch until that is full, so that all
// that gathers while a write is in flight goes out in the next one.
//
// Thread safety: none; one thread at a time.
// Units: bytes.

#ifndef HOPLITE_NET_OUTBOX_H_
#define HOPLITE_NET_OUTBOX_H_

#include <cstddef>
#include <deque>
#include <utility>

#include "hoplite/wire/codec.h"

namespace hoplite {

class Outbox {
 public:
  bool empty() const { return batches_.empty(); }

  void Add(wire::Envelope envelope) {
    const std::size_t bytes = wire::BytesInBatch(envelope);
    if (batches_.empty() || last_bytes_ + bytes > kBatchBytes) {
      batches_.emplace_back();
      last_bytes_ = 0;
    }
    last_bytes_ += bytes;
    *batches_.back().add_messages() = std::move(envelope);
  }

  // The oldest batch; an empty one where nothing waits.
  wire::Batch Take() {
    if (batches_.empty()) return wire::Batch();
    wire::Batch batch = std::move(batches_.front());
    batches_.pop_front();
    return batch;
  }

  void Clear() { batches_.clear(); }

 private:
  static constexpr std::size_t kBatchBytes =
      wire::kMaxBatchBytes - wire::kBatchHeaderBytes;

  std::deque<wire::Batch> batches_;
  std::size_t last_bytes_ = 0;
};

}  // namespace hoplite

#endif  // HOPLITE_NET_OUTBOX_H_
