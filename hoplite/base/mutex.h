// The one lock of this project: std::mutex with Abseil's annotations.
//
// Unlike absl::Mutex it is seen by ThreadSanitizer where Abseil comes built,
// and clang's thread-safety analysis follows it. Not for core or sim.
//
// Thread safety: thread-safe, of course.

#ifndef HOPLITE_BASE_MUTEX_H_
#define HOPLITE_BASE_MUTEX_H_

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace hoplite {

class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds the mutex for as long as it lives.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Wakes may be spurious: wait in a loop over the condition.
class CondVar {
 public:
  void Wait(Mutex& mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // False where the deadline passed first. absl::InfiniteFuture() waits on.
  bool WaitUntil(Mutex& mutex, absl::Time deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (deadline == absl::InfiniteFuture()) {
      Wait(mutex);
      return true;
    }
    // As a duration, on the even clock: who sets the machine's clock back
    // prolongs no wait. Clamped, so that the sum with the time does not wrap.
    // tidy-allow(clock): the deadline is one of the wall's clock
    const absl::Duration left = deadline - absl::Now();
    const absl::Duration clamped = std::min(left, absl::Hours(24));
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const bool notified =
        condition_.wait_for(lock, absl::ToChronoNanoseconds(clamped)) ==
        std::cv_status::no_timeout;
    lock.release();
    return notified || clamped < left;
  }
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace hoplite

#endif  // HOPLITE_BASE_MUTEX_H_
