#include "hoplite/api/future_state.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "hoplite/runtime/clock.h"

namespace hoplite {

bool FutureStateBase::Ready() const { return ready_order() != 0; }

std::uint64_t FutureStateBase::ready_order() const {
  MutexLock lock(mutex_);
  return ready_order_;
}

bool FutureStateBase::Wait(absl::Time deadline) {
  std::function<void()> expire;
  for (;;) {
    {
      MutexLock lock(mutex_);
      for (;;) {
        if (ready_order_ != 0) return true;
        const absl::Time now = SystemClock::Now();
        if (guard_ <= now) break;
        if (deadline <= now) return false;
        ready_.WaitUntil(mutex_,
                         SystemClock::ToWallTime(std::min(deadline, guard_)));
      }
      guard_ = absl::InfiniteFuture();
      expire = expire_;
    }
    if (expire) expire();
  }
}

void FutureStateBase::Prepare(std::function<void()> cancel, absl::Time guard,
                              std::function<void()> expire) {
  MutexLock lock(mutex_);
  cancel_ = std::move(cancel);
  guard_ = guard;
  expire_ = std::move(expire);
}

void FutureStateBase::Cancel() {
  std::function<void()> cancel;
  {
    MutexLock lock(mutex_);
    cancel = cancel_;
  }
  if (cancel) cancel();
}

std::uint64_t FutureStateBase::Listen(std::function<void()> listener) {
  {
    MutexLock lock(mutex_);
    if (ready_order_ == 0) {
      listeners_.emplace(++last_listener_, std::move(listener));
      return last_listener_;
    }
  }
  listener();
  return 0;
}

void FutureStateBase::Unlisten(std::uint64_t number) {
  std::function<void()> listener;  // goes after the lock
  MutexLock lock(mutex_);
  const auto found = listeners_.find(number);
  if (found == listeners_.end()) return;
  listener = std::move(found->second);
  listeners_.erase(found);
}

bool FutureStateBase::Complete(absl::FunctionRef<void()> store) {
  static std::atomic<std::uint64_t> last_order = 0;
  std::map<std::uint64_t, std::function<void()>> listeners;
  std::function<void()> cancel;  // these two go after the lock
  std::function<void()> expire;
  {
    MutexLock lock(mutex_);
    if (ready_order_ != 0) return false;
    store();
    ready_order_ = ++last_order;
    listeners.swap(listeners_);
    cancel.swap(cancel_);
    expire.swap(expire_);
    ready_.NotifyAll();
  }
  for (const auto& [number, listener] : listeners) listener();
  return true;
}

namespace {

// What WaitForFirstStates waits on; listeners may come after it has returned.
struct Tally {
  Mutex mutex;
  CondVar changed;
  std::size_t ready ABSL_GUARDED_BY(mutex) = 0;
};

void WaitForTally(Tally& tally, std::size_t count, absl::Time deadline) {
  MutexLock lock(tally.mutex);
  while (tally.ready < count && SystemClock::Now() < deadline) {
    tally.changed.WaitUntil(tally.mutex, SystemClock::ToWallTime(deadline));
  }
}

}  // namespace

std::vector<std::size_t> WaitForFirstStates(
    std::span<FutureStateBase* const> states, std::size_t count,
    absl::Time deadline) {
  count = std::min(count, states.size());
  const auto tally = std::make_shared<Tally>();
  std::vector<std::uint64_t> listeners;
  listeners.reserve(states.size());
  for (FutureStateBase* state : states) {
    listeners.push_back(state->Listen([tally] {
      MutexLock lock(tally->mutex);
      ++tally->ready;
      tally->changed.NotifyOne();
    }));
  }
  WaitForTally(*tally, count, deadline);
  std::vector<std::pair<std::uint64_t, std::size_t>> ready;
  for (std::size_t i = 0; i < states.size(); ++i) {
    states[i]->Unlisten(listeners[i]);
    const std::uint64_t order = states[i]->ready_order();
    if (order != 0) ready.emplace_back(order, i);
  }
  std::ranges::sort(ready);
  if (ready.size() > count) ready.resize(count);
  std::vector<std::size_t> indices;
  for (const auto& [order, index] : ready) indices.push_back(index);
  return indices;
}

}  // namespace hoplite
