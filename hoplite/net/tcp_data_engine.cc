#include "hoplite/net/tcp_data_engine.h"

#include <chrono>

namespace hoplite {

double SteadySeconds() {
  using std::chrono::steady_clock;
  // tidy-allow(clock): keep-alives and idle sockets, no decision of the core
  const auto now = steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

BufferFollower::BufferFollower(EventLoop& loop, BufferPtr buffer, Owner& owner)
    : loop_(loop),
      buffer_(std::move(buffer)),
      owner_(owner),
      link_(std::make_shared<Link>()) {
  link_->follower = this;
  listener_ = buffer_->AddListener([this] { OnAdvance(); });
}

BufferFollower::~BufferFollower() {
  buffer_->RemoveListener(listener_);
  link_->follower = nullptr;
}

void BufferFollower::OnAdvance() {
  if (loop_.InLoop()) {
    loop_.Defer(*this);
    return;
  }
  if (link_->posted.exchange(true)) return;
  loop_.Post([link = link_] {
    // Before the look at the watermark: what comes later posts again.
    link->posted.store(false);
    if (link->follower != nullptr) link->follower->RunDeferred();
  });
}

}  // namespace hoplite
