// Heartbeats between the head and every member, on a thread of their own: a
// node that is busy, or whose other threads wait, still beats.
//
// A member sends a datagram to the host and port of the head's control plane
// once in an interval, and the head answers each; what is not answered is sent
// again four times as often. Who has not been heard for the limit is silent. A
// thread that has not run itself for a while blames nobody for that time; but
// the others may blame its node, and it asks the head before it trusts itself.
//
// Not responsible for: connections that break; what follows from silence.
// Thread safety: thread-safe. Events come from the own thread, under no lock.

#ifndef HOPLITE_NET_HEARTBEATS_H_
#define HOPLITE_NET_HEARTBEATS_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/base/mutex.h"
#include "hoplite/core/event.h"

namespace hoplite {

struct HeartbeatOptions {
  absl::Duration interval = absl::Seconds(1);
  absl::Duration dead_after = absl::Seconds(3);
};

class Heartbeats {
 public:
  // PeerDied of a silent member; PeerLost of a silent head.
  using EventSink = std::function<void(Event)>;

  // Of a member.
  explicit Heartbeats(HeartbeatOptions options);
  // Of a head, whose control plane listens at this address.
  // Errors: kInvalidArgument; kUnavailable: the address is not to be had.
  static absl::StatusOr<std::unique_ptr<Heartbeats>> Listen(
      absl::string_view address, HeartbeatOptions options);
  // As Stop does.
  ~Heartbeats();
  Heartbeats(const Heartbeats&) = delete;
  Heartbeats& operator=(const Heartbeats&) = delete;

  // Called a few times in an interval: !MayBeGivenUp().
  using TouchSink = std::function<void(bool in_touch)>;

  // REQUIRES: called once.
  void Start(ClusterId cluster, NodeRef self, EventSink sink,
             TouchSink touch = nullptr);
  // True where this node, a member, has stood still for the limit, and the head
  // has not answered it since: it may have been declared dead, and not know.
  // May be called on any thread; no lock, no system call but for the time.
  bool MayBeGivenUp() const;
  // From now on the member is to be heard.
  void Expect(NodeRef member);
  void Forget(NodeRef member);
  // From now on this node beats to that head, and to no other.
  void Follow(const Member& head);
  // No event comes after it has returned.
  void Stop();

 private:
  using Clock = std::chrono::steady_clock;

  struct Followed {
    NodeRef head;
    std::string address;
    Clock::time_point sent;   // the last beat
    Clock::time_point heard;  // the last answer
    bool silent = false;      // and said so
  };

  void Wake();
  void Run();
  // Finds the head's address where it has yet to be found; may block.
  void ConnectIfNew();
  void WaitForWork();
  // All datagrams that are there.
  void Receive(Clock::time_point now);
  // What was heard counts as later, where this thread has not run; and after
  // the limit this node may have been given up.
  void ForgiveOwnPause(Clock::time_point now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<Event> FindSilent(Clock::time_point now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BeatIfDue(Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock::duration interval_;
  const Clock::duration dead_after_;
  const int wake_;  // an eventfd

  // Written once, before the thread.
  ClusterId cluster_;
  NodeRef self_;
  EventSink sink_;
  TouchSink touch_;  // or null

  std::atomic<Clock::time_point> last_run_;  // the thread's
  std::atomic<bool> follows_ = false;
  std::atomic<bool> unconfirmed_ = false;

  Mutex mutex_;
  int socket_ ABSL_GUARDED_BY(mutex_) = -1;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<NodeRef, Clock::time_point> expected_ ABSL_GUARDED_BY(mutex_);
  std::optional<Followed> followed_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;
};

}  // namespace hoplite

#endif  // HOPLITE_NET_HEARTBEATS_H_
