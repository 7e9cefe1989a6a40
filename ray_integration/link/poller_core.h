// PollerCore decides which thread polls, and runs what is ready on it.
//
// A thread that waits polls if nobody does, keeps its turn until it is done,
// and then wakes one that sleeps. Between turns nobody polls: the background
// thread takes that over after a millisecond without a turn. It waits beside
// the epoll, not in it, so that a thread that comes to wait only has to poke
// it away. During a long turn it sleeps.
//
// Every batch of handlers, and every Notify, is a change; who waits looks at
// its condition after each.
//
// Not responsible for: sockets and frames.
// Thread safety: thread-safe; what says so, for handlers and tasks only.

#ifndef HOPLITE_RAY_INTEGRATION_LINK_POLLER_CORE_H_
#define HOPLITE_RAY_INTEGRATION_LINK_POLLER_CORE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hoplite/base/mutex.h"
#include "ray_integration/link/event_set.h"

namespace hoplite::task {

class PollerCore {
 public:
  // With its background thread. Errors: as EventSet::Create.
  static absl::StatusOr<std::shared_ptr<PollerCore>> Create();
  // REQUIRES: Stop has returned.
  ~PollerCore();
  PollerCore(const PollerCore&) = delete;
  PollerCore& operator=(const PollerCore&) = delete;

  EventSet& events() { return *events_; }

  // The four are Poller's.
  bool Wait(absl::FunctionRef<bool()> done, absl::Time deadline);
  void Notify();
  void At(absl::Time when, std::function<void()> task);
  // Calls OnStop of all that `events()` keeps.
  void Stop();

  // True on the thread that runs handlers of this poller now.
  bool IsHandling() const;
  // Calls Flush when the handlers of one descriptor, or one task, have run.
  // REQUIRES: IsHandling().
  void FlushLater(std::shared_ptr<Watched> watched);
  // A buffer for whoever reads. REQUIRES: IsHandling().
  std::span<char> shared_buffer() { return {buffer_.get(), kBufferBytes}; }

 private:
  // A thread's stay in Wait.
  struct Stay {
    absl::Time deadline;
    std::uint64_t seen = 0;  // of changes_
    bool polls = false;
    bool late = false;  // the deadline has come
  };
  using Task = std::function<void()>;
  static constexpr std::size_t kBufferBytes = 256 << 10;

  explicit PollerCore(std::unique_ptr<EventSet> events);

  void Enter(Stay& stay);
  // Waits for a change; false at the deadline or the stop.
  bool Advance(Stay& stay);
  void Leave(const Stay& stay);

  void BeginTurn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Nobody polls: wakes who is to do so.
  void PassOn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Change() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits, runs what is ready and due. Lets go of the lock meanwhile.
  // REQUIRES: this thread polls.
  void PollOnce(absl::Time deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PokePolling() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Time NextTimer() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<Task> TakeDue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Run(std::span<const epoll_event> ready, std::vector<Task> due)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void FlushHeld();

  void RunBackground();
  // A millisecond, or until poked; true if no turn began meanwhile.
  bool Tick() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // True if it had the time.
  bool SleepBackground(absl::Time until) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PollInBackground() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PokeBackground() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::unique_ptr<EventSet> events_;

  // Of the thread that polls.
  const std::unique_ptr<char[]> buffer_;
  std::vector<std::shared_ptr<Watched>> held_;

  Mutex stop_mutex_;  // before mutex_
  std::thread background_ ABSL_GUARDED_BY(stop_mutex_);

  Mutex mutex_;
  CondVar changed_;           // changes_, polled_, stays_
  CondVar background_poked_;  // for SleepBackground
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::uint64_t changes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t turns_ ABSL_GUARDED_BY(mutex_) = 0;  // of threads in Wait
  int stays_ ABSL_GUARDED_BY(mutex_) = 0;
  int sleepers_ ABSL_GUARDED_BY(mutex_) = 0;  // of the stays
  std::multimap<absl::Time, Task> timers_ ABSL_GUARDED_BY(mutex_);
  bool polled_ ABSL_GUARDED_BY(mutex_) = false;
  // How long the polling thread is away in EventSet::Wait; else the past.
  absl::Time polls_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  bool poked_ ABSL_GUARDED_BY(mutex_) = false;  // EventSet::Poke
  // How long the background thread sleeps or awaits news; else the past.
  absl::Time background_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  bool background_awaits_ ABSL_GUARDED_BY(mutex_) = false;
  bool background_is_poked_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_LINK_POLLER_CORE_H_
