// Listener takes the connections that come to one address.
//
// Thread safety: the polling thread's.

#ifndef HOPLITE_RAY_INTEGRATION_LINK_LISTENER_H_
#define HOPLITE_RAY_INTEGRATION_LINK_LISTENER_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "hoplite/runtime/socket_folder.h"
#include "ray_integration/link/event_set.h"
#include "ray_integration/link/link.h"
#include "ray_integration/link/poller_core.h"
#include "ray_integration/link/socket_address.h"

namespace hoplite::task {

class Listener final : public Watched,
                       public std::enable_shared_from_this<Listener> {
 public:
  using Accepted =
      std::function<std::shared_ptr<LinkHandler>(const LinkPtr& link)>;

  Listener(std::shared_ptr<PollerCore> core, Listening listening,
           Accepted accepted);
  // Removes its path.
  ~Listener() override;

  // Listens until OnStop. Errors: as Poller::Listen.
  absl::Status Start();

  void OnReady(std::uint32_t events) override;
  void OnStop() override;

 private:
  void Welcome(FileDescriptor socket);
  // Takes nothing for a while: without free descriptors nothing can be taken,
  // and the kernel says without end that something waits.
  void Rest();

  const std::shared_ptr<PollerCore> core_;
  const EventSet::Number number_;
  Listening listening_;
  const Accepted accepted_;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_LINK_LISTENER_H_
