// EventSet is one epoll: which descriptors are watched, for whom, and which of
// them are ready.
//
// The kernel is given numbers, not pointers: news of what has been forgotten
// meanwhile finds nobody.
//
// Not responsible for: who polls (poller_core.h).
// Thread safety: thread-safe; Wait and the pokes as their comments say. What a
// thread wrote before Watch, whoever Finds the number later sees.

#ifndef HOPLITE_RAY_INTEGRATION_LINK_EVENT_SET_H_
#define HOPLITE_RAY_INTEGRATION_LINK_EVENT_SET_H_

#include <sys/epoll.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hoplite/base/mutex.h"
#include "hoplite/runtime/socket_folder.h"

namespace hoplite::task {

// Whoever hears of a descriptor: a link, a listener, a connection that is
// being made.
class Watched {
 public:
  virtual ~Watched() = default;
  // On a polling thread. `events` as of epoll: EPOLLIN and the like.
  virtual void OnReady(std::uint32_t events) = 0;
  // The last call: nothing polls any more.
  virtual void OnStop() = 0;
  // Asked for by PollerCore::FlushLater.
  virtual void Flush() {}
};

class EventSet {
 public:
  using Number = std::uint64_t;  // 0 is nobody's

  // Errors: kResourceExhausted without free descriptors.
  static absl::StatusOr<std::unique_ptr<EventSet>> Create();

  Number NewNumber() { return ++last_number_; }
  // Keeps `watched` until Forget. False after TakeAll: then it is not kept.
  bool Add(Number number, std::shared_ptr<Watched> watched);
  void Forget(Number number);
  // Null: forgotten.
  std::shared_ptr<Watched> Find(Number number) const;
  // All that are kept; no more can be added.
  std::vector<std::shared_ptr<Watched>> TakeAll();

  // From now on `descriptor`, when ready for `events`, is news for `number`.
  //
  // Errors: kResourceExhausted where the kernel has no room for more.
  absl::Status Watch(int descriptor, Number number, std::uint32_t events);
  // REQUIRES: `descriptor` is watched, and stays open meanwhile.
  void Change(int descriptor, Number number, std::uint32_t events);
  void Unwatch(int descriptor);

  // Waits until something is ready, a poke or the end of `timeout`; returns
  // the part of `ready` that it has filled. One thread at a time.
  std::span<const epoll_event> Wait(absl::Duration timeout,
                                    std::span<epoll_event> ready);
  // Ends a Wait, the present or the next, and all others until Unpoke.
  void Poke() const;
  void Unpoke() const;

  // Waits as Wait does, but takes nothing, so that another may Wait meanwhile.
  void AwaitNews(absl::Duration timeout) const;
  // The same for AwaitNews.
  void PokeAwaiting() const;
  void UnpokeAwaiting() const;

 private:
  EventSet(FileDescriptor epoll, FileDescriptor poke, FileDescriptor awaiting);

  const FileDescriptor epoll_;
  const FileDescriptor poke_;
  const FileDescriptor poke_awaiting_;
  std::atomic<Number> last_number_ = 0;

  mutable Mutex mutex_;
  bool taken_ ABSL_GUARDED_BY(mutex_) = false;
  absl::flat_hash_map<Number, std::shared_ptr<Watched>> watched_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_LINK_EVENT_SET_H_
