// One node's store: buffers in a memory of fixed capacity.
//
// A buffer fills from its first byte on (its watermark), with symbolic
// contents. It takes memory as long as somebody holds it: the machine until it
// says ReleaseBuffer, each client that reads or writes it, each order of the
// data plane.
//
// Not responsible for: deciding what to evict.
// Thread safety: none; one thread at a time.
// Units: bytes.

#ifndef HOPLITE_SIM_STORE_MODEL_H_
#define HOPLITE_SIM_STORE_MODEL_H_

#include <cstdint>
#include <map>
#include <vector>

#include "hoplite/base/id.h"
#include "hoplite/sim/content.h"

namespace hoplite::sim {

struct BufferModel {
  std::uint64_t size = 0;
  Segments content;           // from 0 to the watermark
  bool machine_holds = true;  // until ReleaseBuffer
  bool failed = false;        // released so
  std::uint32_t clients = 0;  // that read or write it
  std::uint32_t orders = 0;   // of the data plane
  std::uint64_t last_use = 0;

  std::uint64_t watermark() const { return content.end(); }
  bool complete() const { return watermark() == size; }
};

class StoreModel {
 public:
  enum class Holder : std::uint8_t { kMachine, kClient, kOrder };

  explicit StoreModel(std::uint64_t capacity) : capacity_(capacity) {}

  // False where there is no room. REQUIRES: the id was never used here.
  bool Create(BufferId buffer, std::uint64_t size);
  bool Contains(BufferId buffer) const { return buffers_.contains(buffer); }
  // Null where there is none.
  const BufferModel* Find(BufferId buffer) const;

  // Bytes [watermark, content.end()) are written. REQUIRES: the buffer is
  // here and content.begin() is its watermark.
  void Append(BufferId buffer, const Segments& content);
  // As Append, but nothing was written up to `begin`: what comes of an order
  // that starts beyond the watermark.
  void Skip(BufferId buffer, std::uint64_t begin);

  // One more holder. REQUIRES: the buffer is here.
  void Hold(BufferId buffer, Holder holder);
  // One holder less; true where the memory has come back.
  // REQUIRES: the buffer is here and is held so.
  bool LetGo(BufferId buffer, Holder holder);
  void MarkFailed(BufferId buffer);
  // It is the most recently used. REQUIRES: the buffer is here.
  void Touch(BufferId buffer);

  // What the machine holds and no client uses, in LRU order.
  std::vector<BufferId> Evictable() const;

  std::uint64_t capacity() const { return capacity_; }
  std::uint64_t used() const { return used_; }
  const std::map<BufferId, BufferModel>& buffers() const { return buffers_; }

 private:
  BufferModel& at(BufferId buffer);

  const std::uint64_t capacity_;
  std::uint64_t used_ = 0;
  std::uint64_t uses_ = 0;
  std::map<BufferId, BufferModel> buffers_;
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_STORE_MODEL_H_
