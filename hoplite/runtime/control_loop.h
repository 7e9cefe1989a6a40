// ControlLoop runs one machine, one thread at a time, without a hop: whoever
// brings an event runs the machine, unless somebody already does.
//
// Deliver queues the event. Where no thread runs the machine, the caller
// becomes its runner: it takes all that is queued, has it handled, and goes on
// until the queue is empty. What arrives meanwhile, also from what the runner
// itself executes, is queued and left to it. A runner that has worked for long
// hands over to the loop's one thread, which otherwise sleeps until the
// machine's next timeout: an idle machine uses no processor.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_RUNTIME_CONTROL_LOOP_H_
#define HOPLITE_RUNTIME_CONTROL_LOOP_H_

#include <optional>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "hoplite/base/mutex.h"
#include "hoplite/core/event.h"

namespace hoplite {

// The machine and whoever carries out its commands. Only ever called by one
// thread at a time.
class LoopBody {
 public:
  virtual ~LoopBody() = default;
  // Handles the events, then the timeouts that are due, then executes what
  // came of both. May Deliver; must not block. Empties `batch`.
  virtual void Run(absl::Time now, std::vector<Event>& batch) = 0;
  virtual std::optional<absl::Time> NextTimeout() = 0;
};

class ControlLoop {
 public:
  // Ownership: `body` outlives the loop.
  explicit ControlLoop(LoopBody* body);
  // As Stop does.
  ~ControlLoop();
  ControlLoop(const ControlLoop&) = delete;
  ControlLoop& operator=(const ControlLoop&) = delete;

  // Ignored after Stop. May run the machine on this thread: call it with no
  // lock held that executing a command may want.
  void Deliver(Event event);
  // The same, but never runs the machine on this thread: may be called with
  // any lock held, at the price of a wake-up.
  void DeliverLater(Event event);

  // Calls `look` while nobody runs the machine, also after Stop. REQUIRES: not
  // called by the machine's runner.
  void Inspect(absl::FunctionRef<void()> look);

  // Afterwards the machine does not run any more. REQUIRES: not called by the
  // machine's runner.
  void Stop();

 private:
  struct Inspection {
    absl::FunctionRef<void()> look;
    bool done = false;
  };

  // REQUIRES: this thread has set running_.
  void Run(bool may_hand_over);
  // False where there is nothing to do: then this thread is no longer the
  // runner. Takes what is queued.
  bool TakeOrEnd(int batches, bool may_hand_over);
  void EndRun() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool NothingQueued() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return inbox_.empty() && inspections_.empty();
  }
  void RunTimer();
  bool WorkForTimer() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  LoopBody* const body_;

  // Owned by the runner.
  std::vector<Event> batch_;
  std::vector<Inspection*> inspections_taken_;
  bool takes_events_ = true;

  Mutex mutex_;
  CondVar timer_wakes_;
  CondVar changed_;  // running_ ended, or an inspection is done
  std::vector<Event> inbox_ ABSL_GUARDED_BY(mutex_);
  std::vector<Inspection*> inspections_ ABSL_GUARDED_BY(mutex_);
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread::id runner_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  // Somebody left events for the loop's thread.
  bool handed_over_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time next_timeout_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  // Until when the loop's thread sleeps.
  absl::Time sleeps_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();

  std::thread timer_;  // last: it uses all of the above
};

}  // namespace hoplite

#endif  // HOPLITE_RUNTIME_CONTROL_LOOP_H_
