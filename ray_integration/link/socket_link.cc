#include "ray_integration/link/socket_link.h"

#include <utility>

namespace hoplite::task {
namespace {

absl::Status Stopped() {
  return absl::CancelledError("the poller has been stopped");
}

}  // namespace

SocketLink::SocketLink(std::shared_ptr<PollerCore> core)
    : core_(std::move(core)),
      number_(core_->events().NewNumber()),
      writer_(core_->events()) {}

void SocketLink::Send(std::span<const absl::string_view> pieces) {
  const bool hold = core_->IsHandling();
  if (writer_.Send(pieces, hold)) core_->FlushLater(shared_from_this());
}

void SocketLink::Close() {
  if (ended_.exchange(true)) return;
  writer_.Close();
  FinishLater(absl::CancelledError("the link has been closed here"));
}

bool SocketLink::Start(std::shared_ptr<LinkHandler> handler) {
  handler_ = std::move(handler);
  if (core_->events().Add(number_, shared_from_this())) return true;
  Finish(Stopped());
  return false;
}

void SocketLink::Stand(FileDescriptor socket) {
  socket_ = socket.get();
  const absl::Status standing = writer_.Stand(std::move(socket), number_);
  if (!standing.ok()) FinishLater(standing);
}

void SocketLink::FinishLater(absl::Status why) {
  core_->At(
      absl::InfinitePast(),
      [self = shared_from_this(), why = std::move(why)] { self->Finish(why); });
}

void SocketLink::Finish(const absl::Status& why) {
  ended_ = true;
  writer_.End();
  const auto handler = std::exchange(handler_, nullptr);
  if (handler == nullptr) return;
  core_->events().Forget(number_);
  handler->OnClosed(*this, why);
}

void SocketLink::OnReady(std::uint32_t events) {
  if (events & EPOLLOUT) writer_.OnWritable();
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) Receive();
}

void SocketLink::OnStop() { Finish(Stopped()); }

void SocketLink::Receive() {
  if (handler_ == nullptr) return;
  bool any = false;
  const absl::Status received = reader_.Receive(
      socket_, core_->shared_buffer(), [&](absl::string_view frame) {
        if (ended()) return false;
        any = true;
        handler_->OnFrame(*this, frame);
        return true;
      });
  if (any && !ended()) handler_->OnBatchEnd(*this);
  if (!received.ok()) Finish(received);
}

}  // namespace hoplite::task
