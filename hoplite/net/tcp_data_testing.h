// What tests of the data plane share: planes on loopback that stand for nodes,
// with a record of every event, and buffers of their own memory.
//
// Thread safety: thread-safe, but for what says otherwise.

#ifndef HOPLITE_NET_TCP_DATA_TESTING_H_
#define HOPLITE_NET_TCP_DATA_TESTING_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hoplite/base/mutex.h"
#include "hoplite/core/event.h"
#include "hoplite/net/data_plane.h"

namespace hoplite {

// A buffer with memory of its own, empty.
BufferPtr NewBuffer(std::uint64_t size);
// A complete one with bytes drawn from the seed.
BufferPtr NewFilledBuffer(std::uint64_t size, std::uint64_t seed);
bool SameBytes(const ObjectBuffer& a, const ObjectBuffer& b);

ObjectId TestObject(std::uint8_t number);
Generation TestGeneration(std::uint64_t counter);
// How long a test waits for what must come.
inline constexpr absl::Duration kPatience = absl::Seconds(30);

// One node: a data plane that serves what it is given.
class DataNode {
 public:
  // Listens on `listen_address`, and starts as node `number`.
  explicit DataNode(std::uint32_t number,
                    absl::string_view listen_address = "127.0.0.1:0",
                    ClusterId cluster = ClusterId(7));
  ~DataNode();

  DataPlane& plane() { return *plane_; }
  NodeRef ref() const { return ref_; }
  Member member() const;

  // Every pull of this object is served from the buffer, or refused where
  // that is null. What is not offered waits.
  void Offer(PullKey key, BufferPtr buffer);
  // Pulls an object; the transfer's id counts from 1.
  TransferId Pull(const DataNode& server, PullKey key, BufferPtr buffer,
                  std::uint64_t frame_bytes = 4096, std::uint64_t begin = 0);

  // True: an event came for which `matches` is true, before or within
  // kPatience.
  bool WaitFor(const std::function<bool(const Event&)>& matches);
  // The transfer's end: TransferDone is nullopt. Fails the test where none
  // comes.
  std::optional<event::TransferFailed> WaitForEnd(TransferId transfer);
  // How many events of this kind have come.
  template <typename Kind>
  std::size_t Count() {
    MutexLock lock(mutex_);
    std::size_t count = 0;
    for (const Event& event : events_) {
      count += std::holds_alternative<Kind>(event) ? 1 : 0;
    }
    return count;
  }

 private:
  void OnEvent(const Event& event);

  const NodeRef ref_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<Event> events_ ABSL_GUARDED_BY(mutex_);
  std::map<PullKey, BufferPtr> offers_ ABSL_GUARDED_BY(mutex_);
  TransferId last_transfer_;
  std::unique_ptr<DataPlane> plane_;
};

// What the process uses, in seconds of processor, while the caller waits for
// so long.
double ProcessorSecondsOfAWait(absl::Duration duration);

// Every plane learns every other.
void Introduce(const std::vector<DataNode*>& nodes);

}  // namespace hoplite

#endif  // HOPLITE_NET_TCP_DATA_TESTING_H_
