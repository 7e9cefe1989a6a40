// One stream of batches to or from a peer: written as soon as possible, read
// as long as it stands.
//
// Send starts a write from the calling thread where none is under way; else
// the message joins the next batch, which goes out when that write is done.
// So one message costs one system call and no hop to another thread, and many
// go together.
//
// A stream ends once: it is cut, or it breaks. Then what is under way ends,
// the call is finished, and HandleEnd is the last that its owner hears.
//
// Not responsible for: who the peer is, what messages mean.
// Thread safety: thread-safe. Callbacks come from the thread that polls the
// completion queue, under no lock.

#ifndef HOPLITE_NET_GRPC_STREAM_H_
#define HOPLITE_NET_GRPC_STREAM_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "hoplite/base/mutex.h"
#include "hoplite/net/exchange_call.h"
#include "hoplite/net/grpc_loop.h"
#include "hoplite/net/outbox.h"
#include "hoplite/wire/hoplite.pb.h"

namespace hoplite {

class GrpcStream : public std::enable_shared_from_this<GrpcStream> {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    // May take what is in `batch`.
    virtual void HandleBatch(GrpcStream& stream, wire::Batch& batch) = 0;
    // There and back, for one ping.
    virtual void HandleRoundTrip(absl::Duration round_trip) = 0;
    // All that was not written is lost.
    virtual void HandleEnd(GrpcStream& stream, const grpc::Status& status) = 0;
  };

  // Ownership: `owner` and `loop` must outlive HandleEnd; `owner` holds this
  // until then.
  GrpcStream(Owner* owner, GrpcLoop* loop, std::unique_ptr<ExchangeCall> call)
      : owner_(owner), loop_(loop), call_(std::move(call)) {}

  // What the opening end says first, with the messages that wait already.
  // REQUIRES: before Start.
  void SetHello(wire::Hello hello, Outbox waiting);
  // Begins to write and read. REQUIRES: called once.
  void Start();
  // False where the stream has ended, and the message with it.
  bool Send(wire::Envelope envelope);
  // Measures the round trip a few times; says first that the hello was taken.
  void BeginProbes(bool hello_taken);
  // Tells the peer that another stream has ended here.
  void SaySightLost();
  // Ends the stream. An accepted one whose peer waits for the first answer
  // gives it `status` as the reason.
  void Cut(grpc::Status status);

 private:
  using Clock = std::chrono::steady_clock;

  void HandleRead(bool ok);
  void HandleReadEnded();
  void ReadNext();
  void HandleWritten(bool ok);
  void HandleFinished();
  // Writes `batch` and what gathers meanwhile, until an operation is under
  // way that HandleWritten will hear of.
  void Write(std::optional<wire::Batch> batch);
  // The next batch, where there is one.
  std::optional<wire::Batch> EndWrite(bool ok);
  void HandleProbes(const wire::Batch& batch);

  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  wire::Batch BeginWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<wire::Batch> BeginWriteIfDue()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishIfIdle();

  // Constant after construction.
  Owner* const owner_;
  GrpcLoop* const loop_;
  const std::unique_ptr<ExchangeCall> call_;

  // Owned by the operation that is under way.
  wire::Batch incoming_;
  // Whether the last batch was answered while it was handled. A read makes
  // gRPC write a window update at once, unless a write has taken it along. So
  // where an answer is likely the read comes after it; else before, when the
  // thread that the batch wakes cannot yet be in its way.
  bool answers_at_once_ = true;  // a hello is
  Operation read_{[this](bool ok) { HandleRead(ok); }};
  Operation written_{[this](bool ok) { HandleWritten(ok); }};
  Operation finished_{[this](bool) { HandleFinished(); }};

  Mutex mutex_;
  Outbox outbox_ ABSL_GUARDED_BY(mutex_);
  // The next batch's hello, ping, pong and sight_lost.
  wire::Batch header_ ABSL_GUARDED_BY(mutex_);
  bool header_waits_ ABSL_GUARDED_BY(mutex_) = false;
  bool opened_ ABSL_GUARDED_BY(mutex_) = false;  // by this end
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;  // not while it is handled
  bool handling_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool peer_ended_ ABSL_GUARDED_BY(mutex_) = false;  // nothing more to read
  bool finishing_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
  grpc::Status final_status_;                      // owned by Finish
  bool answered_ ABSL_GUARDED_BY(mutex_) = false;  // while handling
  std::uint32_t ping_ ABSL_GUARDED_BY(mutex_) = 0;
  Clock::time_point ping_sent_at_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hoplite

#endif  // HOPLITE_NET_GRPC_STREAM_H_
