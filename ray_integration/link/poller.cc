#include "ray_integration/link/poller.h"

#include <utility>

#include "hoplite/base/status_macros.h"
#include "ray_integration/link/connector.h"
#include "ray_integration/link/listener.h"
#include "ray_integration/link/poller_core.h"
#include "ray_integration/link/socket_address.h"
#include "ray_integration/link/socket_link.h"

namespace hoplite::task {

absl::StatusOr<std::unique_ptr<Poller>> Poller::Create() {
  HOPLITE_ASSIGN_OR_RETURN(std::shared_ptr<PollerCore> core,
                           PollerCore::Create());
  return std::unique_ptr<Poller>(new Poller(std::move(core)));
}

Poller::Poller(std::shared_ptr<PollerCore> core) : core_(std::move(core)) {}

Poller::~Poller() { Stop(); }

absl::StatusOr<std::string> Poller::Listen(absl::string_view address,
                                           Accepted accepted) {
  HOPLITE_ASSIGN_OR_RETURN(Listening listening, ListenAt(address));
  std::string real_address = listening.address;
  const auto listener = std::make_shared<Listener>(core_, std::move(listening),
                                                   std::move(accepted));
  HOPLITE_RETURN_IF_ERROR(listener->Start());
  return real_address;
}

LinkPtr Poller::Connect(absl::string_view address,
                        std::shared_ptr<LinkHandler> handler) {
  auto link = std::make_shared<SocketLink>(core_);
  if (link->Start(std::move(handler))) {
    std::make_shared<Connector>(core_, link, address)->Start();
  }
  return link;
}

bool Poller::Wait(absl::FunctionRef<bool()> done, absl::Time deadline) {
  return core_->Wait(done, deadline);
}

void Poller::Notify() { core_->Notify(); }

void Poller::At(absl::Time when, std::function<void()> task) {
  core_->At(when, std::move(task));
}

void Poller::Stop() { core_->Stop(); }

}  // namespace hoplite::task
