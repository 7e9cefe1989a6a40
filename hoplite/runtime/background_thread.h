// BackgroundThread does, one after another, what takes too long for whoever
// asks for it.
//
// The thread starts with the first piece of work and sleeps between them.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_RUNTIME_BACKGROUND_THREAD_H_
#define HOPLITE_RUNTIME_BACKGROUND_THREAD_H_

#include <deque>
#include <functional>
#include <thread>

#include "hoplite/base/mutex.h"

namespace hoplite {

class BackgroundThread {
 public:
  BackgroundThread() = default;
  // As Stop does.
  ~BackgroundThread() { Stop(); }
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;

  // False after Stop: then it is not done.
  bool Do(std::function<void()> work);
  // Waits for the piece that is being done; leaves out those that wait.
  // REQUIRES: not called by such a piece.
  void Stop();

 private:
  void Run();

  Mutex mutex_;
  CondVar changed_;  // waiting_, stopped_
  std::deque<std::function<void()>> waiting_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hoplite

#endif  // HOPLITE_RUNTIME_BACKGROUND_THREAD_H_
