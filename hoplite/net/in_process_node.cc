#include "hoplite/net/in_process_node.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hoplite/base/check.h"
#include "spdlog/spdlog.h"

namespace hoplite {
InProcessNode::InProcessNode(std::shared_ptr<InProcessNetwork> network,
                             std::string address)
    : network_(std::move(network)),
      address_(std::move(address)),
      thread_([this] { Run(); }) {}

absl::StatusOr<Welcome> InProcessNode::Join(absl::string_view head_address,
                                            absl::string_view data_address,
                                            absl::string_view agent_address,
                                            absl::Time deadline) {
  return AskHead(head_address,
                 {.control_address = address_,
                  .data_address = std::string(data_address),
                  .agent_address = std::string(agent_address)},
                 deadline);
}

absl::StatusOr<Welcome> InProcessNode::Return(absl::string_view head_address,
                                              const ClusterView& view,
                                              absl::Time deadline) {
  return AskHead(head_address, {.view = view}, deadline);
}

absl::StatusOr<Welcome> InProcessNode::AskHead(absl::string_view head_address,
                                               JoinRequest request,
                                               absl::Time deadline) {
  auto call = std::make_shared<JoinCall>();
  request.call = call;
  {
    MutexLock lock(mutex_);
    if (stopping_) return absl::CancelledError("this node has shut down");
    own_joins_.push_back(call);
  }
  if (!network_->Post(std::string(head_address),
                      [request = std::move(request)](InProcessNode& head) {
                        head.HandleJoin(request);
                      })) {
    call->Answer(absl::UnavailableError(
        absl::StrFormat("the head at %s cannot be reached: nobody listens "
                        "there",
                        head_address)));
  }
  bool in_time = true;
  absl::StatusOr<Welcome> result = absl::DeadlineExceededError(absl::StrFormat(
      "the head at %s did not answer before the deadline", head_address));
  {
    MutexLock lock(call->mutex);
    while (!call->answer.has_value() && in_time) {
      in_time = call->answered.WaitUntil(call->mutex, deadline);
    }
    if (call->answer.has_value()) result = *std::move(call->answer);
  }
  MutexLock lock(mutex_);
  std::erase(own_joins_, call);
  return result;
}

void InProcessNode::Start(ClusterId cluster, NodeRef self, EventSink sink) {
  {
    MutexLock lock(mutex_);
    HOPLITE_CHECK(!started_);
    HOPLITE_CHECK(static_cast<bool>(self));
    cluster_ = cluster;
    self_ = self;
    sink_ = std::move(sink);
    started_ = true;
  }
  Post([](InProcessNode& node) { node.HandleStarted(); });
}

void InProcessNode::Admit(std::uint64_t token, const Welcome& welcome) {
  Answer(token, welcome);
}

void InProcessNode::RefuseReturn(std::uint64_t token,
                                 absl::string_view reason) {
  Answer(token, absl::AbortedError(reason));
}

void InProcessNode::Answer(std::uint64_t token,
                           absl::StatusOr<Welcome> result) {
  JoinCallPtr call;
  {
    MutexLock lock(mutex_);
    const auto found = joins_.find(token);
    if (found == joins_.end()) return;
    call = std::move(found->second);
    joins_.erase(found);
  }
  call->Answer(std::move(result));
}

void InProcessNode::Learn(const Member& member) {
  MutexLock lock(mutex_);
  if (member.ref == self_ || IsForgotten(member.ref)) return;
  addresses_[member.ref] = member.control_address;
  const auto found = waiting_.find(member.ref);
  if (found == waiting_.end() || !started_) return;
  const std::vector<wire::Envelope> envelopes = std::move(found->second);
  waiting_.erase(found);
  for (const wire::Envelope& envelope : envelopes) {
    SendTo(member.control_address, member.ref, envelope);
  }
}

void InProcessNode::Forget(NodeRef member) {
  MutexLock lock(mutex_);
  Incarnation& highest = forgotten_[member.node];
  highest = std::max(highest, member.incarnation);
  const auto gone = [&](const auto& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                        mutex_) { return IsForgotten(entry.first); };
  std::erase_if(addresses_, gone);
  std::erase_if(waiting_, gone);
  for (const auto& [peer, address] : links_) {
    if (!IsForgotten(peer)) continue;
    network_->Post(address, [self = self_](InProcessNode& other) {
      other.HandleLinkBroken(self);
    });
  }
  std::erase_if(links_, gone);
}

void InProcessNode::Send(NodeRef to, const Message& message) {
  absl::StatusOr<wire::Envelope> envelope = wire::Encode(message);
  if (!envelope.ok()) {
    spdlog::error("control: a message to {} is dropped: {}", ToString(to.node),
                  envelope.status().ToString());
    return;
  }
  MutexLock lock(mutex_);
  HOPLITE_CHECK(started_);
  HOPLITE_CHECK(to != self_);
  if (stopping_ || IsForgotten(to)) return;
  const auto address = addresses_.find(to);
  const auto link = links_.find(to);
  if (address != addresses_.end()) {
    SendTo(address->second, to, *std::move(envelope));
  } else if (link != links_.end()) {
    SendTo(link->second, to, *std::move(envelope));
  } else {
    waiting_[to].push_back(*std::move(envelope));
  }
}

void InProcessNode::Shutdown() {
  std::vector<JoinCallPtr> own_joins;
  {
    MutexLock lock(mutex_);
    if (std::exchange(stopping_, true)) return;
    own_joins = own_joins_;
  }
  network_->Remove(address_);
  for (const JoinCallPtr& call : own_joins) {
    call->Answer(absl::CancelledError("this node is shutting down"));
  }
  {
    MutexLock lock(inbox_mutex_);
    closed_ = true;
    arrived_.NotifyAll();
  }
  thread_.join();
  RefuseLeftovers();
  MutexLock lock(mutex_);
  for (const auto& [peer, address] : links_) {
    network_->Post(address, [self = self_](InProcessNode& other) {
      other.HandleLinkBroken(self);
    });
  }
  links_.clear();
  for (const auto& [token, call] : joins_) call->Answer(ShuttingDown());
  joins_.clear();
}

void InProcessNode::RefuseLeftovers() {
  HandleStarted();
  std::deque<std::function<void(InProcessNode&)>> inbox;
  {
    MutexLock lock(inbox_mutex_);
    std::swap(inbox, inbox_);
  }
  for (const auto& work : inbox) work(*this);
}

absl::Status InProcessNode::ShuttingDown() const {
  return absl::UnavailableError(absl::StrCat(
      "the head at ", address_, " cannot be reached: it is shutting down"));
}

void InProcessNode::JoinCall::Answer(absl::StatusOr<Welcome> result) {
  MutexLock lock(mutex);
  if (!answer.has_value()) answer = std::move(result);
  answered.NotifyAll();
}

void InProcessNode::Post(std::function<void(InProcessNode&)> work) {
  MutexLock lock(inbox_mutex_);
  if (closed_) return;
  inbox_.push_back(std::move(work));
  arrived_.NotifyOne();
}

void InProcessNode::Run() {
  for (;;) {
    std::function<void(InProcessNode&)> work;
    {
      MutexLock lock(inbox_mutex_);
      while (inbox_.empty() && !closed_) arrived_.Wait(inbox_mutex_);
      if (closed_) return;
      work = std::move(inbox_.front());
      inbox_.pop_front();
    }
    work(*this);
  }
}

void InProcessNode::Deliver(Event event) {
  {
    MutexLock lock(mutex_);
    if (stopping_) return;
  }
  sink_(std::move(event));
}

bool InProcessNode::IsForgotten(NodeRef member) const {
  const auto found = forgotten_.find(member.node);
  return found != forgotten_.end() && member.incarnation <= found->second;
}

bool InProcessNode::AddLink(NodeRef peer, const std::string& address) {
  return links_.emplace(peer, address).second;
}

void InProcessNode::SendTo(const std::string& address, NodeRef to,
                           wire::Envelope envelope) {
  const Sender sender{
      .cluster = cluster_, .from = self_, .to = to, .address = address_};
  const bool first = AddLink(to, address);
  const bool reached = network_->Post(
      address,
      [sender, envelope = std::move(envelope)](InProcessNode& receiver) {
        receiver.HandleMessage(sender, envelope);
      });
  if (!reached) {
    Post([to](InProcessNode& node) { node.HandleLinkBroken(to); });
  } else if (first) {
    network_->Post(address, [from = address_,
                             now = Clock::now()](InProcessNode& receiver) {
      receiver.HandleProbe(from, now);
    });
  }
}

void InProcessNode::HandleMessage(const Sender& sender,
                                  const wire::Envelope& envelope) {
  bool refused = false;
  bool first = false;
  {
    MutexLock lock(mutex_);
    if (!started_ && !stopping_) {
      early_.push_back([sender, envelope](InProcessNode& node) {
        node.HandleMessage(sender, envelope);
      });
      return;
    }
    refused = stopping_ || sender.cluster != cluster_ || sender.to != self_ ||
              IsForgotten(sender.from);
    if (!refused) first = AddLink(sender.from, sender.address);
  }
  if (refused) {
    network_->Post(sender.address, [to = sender.to](InProcessNode& other) {
      other.HandleLinkBroken(to);
    });
    return;
  }
  if (first) {
    network_->Post(sender.address,
                   [from = address_, now = Clock::now()](InProcessNode& other) {
                     other.HandleProbe(from, now);
                   });
  }
  absl::StatusOr<Message> message = wire::Decode(envelope);
  HOPLITE_CHECK(message.ok());  // it was encoded here
  Deliver(event::MessageReceived{.from = sender.from,
                                 .message = *std::move(message)});
}

void InProcessNode::HandleLinkBroken(NodeRef peer) {
  std::string address;
  {
    MutexLock lock(mutex_);
    const auto link = links_.find(peer);
    if (link == links_.end()) return;
    address = link->second;
    links_.erase(link);
  }
  Deliver(event::PeerLost{.peer = peer});
  Reconnect(peer, address);
}

void InProcessNode::Reconnect(NodeRef peer, const std::string& address) {
  Sender sender{.to = peer, .address = address_};
  {
    MutexLock lock(mutex_);
    if (stopping_ || IsForgotten(peer)) return;
    sender.cluster = cluster_;
    sender.from = self_;
  }
  if (!network_->Post(address, [sender](InProcessNode& other) {
        other.HandleReconnect(sender);
      })) {
    Deliver(event::PeerDied{.peer = peer});
  }
}

void InProcessNode::HandleReconnect(const Sender& sender) {
  NodeRef found;
  bool taken = false;
  {
    MutexLock lock(mutex_);
    if (!started_ || stopping_) return;  // another life, which is not up yet
    found = sender.cluster == cluster_ ? self_ : NodeRef();
    taken = sender.to == found && !IsForgotten(sender.from);
  }
  network_->Post(sender.address, [peer = sender.to, address = address_, found,
                                  taken](InProcessNode& other) {
    other.HandlePeerFound(peer, address, found, taken);
  });
}

void InProcessNode::HandlePeerFound(NodeRef peer, const std::string& address,
                                    NodeRef found, bool taken) {
  if (found != peer) {
    Deliver(event::PeerDied{.peer = peer});
    return;
  }
  if (!taken) return;
  {
    MutexLock lock(mutex_);
    if (stopping_ || IsForgotten(peer)) return;
    AddLink(peer, address);
  }
  Deliver(event::PeerReturned{.peer = peer});
}

void InProcessNode::HandleProbe(const std::string& answer_to,
                                Clock::time_point sent_at) {
  network_->Post(answer_to, [sent_at](InProcessNode& other) {
    other.HandleProbeAnswer(sent_at);
  });
}

void InProcessNode::HandleProbeAnswer(Clock::time_point sent_at) {
  const absl::Duration round_trip = absl::FromChrono(Clock::now() - sent_at);
  if (round_trip >= least_round_trip_) return;
  least_round_trip_ = round_trip;
  Deliver(event::LatencyMeasured{.latency = round_trip / 2});
}

void InProcessNode::HandleJoin(JoinRequest request) {
  std::uint64_t token = 0;
  {
    MutexLock lock(mutex_);
    token = ++last_token_;
    joins_.emplace(token, request.call);
  }
  ConsiderJoin(token, request);
}

void InProcessNode::ConsiderJoin(std::uint64_t token,
                                 const JoinRequest& request) {
  {
    MutexLock lock(mutex_);
    if (stopping_) return;  // Shutdown answers
    if (!started_) {
      early_.push_back([token, request](InProcessNode& node) {
        node.ConsiderJoin(token, request);
      });
      return;
    }
    if (self_.node != kHeadNode) {
      joins_.erase(token);
      request.call->Answer(absl::FailedPreconditionError(absl::StrFormat(
          "cannot join at %s: %s is not the head of its cluster", address_,
          ToString(self_.node))));
      return;
    }
  }
  if (request.view.has_value()) {
    Deliver(event::ReturnRequested{.token = token, .view = *request.view});
    return;
  }
  Deliver(event::JoinRequested{.token = token,
                               .control_address = request.control_address,
                               .data_address = request.data_address,
                               .agent_address = request.agent_address});
}

void InProcessNode::HandleStarted() {
  std::vector<std::function<void(InProcessNode&)>> early;
  std::swap(early, early_);
  for (const auto& work : early) work(*this);
}

}  // namespace hoplite
