// PeerTroubles keeps why each peer was last not reached, or broke off, for
// errors to say.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_NET_PEER_TROUBLES_H_
#define HOPLITE_NET_PEER_TROUBLES_H_

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "hoplite/base/id.h"
#include "hoplite/base/mutex.h"

namespace hoplite {

class PeerTroubles {
 public:
  // More than the members of a cluster that fail together; beyond it the peer
  // of the lowest number is forgotten.
  static constexpr std::size_t kPeersMax = 256;

  // Takes the place of what was noted of the peer before.
  void Note(NodeRef peer, std::string trouble) {
    MutexLock lock(mutex_);
    troubles_[peer] = std::move(trouble);
    if (troubles_.size() > kPeersMax) troubles_.erase(troubles_.begin());
  }
  void Forget(NodeRef peer) {
    MutexLock lock(mutex_);
    troubles_.erase(peer);
  }
  // Empty: none.
  std::string Of(NodeRef peer) const {
    MutexLock lock(mutex_);
    const auto found = troubles_.find(peer);
    return found == troubles_.end() ? "" : found->second;
  }

 private:
  mutable Mutex mutex_;
  std::map<NodeRef, std::string> troubles_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hoplite

#endif  // HOPLITE_NET_PEER_TROUBLES_H_
