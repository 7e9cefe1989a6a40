#include "hoplite/api/put_call.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "hoplite/runtime/clock.h"

namespace hoplite {
namespace {

// Readers follow a copy by pieces of this size.
constexpr std::size_t kCopyBytes = 1 << 20;

}  // namespace

PutCall::PutCall(std::shared_ptr<Backend> backend, event::PutRequested put)
    : backend_(std::move(backend)),
      put_(std::move(put)),
      name_{.operation = "Put",
            .object = put_.object,
            .began = SystemClock::Now(),
            .deadline = put_.deadline} {}

void PutCall::Start() {
  const std::weak_ptr<PutCall> weak = weak_from_this();
  const auto cancel = [weak] {
    if (const auto call = weak.lock()) {
      call->End(CancelledError(call->name_));
    }
  };
  const auto expire = [weak] {
    if (const auto call = weak.lock()) {
      call->End(ExpiredError(call->name_));
    }
  };
  room_ready_->Prepare(cancel, GuardOf(put_.deadline), expire);
  done_->Prepare(cancel, GuardOf(put_.deadline), expire);
  backend_->Submit(put_, shared_from_this());
}

void PutCall::OnRoom(std::unique_ptr<CallRoom> room) {
  room_ = std::move(room);
  room_bytes_ = room_->bytes();
  room_ready_->Set(absl::OkStatus());
}

void PutCall::OnAnswer(CallAnswer answer) { Finish(std::move(answer.status)); }

void PutCall::End(absl::Status status) {
  backend_->Cancel(put_.request);
  Finish(std::move(status));
}

void PutCall::Finish(absl::Status status) {
  {
    MutexLock lock(mutex_);
    if (answer_.has_value()) return;
    answer_ = status;
    if (copying_) return;  // who copies says it
  }
  room_ready_->Set(status);
  done_->Set(std::move(status));
}

bool PutCall::finished() const {
  MutexLock lock(mutex_);
  return answer_.has_value();
}

void PutCall::Advance(std::uint64_t to) { room_->Advance(to); }

void PutCall::Seal() {
  {
    MutexLock lock(mutex_);
    if (std::exchange(sealed_, true)) return;
  }
  room_->Fill();
}

void PutCall::Abandon() {
  {
    MutexLock lock(mutex_);
    if (sealed_ || answer_.has_value()) return;
  }
  End(CancelledError(name_));
}

void PutCall::CopyAndSeal(std::span<const std::byte> data) {
  {
    MutexLock lock(mutex_);
    if (answer_.has_value()) return;
    copying_ = true;
  }
  for (std::size_t done = 0; done < data.size() && !finished();) {
    const std::size_t count = std::min(kCopyBytes, data.size() - done);
    std::memcpy(room_bytes_.data() + done, data.data() + done, count);
    done += count;
    if (done < data.size()) room_->Advance(done);
  }
  std::optional<absl::Status> answer;
  {
    MutexLock lock(mutex_);
    copying_ = false;
    answer = answer_;
  }
  if (!answer.has_value()) return Seal();
  done_->Set(*std::move(answer));
}

}  // namespace hoplite
