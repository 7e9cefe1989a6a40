// What the parts of one data plane share: its loop, its identity, its sink
// and its counters; and BufferFollower, by which the loop follows a buffer.
//
// Thread safety: counters and troubles are thread-safe; all else is the loop's
// thread's.

#ifndef HOPLITE_NET_TCP_DATA_ENGINE_H_
#define HOPLITE_NET_TCP_DATA_ENGINE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "hoplite/base/id.h"
#include "hoplite/core/event.h"
#include "hoplite/net/data_plane.h"
#include "hoplite/net/peer_troubles.h"
#include "hoplite/net/tcp_data_loop.h"
#include "hoplite/store/object_buffer.h"

namespace hoplite {

// Written by the loop's thread only.
class LoopCounter {
 public:
  void Add(std::uint64_t count) {
    value_.store(value_.load(std::memory_order_relaxed) + count,
                 std::memory_order_relaxed);
  }
  void Subtract(std::uint64_t count) { Add(-count); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_ = 0;
};

struct DataEngine {
  ClusterId cluster;
  NodeRef self;
  DataPlane::EventSink sink;  // null: no event any more

  LoopCounter payload_bytes_sent;
  LoopCounter payload_bytes_received;
  LoopCounter transfers_started;
  LoopCounter pulls_served;
  LoopCounter checksum_errors;
  LoopCounter connections_open;
  PeerTroubles troubles;

  EventLoop loop;  // last: what it still holds uses the rest

  void Emit(Event event) {
    if (sink) sink(std::move(event));
  }
};

// A stream's socket: a Watch that is counted.
class Connection : public Watch {
 public:
  Connection(DataEngine& engine, int descriptor, Handler* handler)
      : Watch(engine.loop, descriptor, handler), engine_(engine) {
    engine_.connections_open.Add(1);
  }
  ~Connection() { engine_.connections_open.Subtract(1); }

 private:
  DataEngine& engine_;
};

// Seconds of a steady clock, which no adjustment of the time of day moves.
double SteadySeconds();

// Tells the loop that a buffer's watermark has moved, or that it has failed.
class BufferFollower : private EventLoop::Deferred {
 public:
  class Owner {
   public:
    // May end the follower's life.
    virtual void OnBufferChanged() = 0;

   protected:
    ~Owner() = default;
  };

  // From now on the owner is called on the loop's thread, once for all that
  // happened since the last call: in the same turn of the loop where it was
  // the loop that wrote, else by one post. What was before must be looked at
  // afterwards.
  BufferFollower(EventLoop& loop, BufferPtr buffer, Owner& owner);
  // REQUIRES: not called by a listener of the buffer.
  ~BufferFollower() override;

 private:
  // Outlives the follower in what was posted.
  struct Link {
    std::atomic<bool> posted = false;
    BufferFollower* follower = nullptr;  // of the loop; null: gone
  };

  void OnAdvance();
  void RunDeferred() override { owner_.OnBufferChanged(); }

  EventLoop& loop_;
  const BufferPtr buffer_;
  Owner& owner_;
  const std::shared_ptr<Link> link_;
  ListenerId listener_;
};

}  // namespace hoplite

#endif  // HOPLITE_NET_TCP_DATA_ENGINE_H_
