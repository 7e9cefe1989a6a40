// One Exchange call of gRPC, seen from either end, as asynchronous operations.
//
// Every operation ends in its tag on the completion queue, exactly once. At
// most one Read and one Write are under way at a time; Finish comes after
// both, and nothing after Finish.
//
// Not responsible for: order, batches, lifetimes (grpc_stream.h).
// Thread safety: a Read, a Write and a Cancel may run at the same time.

#ifndef HOPLITE_NET_EXCHANGE_CALL_H_
#define HOPLITE_NET_EXCHANGE_CALL_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <memory>

#include "hoplite/net/host_port.h"
#include "hoplite/wire/hoplite.grpc.pb.h"

namespace hoplite {

// What a tag on the completion queue points to.
struct Operation {
  std::function<void(bool ok)> done;

  // The tag, to be taken where the operation starts.
  Operation* Tag() {
    started.store(true, std::memory_order_release);
    return this;
  }
  // Calls `done`, which sees all that was done before the start.
  void Complete(bool ok) {
    (void)started.load(std::memory_order_acquire);
    done(ok);
  }

  // gRPC orders the two as well, but in a library that ThreadSanitizer does
  // not see into.
  std::atomic<bool> started{false};
};

class ExchangeCall {
 public:
  virtual ~ExchangeCall() = default;

  // Not ok: the peer has ended the call, or it is broken.
  virtual void Read(wire::Batch* batch, Operation* done) = 0;
  // `batch` is serialised at once. Not ok: the call is broken.
  virtual void Write(const wire::Batch& batch, Operation* done) = 0;
  // Makes the operations under way end soon.
  virtual void Cancel() = 0;
  // The accepting end gives the status; the opening end waits for it, unless
  // it has cancelled.
  virtual void Finish(grpc::Status* status, Operation* done) = 0;
};

// The opening end; it connects, and sends anything, at the first Write.
std::unique_ptr<ExchangeCall> OpenExchange(const HostPort& address,
                                           grpc::CompletionQueue* queue);

// The accepting end: a call that has yet to come.
class AcceptedExchange : public ExchangeCall {
 public:
  // Done, ok, when a peer has called. REQUIRES: before all else, once.
  void Accept(wire::Control::AsyncService* service,
              grpc::ServerCompletionQueue* queue, Operation* done);

  void Read(wire::Batch* batch, Operation* done) override;
  void Write(const wire::Batch& batch, Operation* done) override;
  void Cancel() override;
  void Finish(grpc::Status* status, Operation* done) override;

 private:
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<wire::Batch, wire::Batch> stream_{&context_};
};

}  // namespace hoplite

#endif  // HOPLITE_NET_EXCHANGE_CALL_H_
