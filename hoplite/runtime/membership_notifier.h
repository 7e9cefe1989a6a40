// MembershipNotifier tells an observer what becomes of a node and its cluster.
//
// Whoever runs the node's machine says what happened and goes on; a thread of
// the notifier's own makes the calls. What is said twice is told once.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_RUNTIME_MEMBERSHIP_NOTIFIER_H_
#define HOPLITE_RUNTIME_MEMBERSHIP_NOTIFIER_H_

#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "hoplite/base/mutex.h"
#include "hoplite/runtime/background_thread.h"
#include "hoplite/runtime/membership_observer.h"

namespace hoplite {

class MembershipNotifier {
 public:
  // Ownership: `observer` outlives this.
  explicit MembershipNotifier(MembershipObserver* observer)
      : observer_(observer) {}

  void BeginLife(const Member& self);
  // Of the life that has begun; between two lives nothing counts. Whoever is
  // known under an earlier incarnation is lost by it.
  void Learn(const Member& member);
  void Forget(NodeRef member);
  void EndLife(absl::string_view why);
  // Makes no call any more. REQUIRES: not called by the observer.
  void Stop() { thread_.Stop(); }

 private:
  MembershipObserver* const observer_;

  Mutex mutex_;
  bool lives_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<NodeId, NodeRef> known_ ABSL_GUARDED_BY(mutex_);

  BackgroundThread thread_;
};

}  // namespace hoplite

#endif  // HOPLITE_RUNTIME_MEMBERSHIP_NOTIFIER_H_
