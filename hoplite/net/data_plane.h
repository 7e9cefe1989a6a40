// Moves ranges of objects between stores, along standing orders.
//
// Always the receiver pulls: it opens (or takes from its pool) a connection to
// the server, names key, generation, first byte and frame size, and reads
// frames. A frame is written into the receiver's buffer, verified, and only
// then does the watermark move, which lets this node's own servings of that
// buffer go on: a relay forwards frame by frame, with its origin's checksum.
//
// Not responsible for: deciding anything (the core does); control messages.
// Thread safety: thread-safe; no call blocks. Events come from the data
// plane's own thread; the sink may call back into any method.
// Units: bytes.

#ifndef HOPLITE_NET_DATA_PLANE_H_
#define HOPLITE_NET_DATA_PLANE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hoplite/core/command.h"
#include "hoplite/core/event.h"
#include "hoplite/store/object_buffer.h"

namespace hoplite {

using BufferPtr = std::shared_ptr<ObjectBuffer>;

// What the data plane has done since it started.
struct DataPlaneCounters {
  std::uint64_t payload_bytes_sent = 0;      // of objects and outputs
  std::uint64_t payload_bytes_received = 0;  // verified
  std::uint64_t transfers_started = 0;       // pulls that this node made
  std::uint64_t pulls_served = 0;            // pulls that peers made here
  std::uint64_t checksum_errors = 0;
  std::uint64_t connections_open = 0;
};

class DataPlane {
 public:
  // PullRequested, PullEnded, TransferDone, TransferFailed, FoldDone,
  // FoldFailed, LatencyMeasured, BandwidthMeasured.
  using EventSink = std::function<void(Event)>;

  // Stops as Shutdown does.
  virtual ~DataPlane() = default;

  // host:port where this node listens, with the real port.
  virtual std::string address() const = 0;

  // REQUIRES: called once, before any order.
  virtual void Start(ClusterId cluster, NodeRef self, EventSink sink) = 0;

  virtual void Learn(const Member& member) = 0;
  virtual void Forget(NodeRef member) = 0;

  // The orders of core/command.h, with the buffers that they name. The data
  // plane holds the buffers until the order has ended.
  virtual void StartTransfer(const command::StartTransfer& order,
                             BufferPtr buffer) = 0;
  virtual void CancelTransfer(TransferId transfer) = 0;
  virtual void ServePull(PullId pull, BufferPtr buffer) = 0;
  virtual void RefusePull(PullId pull) = 0;
  // `locals[i]` is the buffer of inputs[i].local, or null where it is none.
  virtual void StartFold(const command::StartFold& order, BufferPtr output,
                         BufferPtr own, std::vector<BufferPtr> locals) = 0;
  virtual void CancelFold(FoldId fold) = 0;

  virtual DataPlaneCounters counters() const = 0;
  // Why this peer was last not reached, or broke off, and at which address; for
  // people. Empty: nobody has called it since it was reached.
  virtual std::string TroubleWith(NodeRef peer) const = 0;

  // Ends every order and connection; no event comes after it has returned.
  // Bounded: at most a second.
  virtual void Shutdown() = 0;
};

}  // namespace hoplite

#endif  // HOPLITE_NET_DATA_PLANE_H_
