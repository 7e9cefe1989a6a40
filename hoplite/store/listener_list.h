// ListenerList calls functions when something has changed.
//
// No lock is held during a call, so that a listener may call back into whoever
// notifies it; taking a listener off waits until its calls have ended.
//
// Thread safety: thread-safe. A listener may be called by several threads at
// once, where several notify.

#ifndef HOPLITE_STORE_LISTENER_LIST_H_
#define HOPLITE_STORE_LISTENER_LIST_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

#include "hoplite/base/id.h"
#include "hoplite/base/mutex.h"

namespace hoplite {

// One listener, unique in its list.
using ListenerId = StrongInt<struct ListenerIdTag>;

class ListenerList {
 public:
  ListenerList() = default;
  ListenerList(const ListenerList&) = delete;
  ListenerList& operator=(const ListenerList&) = delete;

  // From now on Notify calls `listener`. What changed before that, its owner
  // must look at afterwards: whoever makes his change with a sequentially
  // consistent store and then notifies either calls the listener, or his
  // change is seen by a sequentially consistent load after Add.
  ListenerId Add(std::function<void()> listener);
  // Afterwards no call is running or will come. Unknown ids are ignored.
  // REQUIRES: not called from within the listener that it removes.
  void Remove(ListenerId id);

  // Calls every listener on this thread, in the order of Add; one that is
  // removed meanwhile may be left out. Costs one load where there is none.
  void Notify() {
    if (count_.load() != 0) NotifyAll();
  }

 private:
  struct Listener {
    std::function<void()> call;
    int running = 0;  // calls that have begun and not ended
    bool removed = false;
  };

  void NotifyAll();

  std::atomic<std::size_t> count_ = 0;
  Mutex mutex_;
  CondVar ended_;  // some removed listener's last call
  std::uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  // Nodes do not move, and one that runs is erased by its Remove only.
  std::map<ListenerId, Listener> listeners_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hoplite

#endif  // HOPLITE_STORE_LISTENER_LIST_H_
