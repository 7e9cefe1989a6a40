#include "hoplite/runtime/control_loop.h"

#include <utility>

#include "hoplite/base/check.h"
#include "hoplite/runtime/clock.h"

namespace hoplite {
namespace {

// A client's thread that brought an event is let go after so many batches.
constexpr int kBatchesBeforeHandingOver = 16;

}  // namespace

ControlLoop::ControlLoop(LoopBody* body)
    : body_(body), timer_([this] { RunTimer(); }) {}

ControlLoop::~ControlLoop() { Stop(); }

void ControlLoop::Deliver(Event event) {
  {
    MutexLock lock(mutex_);
    if (stopped_) return;
    inbox_.push_back(std::move(event));
    if (running_) return;
    running_ = true;
    runner_ = std::this_thread::get_id();
  }
  Run(/*may_hand_over=*/true);
}

void ControlLoop::DeliverLater(Event event) {
  MutexLock lock(mutex_);
  if (stopped_) return;
  inbox_.push_back(std::move(event));
  if (running_) return;
  handed_over_ = true;
  timer_wakes_.NotifyOne();
}

void ControlLoop::Inspect(absl::FunctionRef<void()> look) {
  Inspection inspection{look};
  {
    MutexLock lock(mutex_);
    if (running_) {
      HOPLITE_CHECK(runner_ != std::this_thread::get_id());
      inspections_.push_back(&inspection);
      while (!inspection.done) changed_.Wait(mutex_);
      return;
    }
    inspections_.push_back(&inspection);
    running_ = true;
    runner_ = std::this_thread::get_id();
  }
  Run(/*may_hand_over=*/true);
}

void ControlLoop::Stop() {
  {
    MutexLock lock(mutex_);
    HOPLITE_CHECK(!running_ || runner_ != std::this_thread::get_id());
    stopped_ = true;
    inbox_.clear();
    while (running_) changed_.Wait(mutex_);
    timer_wakes_.NotifyOne();
  }
  if (timer_.joinable()) timer_.join();
}

void ControlLoop::Run(bool may_hand_over) {
  for (int batches = 0; TakeOrEnd(batches, may_hand_over); ++batches) {
    for (Inspection* inspection : inspections_taken_) inspection->look();
    if (!inspections_taken_.empty()) {
      MutexLock lock(mutex_);
      for (Inspection* inspection : inspections_taken_) inspection->done = true;
      inspections_taken_.clear();
      changed_.NotifyAll();
    }
    if (!takes_events_) continue;
    body_->Run(SystemClock::Now(), batch_);
    batch_.clear();
  }
}

bool ControlLoop::TakeOrEnd(int batches, bool may_hand_over) {
  MutexLock lock(mutex_);
  if (batches > 0 && NothingQueued()) {
    EndRun();
    return false;
  }
  if (may_hand_over && batches >= kBatchesBeforeHandingOver &&
      inspections_.empty()) {
    handed_over_ = true;
    EndRun();
    return false;
  }
  takes_events_ = !stopped_;
  batch_.swap(inbox_);
  inspections_taken_.swap(inspections_);
  return true;
}

void ControlLoop::EndRun() {
  next_timeout_ = stopped_
                      ? absl::InfiniteFuture()
                      : body_->NextTimeout().value_or(absl::InfiniteFuture());
  running_ = false;
  runner_ = std::thread::id();
  if (next_timeout_ < sleeps_until_ || handed_over_) timer_wakes_.NotifyOne();
  if (stopped_) changed_.NotifyAll();
}

bool ControlLoop::WorkForTimer() const {
  return !running_ && !stopped_ &&
         (handed_over_ || next_timeout_ <= SystemClock::Now());
}

void ControlLoop::RunTimer() {
  for (;;) {
    {
      MutexLock lock(mutex_);
      while (!WorkForTimer()) {
        if (stopped_) return;
        // A runner sets the next timeout when it ends.
        sleeps_until_ = running_ ? absl::InfiniteFuture() : next_timeout_;
        timer_wakes_.WaitUntil(mutex_, SystemClock::ToWallTime(sleeps_until_));
      }
      sleeps_until_ = absl::InfinitePast();
      handed_over_ = false;
      running_ = true;
      runner_ = std::this_thread::get_id();
    }
    Run(/*may_hand_over=*/false);
  }
}

}  // namespace hoplite
