#include "ray_integration/worker/peers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hoplite::task {
namespace {

// Whoever is dead longer is not spoken to: nothing here knows it any more.
constexpr std::size_t kEndedKept = 4096;

}  // namespace

// One link's: of a process, or of an agent where `agent` is set.
class Peers::Handler final : public LinkHandler {
 public:
  Handler(std::shared_ptr<const PeerCalls> calls, Endpoint from)
      : calls_(std::move(calls)), from_(std::move(from)) {}
  Handler(std::shared_ptr<const PeerCalls> calls, NodeInfo agent)
      : calls_(std::move(calls)), agent_(std::move(agent)), is_agent_(true) {}

  void SetLink(std::weak_ptr<Link> link) { link_ = std::move(link); }

  void OnFrame(Link& link, absl::string_view frame) override {
    absl::StatusOr<Message> message = FromFrame(frame);
    if (!message.ok()) {
      link.Close();
      return;
    }
    if (const auto* hello = std::get_if<message::Hello>(&*message)) {
      if (hello->version != message::kProtocolVersion) {
        link.Close();
        return;
      }
      const LinkPtr self = link_.lock();
      if (!is_agent_ && !from_.process && self != nullptr) {
        from_ = hello->from;
        calls_->hello(self, from_);
      }
    } else if (is_agent_) {
      if (const auto* known = std::get_if<message::Registered>(&*message)) {
        agent_.node = known->process.node;
      }
      calls_->agent_message(agent_, *std::move(message));
    } else if (from_.process) {
      calls_->message(from_, *std::move(message));
    } else {
      link.Close();  // it must say first who it is
    }
  }

  void OnBatchEnd(Link&) override { calls_->batch_end(); }

  void OnClosed(Link&, const absl::Status& why) override {
    if (is_agent_) {
      calls_->agent_closed(agent_.node, why);
    } else if (from_.process) {
      calls_->closed(from_.process);
    }
  }

 private:
  const std::shared_ptr<const PeerCalls> calls_;
  Endpoint from_;
  NodeInfo agent_;
  const bool is_agent_ = false;
  std::weak_ptr<Link> link_;
};

Peers::Peers(Poller& poller, PeerCalls calls)
    : poller_(poller),
      calls_(std::make_shared<const PeerCalls>(std::move(calls))) {}

void Peers::Introduce(const message::Hello& hello) { hello_ = hello; }

absl::StatusOr<std::string> Peers::Listen(const std::string& address) {
  return poller_.Listen(address, [calls = calls_](const LinkPtr& link) {
    auto handler = std::make_shared<Handler>(calls, Endpoint{});
    handler->SetLink(link);
    return handler;
  });
}

LinkPtr Peers::Connect(const std::string& address,
                       std::shared_ptr<LinkHandler> handler) {
  LinkPtr link = poller_.Connect(address, std::move(handler));
  link->Send(ToFrame(hello_));
  return link;
}

void Peers::ConnectHome(const std::string& socket) {
  home_link_ = Connect(absl::StrCat("unix:", socket),
                       std::make_shared<Handler>(calls_, NodeInfo{}));
}

bool Peers::HasEnded(const ProcessId& process) const {
  return std::any_of(ended_.begin(), ended_.end(), [&](const ProcessId& one) {
    return one.node == process.node &&
           (!one.worker || one.worker == process.worker);
  });
}

void Peers::Send(const Endpoint& to, const Message& message) {
  auto it = processes_.find(to.process);
  if (it == processes_.end()) {
    if (stopped_ || !to.process || HasEnded(to.process)) return;
    const std::string address =
        to.process.node == home_.node
            ? absl::StrCat("unix:", sockets_, to.process.worker.value())
            : to.address;
    LinkPtr link = Connect(address, std::make_shared<Handler>(calls_, to));
    it = processes_.emplace(to.process, std::move(link)).first;
  }
  it->second->Send(ToFrame(message));
}

void Peers::SendAgent(const NodeInfo& node, const Message& message) {
  if (node.node == home_.node) {
    home_link_->Send(ToFrame(message));
    return;
  }
  auto it = agents_.find(node.node);
  if (it == agents_.end()) {
    if (stopped_ || HasEnded({.node = node.node})) return;
    LinkPtr link =
        Connect(node.agent_address, std::make_shared<Handler>(calls_, node));
    it = agents_.emplace(node.node, std::move(link)).first;
  }
  it->second->Send(ToFrame(message));
}

void Peers::Add(const LinkPtr& link, const Endpoint& from) {
  processes_.try_emplace(from.process, link);
}

void Peers::Forget(const ProcessId& process) { processes_.erase(process); }

void Peers::ForgetAgent(const NodeRef& node) { agents_.erase(node); }

void Peers::SetEnded(const ProcessId& process) {
  if (ended_.size() >= kEndedKept) ended_.erase(ended_.begin());
  ended_.push_back(process);
}

}  // namespace hoplite::task
