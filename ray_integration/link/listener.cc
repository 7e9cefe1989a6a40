#include "ray_integration/link/listener.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/time/time.h"
#include "hoplite/runtime/clock.h"
#include "ray_integration/link/socket_link.h"

namespace hoplite::task {
namespace {

// So many at a time, so that links get their turn.
constexpr int kAcceptedAtOnceMax = 16;
constexpr absl::Duration kRest = absl::Milliseconds(100);

bool IsOfOneConnection(int error) {
  return error == ECONNABORTED || error == EINTR || error == EPROTO ||
         error == ENETDOWN || error == EHOSTUNREACH || error == ENETUNREACH;
}

}  // namespace

Listener::Listener(std::shared_ptr<PollerCore> core, Listening listening,
                   Accepted accepted)
    : core_(std::move(core)),
      number_(core_->events().NewNumber()),
      listening_(std::move(listening)),
      accepted_(std::move(accepted)) {}

Listener::~Listener() {
  if (!listening_.path.empty()) unlink(listening_.path.c_str());
}

absl::Status Listener::Start() {
  if (!core_->events().Add(number_, shared_from_this())) {
    return absl::CancelledError("the poller has been stopped");
  }
  absl::Status watched =
      core_->events().Watch(listening_.socket.get(), number_, EPOLLIN);
  if (!watched.ok()) core_->events().Forget(number_);
  return watched;
}

void Listener::OnReady(std::uint32_t /*events*/) {
  for (int i = 0; i < kAcceptedAtOnceMax; ++i) {
    FileDescriptor socket(accept4(listening_.socket.get(), nullptr, nullptr,
                                  SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) {
      Welcome(std::move(socket));
    } else if (!IsOfOneConnection(errno)) {
      if (errno != EAGAIN && errno != EWOULDBLOCK) Rest();
      return;
    }
  }
}

void Listener::OnStop() {
  core_->events().Unwatch(listening_.socket.get());
  listening_.socket.Close();
}

void Listener::Welcome(FileDescriptor socket) {
  SendAtOnce(socket);
  const auto link = std::make_shared<SocketLink>(core_);
  auto handler = accepted_(link);
  if (handler == nullptr) {
    // Frees a user who has kept it from waiting for more.
    link->Finish(absl::CancelledError("not accepted"));
  } else if (link->Start(std::move(handler))) {
    link->Stand(std::move(socket));
  }
}

void Listener::Rest() {
  core_->events().Change(listening_.socket.get(), number_, 0);
  core_->At(SystemClock::Now() + kRest, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->core_->events().Change(self->listening_.socket.get(), self->number_,
                                 EPOLLIN);
  });
}

}  // namespace hoplite::task
