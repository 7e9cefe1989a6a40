#include "hoplite/net/grpc_stream.h"

#include <utility>

#include "hoplite/base/check.h"

namespace hoplite {
namespace {

// The first is slow, in cold code; the best of a few is the link's.
constexpr std::uint32_t kProbeCount = 4;

}  // namespace

void GrpcStream::SetHello(wire::Hello hello, Outbox waiting) {
  MutexLock lock(mutex_);
  opened_ = true;
  *header_.mutable_hello() = std::move(hello);
  header_waits_ = true;
  outbox_ = std::move(waiting);
}

void GrpcStream::Start() {
  std::optional<wire::Batch> first;
  {
    MutexLock lock(mutex_);
    HOPLITE_CHECK(!started_);
    started_ = true;
    reading_ = true;
    if (HasWork()) first = BeginWrite();
  }
  Write(std::move(first));
  call_->Read(&incoming_, &read_);
  bool cut = false;
  {
    MutexLock lock(mutex_);
    cut = ending_;
  }
  if (cut) call_->Cancel();
}

bool GrpcStream::Send(wire::Envelope envelope) {
  std::optional<wire::Batch> batch;
  {
    MutexLock lock(mutex_);
    if (ending_) return false;
    outbox_.Add(std::move(envelope));
    batch = BeginWriteIfDue();
  }
  Write(std::move(batch));
  return true;
}

void GrpcStream::BeginProbes(bool hello_taken) {
  std::optional<wire::Batch> batch;
  {
    MutexLock lock(mutex_);
    header_.set_hello_taken(hello_taken);
    header_.set_ping(++ping_);
    header_waits_ = true;
    batch = BeginWriteIfDue();
  }
  Write(std::move(batch));
}

void GrpcStream::SaySightLost() {
  std::optional<wire::Batch> batch;
  {
    MutexLock lock(mutex_);
    header_.set_sight_lost(true);
    header_waits_ = true;
    batch = BeginWriteIfDue();
  }
  Write(std::move(batch));
}

void GrpcStream::Cut(grpc::Status status) {
  bool cancel = false;
  {
    MutexLock lock(mutex_);
    if (!ending_) status_ = std::move(status);
    ending_ = true;
    outbox_.Clear();
    // Before Start there is no call yet; Start looks again. Where a batch is
    // being handled, HandleRead finishes the call. An opening end that is
    // finishing already may wait for its peer: no longer.
    cancel = started_ && (reading_ || writing_ || opened_);
  }
  if (cancel) call_->Cancel();
}

void GrpcStream::HandleRead(bool ok) {
  if (!ok) {
    HandleReadEnded();
    return;
  }
  wire::Batch batch;
  batch.Swap(&incoming_);
  {
    MutexLock lock(mutex_);
    reading_ = false;
    handling_ = true;
    answered_ = false;
  }
  const bool read_first = !answers_at_once_;
  if (read_first) ReadNext();
  HandleProbes(batch);
  owner_->HandleBatch(*this, batch);
  {
    MutexLock lock(mutex_);
    handling_ = false;
    answers_at_once_ = answered_;
  }
  if (!read_first) ReadNext();
  FinishIfIdle();
}

void GrpcStream::HandleReadEnded() {
  bool cancel = false;
  {
    MutexLock lock(mutex_);
    reading_ = false;
    // A peer that only ends its own half may leave a write blocked.
    cancel = writing_ && !opened_;
    ending_ = true;
    peer_ended_ = true;
  }
  if (cancel) call_->Cancel();
  FinishIfIdle();
}

void GrpcStream::ReadNext() {
  {
    MutexLock lock(mutex_);
    if (ending_) return;
    reading_ = true;
  }
  call_->Read(&incoming_, &read_);
}

void GrpcStream::HandleWritten(bool ok) {
  Write(EndWrite(ok));
  FinishIfIdle();
}

void GrpcStream::Write(std::optional<wire::Batch> batch) {
  while (batch.has_value()) {
    const std::optional<bool> ok =
        loop_->StartInline(&written_, [&] { call_->Write(*batch, &written_); });
    if (!ok.has_value()) return;  // HandleWritten will hear of it
    batch = EndWrite(*ok);
  }
  FinishIfIdle();
}

std::optional<wire::Batch> GrpcStream::EndWrite(bool ok) {
  MutexLock lock(mutex_);
  writing_ = false;
  if (!ok) ending_ = true;  // the call is dead: so is the read
  return BeginWriteIfDue();
}

void GrpcStream::HandleFinished() {
  // The owner lets go of this stream in HandleEnd.
  const std::shared_ptr<GrpcStream> self = shared_from_this();
  owner_->HandleEnd(*this, final_status_);
}

void GrpcStream::HandleProbes(const wire::Batch& batch) {
  if (batch.ping() == 0 && batch.pong() == 0) return;
  const Clock::time_point now = Clock::now();
  std::optional<absl::Duration> round_trip;
  std::optional<wire::Batch> answer;
  {
    MutexLock lock(mutex_);
    if (batch.ping() != 0) {
      header_.set_pong(batch.ping());
      header_waits_ = true;
    }
    if (batch.pong() != 0 && batch.pong() == ping_) {
      round_trip = absl::FromChrono(now - ping_sent_at_);
      if (ping_ < kProbeCount) {
        header_.set_ping(++ping_);
        header_waits_ = true;
      }
    }
    answer = BeginWriteIfDue();
  }
  Write(std::move(answer));
  if (round_trip.has_value()) owner_->HandleRoundTrip(*round_trip);
}

bool GrpcStream::HasWork() const { return header_waits_ || !outbox_.empty(); }

wire::Batch GrpcStream::BeginWrite() {
  HOPLITE_CHECK(!writing_);
  writing_ = true;
  if (handling_ && loop_->IsCurrentThread()) answered_ = true;
  wire::Batch batch = outbox_.Take();
  if (header_waits_) {
    batch.MergeFrom(header_);
    header_.Clear();
    header_waits_ = false;
    if (batch.ping() != 0) ping_sent_at_ = Clock::now();
  }
  return batch;
}

std::optional<wire::Batch> GrpcStream::BeginWriteIfDue() {
  if (!started_ || ending_ || writing_ || !HasWork()) return std::nullopt;
  return BeginWrite();
}

void GrpcStream::FinishIfIdle() {
  bool cancel = false;
  {
    MutexLock lock(mutex_);
    if (!started_ || !ending_ || reading_ || handling_ || writing_ ||
        finishing_) {
      return;
    }
    finishing_ = true;
    final_status_ = status_;
    // Else the opening end would wait for the peer to end the call.
    cancel = opened_ && !peer_ended_;
  }
  if (cancel) call_->Cancel();
  call_->Finish(&final_status_, &finished_);
}

}  // namespace hoplite
