#include "hoplite/runtime/background_thread.h"

#include <utility>

namespace hoplite {

bool BackgroundThread::Do(std::function<void()> work) {
  MutexLock lock(mutex_);
  if (stopped_) return false;
  waiting_.push_back(std::move(work));
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  changed_.NotifyOne();
  return true;
}

void BackgroundThread::Stop() {
  std::thread thread;
  std::deque<std::function<void()>> left_out;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    left_out.swap(waiting_);
    thread.swap(thread_);
    changed_.NotifyOne();
  }
  if (thread.joinable()) thread.join();
}

void BackgroundThread::Run() {
  for (;;) {
    std::function<void()> work;
    {
      MutexLock lock(mutex_);
      while (waiting_.empty() && !stopped_) changed_.Wait(mutex_);
      if (stopped_) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    work();
  }
}

}  // namespace hoplite
