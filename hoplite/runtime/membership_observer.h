// MembershipObserver is told by a node, in its own process, who is a member.
//
// It is for what runs above the node and has to know whom there is to talk to,
// and whose end to act upon. The node's lives follow each other: OnLifeBegan,
// then members that come and go, then OnLifeEnded; of what was told of one life
// nothing holds in the next.
//
// Thread safety: of an implementation, none is asked: calls come one after
// another, in order, from a thread of their own, under no lock of the node.

#ifndef HOPLITE_RUNTIME_MEMBERSHIP_OBSERVER_H_
#define HOPLITE_RUNTIME_MEMBERSHIP_OBSERVER_H_

#include "absl/strings/string_view.h"
#include "hoplite/base/id.h"
#include "hoplite/core/directory/shard_map.h"

namespace hoplite {

// A call may ask the node anything, but not stop it. The first ones may come
// before NodeServer::Start has returned; none comes after Stop has.
class MembershipObserver {
 public:
  virtual ~MembershipObserver() = default;

  // The node is a member from now on, as `self`.
  virtual void OnLifeBegan(const Member& self) = 0;
  // Another node is a member. Once for each incarnation; those who were there
  // before this node come right after OnLifeBegan.
  virtual void OnMemberJoined(const Member& member) = 0;
  // It left, or was declared dead; it was told of before, and does not return.
  virtual void OnMemberLost(NodeRef member) = 0;
  // This node was declared dead, or begins anew for another reason: `why`.
  virtual void OnLifeEnded(absl::string_view why) = 0;
};

// The host of an address HOST:PORT, without brackets.
absl::string_view HostOf(absl::string_view address);
// The host under which others reach the member.
inline absl::string_view HostOf(const Member& member) {
  return HostOf(member.control_address);
}

}  // namespace hoplite

#endif  // HOPLITE_RUNTIME_MEMBERSHIP_OBSERVER_H_
