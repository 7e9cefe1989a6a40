#include "hoplite/net/tcp_data_peers.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

#include "hoplite/base/mutex.h"

namespace hoplite {
namespace {

constexpr std::size_t kIdleConnectionsMax = 64;
constexpr double kIdleSeconds = 30;

}  // namespace

// Names are resolved by threads of their own, which may take many seconds and
// which nobody waits for: all that they touch is this.
struct Peers::Resolver {
  Mutex mutex;
  Peers* peers ABSL_GUARDED_BY(mutex) = nullptr;  // null: gone

  static void Run(const std::shared_ptr<Resolver>& resolver, NodeRef server,
                  const HostPort& address) {
    auto endpoints = Resolve(address, Resolution::kNames);
    MutexLock lock(resolver->mutex);
    if (resolver->peers == nullptr) return;
    // Peers outlives the loop's run.
    resolver->peers->engine_.loop.Post(
        [peers = resolver->peers, server, endpoints = std::move(endpoints)] {
          peers->OnResolved(server, endpoints);
        });
  }
};

// Waits for nothing but its end.
class Peers::IdleConnection final : private Watch::Handler {
 public:
  IdleConnection(Peers& peers, NodeRef server,
                 std::unique_ptr<Connection> connection)
      : peers_(peers),
        server_(server),
        connection_(std::move(connection)),
        idle_since_(SteadySeconds()) {
    connection_->SetHandler(this);
    connection_->WaitReadable();
  }

  NodeRef server() const { return server_; }
  double idle_since() const { return idle_since_; }
  std::unique_ptr<Connection> Take() { return std::move(connection_); }

 private:
  // Bytes that nobody asked for are no better than the end.
  void OnReadable() override { peers_.RemoveIdle(*this); }
  void OnWritable() override {}

  Peers& peers_;
  const NodeRef server_;
  std::unique_ptr<Connection> connection_;
  const double idle_since_;
};

Peers::Peers(DataEngine& engine)
    : engine_(engine), resolver_(std::make_shared<Resolver>()) {
  MutexLock lock(resolver_->mutex);
  resolver_->peers = this;
}

Peers::~Peers() {
  MutexLock lock(resolver_->mutex);
  resolver_->peers = nullptr;
}

void Peers::Learn(const Member& member) {
  if (!MayCall(member.ref)) return;
  if (member.ref.incarnation) {
    MarkOver(
        {member.ref.node, Incarnation(member.ref.incarnation.value() - 1)});
  }
  Peer& peer = peers_[member.ref];
  if (peer.address == member.data_address) return;
  peer.address = member.data_address;
  peer.endpoints.clear();
  if (!peer.askers.empty()) ResolvePeer(member.ref, peer);
}

void Peers::Forget(NodeRef member) {
  MarkOver(member);
  idle_.remove_if([&](const std::shared_ptr<IdleConnection>& connection) {
    if (MayCall(connection->server())) return false;
    engine_.loop.DestroyLater(connection);
    return true;
  });
  const auto found = peers_.find(member);
  if (found == peers_.end()) return;
  found->second.endpoints.clear();
  Answer(member);
  peers_.erase(member);
}

void Peers::MarkOver(NodeRef member) {
  Incarnation& last = over_[member.node];
  last = std::max(last, member.incarnation);
}

bool Peers::MayCall(NodeRef member) const {
  const auto over = over_.find(member.node);
  return over == over_.end() || over->second < member.incarnation;
}

void Peers::Find(NodeRef server, Asker& asker) {
  if (!MayCall(server)) return asker.OnUnreachable();
  Peer& peer = peers_[server];
  if (!peer.endpoints.empty()) return asker.OnEndpoints(peer.endpoints);
  peer.askers.push_back(&asker);
  if (!peer.address.empty()) ResolvePeer(server, peer);
}

void Peers::StopAsking(Asker& asker) {
  for (auto& [server, peer] : peers_) std::erase(peer.askers, &asker);
}

void Peers::DropEndpoints(NodeRef server) {
  const auto found = peers_.find(server);
  if (found != peers_.end()) found->second.endpoints.clear();
}

void Peers::ResolvePeer(NodeRef server, Peer& peer) {
  if (peer.resolving) return;
  const auto address = HostPort::Parse(peer.address);
  if (!address.ok()) return OnResolved(server, address.status());
  if (auto numeric = Resolve(*address, Resolution::kNumericOnly);
      numeric.ok()) {
    return OnResolved(server, *std::move(numeric));
  }
  try {
    std::thread(&Resolver::Run, resolver_, server, *address).detach();
    peer.resolving = true;
  } catch (const std::system_error&) {
    OnResolved(server,
               absl::ResourceExhaustedError("no room for one more thread"));
  }
}

void Peers::OnResolved(NodeRef server,
                       absl::StatusOr<std::vector<Endpoint>> endpoints) {
  const auto found = peers_.find(server);
  if (found == peers_.end()) return;
  found->second.resolving = false;
  if (endpoints.ok()) {
    found->second.endpoints = *std::move(endpoints);
  } else {
    engine_.troubles.Note(server, std::string(endpoints.status().message()));
  }
  Answer(server);
}

// No endpoint: unreachable.
void Peers::Answer(NodeRef server) {
  const std::vector<Endpoint> endpoints = peers_[server].endpoints;
  // One at a time: an asker may make another stop asking.
  for (;;) {
    Peer& peer = peers_[server];
    if (peer.askers.empty()) return;
    Asker& asker = *peer.askers.front();
    peer.askers.erase(peer.askers.begin());
    if (endpoints.empty()) {
      asker.OnUnreachable();
    } else {
      asker.OnEndpoints(endpoints);
    }
  }
}

std::unique_ptr<Connection> Peers::TakeIdle(NodeRef server) {
  for (auto at = idle_.rbegin(); at != idle_.rend(); ++at) {
    if ((*at)->server() != server) continue;
    std::unique_ptr<Connection> connection = (*at)->Take();
    idle_.erase(std::next(at).base());
    return connection;
  }
  return nullptr;
}

void Peers::PutIdle(NodeRef server, std::unique_ptr<Connection> connection) {
  if (!MayCall(server)) {
    engine_.loop.DestroyLater(std::move(connection));
    return;
  }
  if (idle_.size() >= kIdleConnectionsMax) CloseOldestIdle();
  idle_.push_back(
      std::make_shared<IdleConnection>(*this, server, std::move(connection)));
}

bool Peers::CloseOldestIdle() {
  if (idle_.empty()) return false;
  engine_.loop.DestroyLater(idle_.front());
  idle_.pop_front();
  return true;
}

void Peers::RemoveIdle(IdleConnection& connection) {
  for (auto at = idle_.begin(); at != idle_.end(); ++at) {
    if (at->get() != &connection) continue;
    engine_.loop.DestroyLater(*at);
    idle_.erase(at);
    return;
  }
}

bool Peers::OnTick() {
  const double now = SteadySeconds();
  while (!idle_.empty() && now - idle_.front()->idle_since() > kIdleSeconds) {
    CloseOldestIdle();
  }
  return !idle_.empty();
}

}  // namespace hoplite
