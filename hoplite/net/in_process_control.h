// The control transport without sockets: nodes of one process, each with a
// thread that delivers. For tests of what stands above.
//
// Messages pass through the codec as on a wire, so what could not be sent
// cannot be sent here either. A link between two nodes stands for a stream:
// it begins with the first message between them, and breaks when one of the
// two shuts down or forgets the other.
//
// Thread safety: thread-safe; see control_transport.h. Shutdown and the
// destructor of a transport may not be called from its callback.

#ifndef HOPLITE_NET_IN_PROCESS_CONTROL_H_
#define HOPLITE_NET_IN_PROCESS_CONTROL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "hoplite/base/mutex.h"
#include "hoplite/net/control_transport.h"

namespace hoplite {

class InProcessNode;

// Connects the transports that listen on it. It lives as long as they do.
class InProcessNetwork : public std::enable_shared_from_this<InProcessNetwork> {
 public:
  static std::shared_ptr<InProcessNetwork> Create() {
    return std::shared_ptr<InProcessNetwork>(new InProcessNetwork());
  }

  // A transport at an address of its own, "in-process:1" and so on.
  std::unique_ptr<ControlTransport> Listen();
  // At the address of one that has shut down.
  std::unique_ptr<ControlTransport> ListenAt(const std::string& address);

 private:
  friend class InProcessNode;
  InProcessNetwork() = default;

  // Runs `work` on the thread of the node at `address`, with that node; false
  // where none is there.
  bool Post(const std::string& address,
            std::function<void(InProcessNode&)> work);
  void Remove(const std::string& address);

  Mutex mutex_;
  std::uint32_t last_port_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, InProcessNode*> nodes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hoplite

#endif  // HOPLITE_NET_IN_PROCESS_CONTROL_H_
