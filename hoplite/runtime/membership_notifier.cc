#include "hoplite/runtime/membership_notifier.h"

#include <string>
#include <utility>

namespace hoplite {

void MembershipNotifier::BeginLife(const Member& self) {
  MutexLock lock(mutex_);
  lives_ = true;
  known_ = {{self.ref.node, self.ref}};
  thread_.Do([this, self] { observer_->OnLifeBegan(self); });
}

void MembershipNotifier::Learn(const Member& member) {
  MutexLock lock(mutex_);
  if (!lives_) return;
  NodeRef& known = known_[member.ref.node];
  if (known == member.ref) return;
  if (known) thread_.Do([this, known] { observer_->OnMemberLost(known); });
  known = member.ref;
  thread_.Do([this, member] { observer_->OnMemberJoined(member); });
}

void MembershipNotifier::Forget(NodeRef member) {
  MutexLock lock(mutex_);
  const auto known = known_.find(member.node);
  if (!lives_ || known == known_.end() || known->second != member) return;
  known_.erase(known);
  thread_.Do([this, member] { observer_->OnMemberLost(member); });
}

void MembershipNotifier::EndLife(absl::string_view why) {
  MutexLock lock(mutex_);
  if (!std::exchange(lives_, false)) return;
  thread_.Do([this, why = std::string(why)] { observer_->OnLifeEnded(why); });
}

}  // namespace hoplite
