#include "hoplite/runtime/head_seeker.h"

#include <string>
#include <utility>

#include "absl/time/time.h"
#include "hoplite/runtime/clock.h"

namespace hoplite {
namespace {

// A head that stands still answers none, and another may be there soon.
constexpr absl::Duration kTryAtMost = absl::Seconds(1);
constexpr absl::Duration kPause = absl::Milliseconds(100);

}  // namespace

void HeadSeeker::Seek(const command::SeekHead& order) {
  MutexLock lock(mutex_);
  if (stopped_) return;
  order_ = order;
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  changed_.NotifyAll();
}

void HeadSeeker::Stop() {
  std::thread thread;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    changed_.NotifyAll();
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

void HeadSeeker::Run() {
  while (const std::optional<command::SeekHead> order = Next()) {
    // What an order that comes from here on is about may have happened after
    // the answer: it is tried, too.
    {
      MutexLock lock(mutex_);
      order_.reset();
    }
    std::optional<Event> found = Try(*order);
    if (found.has_value()) {
      deliver_(*std::move(found));
      continue;
    }
    {
      MutexLock lock(mutex_);
      if (!order_.has_value()) order_ = order;
    }
    Pause();
  }
}

std::optional<command::SeekHead> HeadSeeker::Next() {
  MutexLock lock(mutex_);
  while (!stopped_ && !order_.has_value()) changed_.Wait(mutex_);
  return stopped_ ? std::nullopt : order_;
}

std::optional<Event> HeadSeeker::Try(const command::SeekHead& order) {
  const absl::StatusOr<Welcome> welcome = control_->Return(
      order.head_address, order.view, SystemClock::Now() + kTryAtMost);
  if (welcome.ok()) {
    return event::HeadFound{.members = welcome->members,
                            .shard_map = welcome->shard_map};
  }
  if (welcome.status().code() != absl::StatusCode::kAborted) {
    return std::nullopt;
  }
  return event::Fenced{std::string(welcome.status().message())};
}

void HeadSeeker::Pause() {
  const absl::Time until = SystemClock::Now() + kPause;
  MutexLock lock(mutex_);
  while (!stopped_ && SystemClock::Now() < until) {
    changed_.WaitUntil(mutex_, SystemClock::ToWallTime(until));
  }
}

}  // namespace hoplite
