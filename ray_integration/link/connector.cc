#include "ray_integration/link/connector.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/runtime/clock.h"

namespace hoplite::task {
namespace {

// A Unix socket whose queue of connections is full is tried again so soon.
constexpr absl::Duration kRetryAfter = absl::Milliseconds(5);

// 0 where the connection stands.
int ErrorOf(const FileDescriptor& socket) {
  int error = 0;
  socklen_t length = sizeof(error);
  if (getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) {
    return errno;
  }
  return error;
}

}  // namespace

Connector::Connector(std::shared_ptr<PollerCore> core,
                     std::shared_ptr<SocketLink> link,
                     absl::string_view address)
    : core_(std::move(core)),
      link_(std::move(link)),
      address_(address),
      number_(core_->events().NewNumber()) {}

void Connector::Start() {
  auto addresses = ResolveAddress(address_, Purpose::kConnect);
  MutexLock lock(mutex_);
  if (!addresses.ok()) return End(addresses.status());
  addresses_ = *std::move(addresses);
  TryNext();
}

void Connector::TryNext() {
  while (next_ < addresses_.size()) {
    if (Try(addresses_[next_++])) return;
  }
  End(failure_);
}

bool Connector::Try(const SocketAddress& address) {
  auto made = MakeSocket(address);
  if (!made.ok()) {
    failure_ = made.status();
    return false;
  }
  socket_ = *std::move(made);
  if (connect(socket_.get(), address.generic(), address.length) == 0) {
    End(absl::OkStatus());
    return true;
  }
  const int error = errno;
  if (error == EINPROGRESS) {
    if (!Keep()) return true;
    failure_ = core_->events().Watch(socket_.get(), number_, EPOLLOUT);
    return failure_.ok();
  }
  if (error == EAGAIN && address.is_unix()) {
    if (!Keep()) return true;
    --next_;
    core_->At(SystemClock::Now() + kRetryAfter,
              [self = shared_from_this()] { self->TryAgain(); });
    return true;
  }
  failure_ = Unreachable(error);
  return false;
}

void Connector::TryAgain() {
  MutexLock lock(mutex_);
  if (over_) return;
  if (link_->ended()) return End(absl::CancelledError());
  TryNext();
}

bool Connector::Keep() {
  if (kept_) return true;
  kept_ = core_->events().Add(number_, shared_from_this());
  over_ = !kept_;
  core_->At(SystemClock::Now() + kConnectLimit, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    MutexLock lock(self->mutex_);
    if (self->over_) return;
    self->End(absl::DeadlineExceededError(
        absl::StrCat(self->address_, " has not answered for ",
                     absl::FormatDuration(kConnectLimit))));
  });
  return kept_;
}

void Connector::OnReady(std::uint32_t /*events*/) {
  MutexLock lock(mutex_);
  if (over_) return;
  if (link_->ended()) return End(absl::CancelledError());
  core_->events().Unwatch(socket_.get());
  const int error = ErrorOf(socket_);
  if (error == 0) return End(absl::OkStatus());
  failure_ = Unreachable(error);
  TryNext();
}

void Connector::OnStop() {
  MutexLock lock(mutex_);
  over_ = true;
  socket_.Close();
}

void Connector::End(absl::Status why) {
  over_ = true;
  if (kept_) core_->events().Forget(number_);  // whoever calls keeps this
  if (why.ok()) return link_->Stand(std::move(socket_));
  if (socket_) core_->events().Unwatch(socket_.get());
  socket_.Close();
  link_->FinishLater(std::move(why));
}

absl::Status Connector::Unreachable(int error) const {
  return absl::UnavailableError(
      absl::StrCat("cannot connect to ", address_, ": ", std::strerror(error)));
}

}  // namespace hoplite::task
