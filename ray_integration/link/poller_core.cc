#include "ray_integration/link/poller_core.h"

#include <algorithm>
#include <array>
#include <utility>

#include "hoplite/base/check.h"
#include "hoplite/runtime/clock.h"

namespace hoplite::task {
namespace {

// After so long without a turn the background thread polls.
constexpr absl::Duration kTick = absl::Milliseconds(1);
constexpr std::size_t kReadyMax = 64;

thread_local const PollerCore* handling = nullptr;

// Negative is as good as zero, for whoever waits.
absl::Duration Until(absl::Time time) {
  if (time == absl::InfiniteFuture()) return absl::InfiniteDuration();
  if (time == absl::InfinitePast()) return absl::ZeroDuration();
  return time - SystemClock::Now();
}

bool HasCome(absl::Time time) { return Until(time) <= absl::ZeroDuration(); }

}  // namespace

absl::StatusOr<std::shared_ptr<PollerCore>> PollerCore::Create() {
  auto events = EventSet::Create();
  if (!events.ok()) return events.status();
  std::shared_ptr<PollerCore> core(new PollerCore(*std::move(events)));
  MutexLock lock(core->stop_mutex_);
  core->background_ = std::thread([&core = *core] { core.RunBackground(); });
  return core;
}

PollerCore::PollerCore(std::unique_ptr<EventSet> events)
    : events_(std::move(events)),
      buffer_(std::make_unique_for_overwrite<char[]>(kBufferBytes)) {}

PollerCore::~PollerCore() {
  MutexLock lock(stop_mutex_);
  HOPLITE_CHECK(!background_.joinable());
}

bool PollerCore::Wait(absl::FunctionRef<bool()> done, absl::Time deadline) {
  HOPLITE_CHECK(!IsHandling());
  Stay stay{.deadline = deadline};
  Enter(stay);
  bool is_done = done();
  while (!is_done && Advance(stay)) is_done = done();
  Leave(stay);
  return is_done;
}

void PollerCore::Enter(Stay& stay) {
  MutexLock lock(mutex_);
  ++stays_;
  stay.seen = changes_;
}

bool PollerCore::Advance(Stay& stay) {
  MutexLock lock(mutex_);
  if (stay.late) return false;
  while (!stopped_ && !stay.late && changes_ == stay.seen) {
    if (!polled_) {
      stay.polls = true;
      BeginTurn();
    }
    if (stay.polls) {
      PollOnce(stay.deadline);
    } else {
      ++sleepers_;
      changed_.WaitUntil(mutex_, SystemClock::ToWallTime(stay.deadline));
      --sleepers_;
    }
    stay.late = HasCome(stay.deadline);
  }
  // What came together with the deadline is looked at too.
  const bool has_changed = changes_ != stay.seen;
  stay.seen = changes_;
  return has_changed && !stopped_;
}

void PollerCore::Leave(const Stay& stay) {
  MutexLock lock(mutex_);
  --stays_;
  if (stay.polls) polled_ = false;
  if (stopped_) {
    changed_.NotifyAll();
  } else if (!polled_) {
    PassOn();
  }
}

void PollerCore::BeginTurn() {
  polled_ = true;
  ++turns_;
  // It would wake with each news that this thread takes.
  if (background_awaits_) PokeBackground();
}

void PollerCore::PassOn() {
  if (sleepers_ > 0) {
    changed_.NotifyOne();
  } else if (NextTimer() < background_until_ ||
             (background_until_ == absl::InfiniteFuture() &&
              !background_awaits_)) {
    PokeBackground();
  }
}

void PollerCore::Change() {
  ++changes_;
  if (sleepers_ > 0) changed_.NotifyAll();
}

void PollerCore::Notify() {
  MutexLock lock(mutex_);
  Change();
  PokePolling();
}

void PollerCore::PokePolling() {
  if (polls_until_ == absl::InfinitePast() || poked_) return;
  poked_ = true;
  events_->Poke();
}

void PollerCore::At(absl::Time when, Task task) {
  MutexLock lock(mutex_);
  if (stopped_) return;
  timers_.emplace(when, std::move(task));
  if (when < polls_until_) PokePolling();
  if (!polled_ && when < background_until_) PokeBackground();
}

absl::Time PollerCore::NextTimer() const {
  return timers_.empty() ? absl::InfiniteFuture() : timers_.begin()->first;
}

std::vector<PollerCore::Task> PollerCore::TakeDue() {
  std::vector<Task> due;
  if (timers_.empty()) return due;
  const absl::Time now = SystemClock::Now();
  while (!timers_.empty() && timers_.begin()->first <= now) {
    due.push_back(std::move(timers_.begin()->second));
    timers_.erase(timers_.begin());
  }
  return due;
}

void PollerCore::PollOnce(absl::Time deadline) {
  const absl::Time until = std::min(deadline, NextTimer());
  polls_until_ = until;
  mutex_.Unlock();
  std::array<epoll_event, kReadyMax> space;
  const auto ready = events_->Wait(Until(until), space);
  mutex_.Lock();
  polls_until_ = absl::InfinitePast();
  if (std::exchange(poked_, false)) events_->Unpoke();
  if (stopped_) return;
  std::vector<Task> due = TakeDue();
  if (ready.empty() && due.empty()) return;
  mutex_.Unlock();
  Run(ready, std::move(due));
  mutex_.Lock();
  Change();
}

void PollerCore::Run(std::span<const epoll_event> ready,
                     std::vector<Task> due) {
  const PollerCore* const outer = std::exchange(handling, this);
  for (const epoll_event& event : ready) {
    if (const auto watched = events_->Find(event.data.u64)) {
      watched->OnReady(event.events);
    }
    FlushHeld();
  }
  for (Task& task : due) {
    task();
    task = nullptr;  // what it held may go only by a handler too
    FlushHeld();
  }
  handling = outer;
}

void PollerCore::FlushHeld() {
  for (std::size_t i = 0; i < held_.size(); ++i) held_[i]->Flush();
  held_.clear();
}

bool PollerCore::IsHandling() const { return handling == this; }

void PollerCore::FlushLater(std::shared_ptr<Watched> watched) {
  HOPLITE_DCHECK(IsHandling());
  held_.push_back(std::move(watched));
}

void PollerCore::Stop() {
  HOPLITE_CHECK(!IsHandling());
  MutexLock stop_lock(stop_mutex_);
  std::multimap<absl::Time, Task> timers;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    changed_.NotifyAll();
    PokePolling();
    PokeBackground();
    while (stays_ > 0) changed_.Wait(mutex_);
    timers.swap(timers_);
  }
  if (background_.joinable()) background_.join();
  for (const auto& watched : events_->TakeAll()) watched->OnStop();
}

void PollerCore::RunBackground() {
  MutexLock lock(mutex_);
  bool quiet = false;
  while (!stopped_) {
    if (polled_ && quiet) {
      // One turn has gone on for a tick at least: its end pokes.
      SleepBackground(absl::InfiniteFuture());
      quiet = false;
    } else if (!polled_ && (quiet || HasCome(NextTimer()))) {
      const std::uint64_t before = turns_;
      PollInBackground();
      quiet = quiet && turns_ == before;
    } else {
      quiet = Tick();
    }
  }
}

bool PollerCore::Tick() {
  const std::uint64_t before = turns_;
  absl::Time until = SystemClock::Now() + kTick;
  if (!polled_) until = std::min(until, NextTimer());
  return SleepBackground(until) && turns_ == before;
}

bool PollerCore::SleepBackground(absl::Time until) {
  background_until_ = until;
  while (!stopped_ && !background_is_poked_ && !HasCome(until)) {
    background_poked_.WaitUntil(mutex_, SystemClock::ToWallTime(until));
  }
  background_until_ = absl::InfinitePast();
  return !std::exchange(background_is_poked_, false);
}

void PollerCore::PollInBackground() {
  background_awaits_ = true;
  background_until_ = NextTimer();
  const absl::Time until = background_until_;
  mutex_.Unlock();
  events_->AwaitNews(Until(until));
  mutex_.Lock();
  background_awaits_ = false;
  background_until_ = absl::InfinitePast();
  if (std::exchange(background_is_poked_, false)) events_->UnpokeAwaiting();
  if (polled_ || stopped_) return;
  polled_ = true;
  PollOnce(absl::InfinitePast());
  polled_ = false;
  if (sleepers_ > 0) changed_.NotifyOne();
}

void PollerCore::PokeBackground() {
  if (background_is_poked_) return;
  if (background_awaits_) {
    background_is_poked_ = true;
    events_->PokeAwaiting();
  } else if (background_until_ != absl::InfinitePast()) {
    background_is_poked_ = true;
    background_poked_.NotifyOne();
  }
}

}  // namespace hoplite::task
