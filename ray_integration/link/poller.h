// Poller watches the sockets and the timers of a process: one epoll, polled by
// whichever thread waits for something.
//
// The thread in Wait reads, runs handlers and so gets its own answer: no other
// thread is woken for it. So a message to another process and back is two
// wake-ups in all. One thread polls at a time; others in Wait sleep until it
// hands over. A background thread polls only where nobody has done so for a
// millisecond, and blocks, without a timeout, where nothing happens.
//
// Not responsible for: what frames mean (link.h has the handlers).
// Thread safety: thread-safe. Handlers and tasks run on one thread at a time,
// without a lock of the poller; they may call anything but Wait and Stop.

#ifndef HOPLITE_RAY_INTEGRATION_LINK_POLLER_H_
#define HOPLITE_RAY_INTEGRATION_LINK_POLLER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "ray_integration/link/link.h"

namespace hoplite::task {

class PollerCore;

class Poller {
 public:
  // Errors: kResourceExhausted without free descriptors.
  static absl::StatusOr<std::unique_ptr<Poller>> Create();
  // As Stop does.
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  // Gets each new link, on a polling thread, and returns its handler; null
  // closes the link again, and nobody is told.
  using Accepted =
      std::function<std::shared_ptr<LinkHandler>(const LinkPtr& link)>;

  // Listens until Stop at "unix:/path" or "host:port", where port 0 is a free
  // one. Returns the address with the real port. A socket that a dead process
  // has left at the path is replaced.
  //
  // Errors: kInvalidArgument for an address that is none of this machine;
  // kAlreadyExists where another listens there; kUnavailable where the system
  // says no, or does not know the host; kResourceExhausted without free
  // descriptors; kCancelled after Stop.
  absl::StatusOr<std::string> Listen(absl::string_view address,
                                     Accepted accepted);

  // A link at once; one that cannot be made ends with OnClosed, later and on a
  // polling thread. Frames sent before it stands are kept. A host's name,
  // other than an address, is looked up first, which can take its time. After
  // Stop, OnClosed is called at once.
  LinkPtr Connect(absl::string_view address,
                  std::shared_ptr<LinkHandler> handler);

  // Runs handlers and tasks on this thread until done() or the deadline; true
  // if done. After Stop it returns at once. done() is called on this thread
  // only, without a lock: first, after each batch of handlers, whoever ran it,
  // and after Notify. It may take locks that handlers take. Where the deadline
  // has passed already, what is there is read and handled once.
  //
  // REQUIRES: not called by a handler or a task.
  bool Wait(absl::FunctionRef<bool()> done, absl::Time deadline);

  // All who Wait look at done() again.
  void Notify();

  // Runs `task` on a polling thread at that time, or as soon as possible.
  // Tasks of one time run in the order of the calls. Never after Stop.
  void At(absl::Time when, std::function<void()> task);

  // Ends the waits and closes listeners and links: OnClosed is called on this
  // thread. No handler and no task runs when it has returned.
  //
  // REQUIRES: not called by a handler or a task.
  void Stop();

 private:
  explicit Poller(std::shared_ptr<PollerCore> core);

  // Links keep it too: they may outlive the poller.
  const std::shared_ptr<PollerCore> core_;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_LINK_POLLER_H_
