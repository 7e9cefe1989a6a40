#include "hoplite/store/listener_list.h"

#include <utility>

namespace hoplite {

ListenerId ListenerList::Add(std::function<void()> listener) {
  MutexLock lock(mutex_);
  const ListenerId id(++last_id_);
  listeners_[id].call = std::move(listener);
  count_.fetch_add(1);
  return id;
}

void ListenerList::Remove(ListenerId id) {
  MutexLock lock(mutex_);
  for (;;) {
    const auto found = listeners_.find(id);
    if (found == listeners_.end()) return;
    if (found->second.running == 0) {
      listeners_.erase(found);
      count_.fetch_sub(1);
      ended_.NotifyAll();
      return;
    }
    found->second.removed = true;
    ended_.Wait(mutex_);
  }
}

void ListenerList::NotifyAll() {
  mutex_.Lock();
  auto next = listeners_.begin();
  while (next != listeners_.end()) {
    const ListenerId id = next->first;
    Listener& listener = next->second;
    if (!listener.removed) {
      ++listener.running;
      mutex_.Unlock();
      listener.call();
      mutex_.Lock();
      --listener.running;
      if (listener.removed && listener.running == 0) ended_.NotifyAll();
    }
    next = listeners_.upper_bound(id);
  }
  mutex_.Unlock();
}

}  // namespace hoplite
