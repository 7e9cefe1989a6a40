// Connector makes the connection of a link: it tries the addresses of the
// other side one after another, without blocking, and hands the link the
// socket, or ends it.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_RAY_INTEGRATION_LINK_CONNECTOR_H_
#define HOPLITE_RAY_INTEGRATION_LINK_CONNECTOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/base/mutex.h"
#include "hoplite/runtime/socket_folder.h"
#include "ray_integration/link/event_set.h"
#include "ray_integration/link/poller_core.h"
#include "ray_integration/link/socket_address.h"
#include "ray_integration/link/socket_link.h"

namespace hoplite::task {

// A connection that has not come about after so long has failed.
inline constexpr absl::Duration kConnectLimit = absl::Seconds(10);

class Connector final : public Watched,
                        public std::enable_shared_from_this<Connector> {
 public:
  // REQUIRES: `link` has been started.
  Connector(std::shared_ptr<PollerCore> core, std::shared_ptr<SocketLink> link,
            absl::string_view address);

  // Once. The link of a Unix socket stands when this returns, if it can.
  void Start();

  void OnReady(std::uint32_t events) override;
  void OnStop() override;

 private:
  // Tries one address after another, until one is under way.
  void TryNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // False: this address is none; failure_ says why.
  bool Try(const SocketAddress& address) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TryAgain();
  // The poller keeps this until it is over, which it is at the limit.
  // False: the poller has been stopped.
  bool Keep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // With a connection where `why` is OK. Never calls the link's handler.
  void End(absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Unreachable(int error) const;

  const std::shared_ptr<PollerCore> core_;
  const std::shared_ptr<SocketLink> link_;
  const std::string address_;
  const EventSet::Number number_;

  Mutex mutex_;  // before those of the link and the poller
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  bool kept_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<SocketAddress> addresses_ ABSL_GUARDED_BY(mutex_);
  std::size_t next_ ABSL_GUARDED_BY(mutex_) = 0;  // of addresses_
  FileDescriptor socket_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);  // the last
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_LINK_CONNECTOR_H_
