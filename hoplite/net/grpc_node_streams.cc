// GrpcNode: what streams say.

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "hoplite/net/grpc_node.h"
#include "hoplite/wire/codec.h"
#include "spdlog/spdlog.h"

namespace hoplite {
namespace {

// As long as a process takes to end: a tenth of what its death may go
// unnoticed.
constexpr std::chrono::milliseconds kFirstPause(10);
constexpr std::chrono::milliseconds kLongestPause(1000);

grpc::Status Refusal(std::string reason) {
  return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, std::move(reason));
}

// The peer that was meant is not there any more.
grpc::Status NotFound(std::string reason) {
  return grpc::Status(grpc::StatusCode::NOT_FOUND, std::move(reason));
}

// True where an attempt has found out that the peer is dead.
bool IsDeath(const grpc::Status& status) {
  // gRPC has no code for it: nobody listens at the address.
  return status.error_code() == grpc::StatusCode::NOT_FOUND ||
         (status.error_code() == grpc::StatusCode::UNAVAILABLE &&
          absl::StrContains(status.error_message(), "Connection refused"));
}

// True where the peer has said why it takes no stream. One that is about to
// end cancels.
bool IsRefusal(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::FAILED_PRECONDITION ||
         status.error_code() == grpc::StatusCode::INVALID_ARGUMENT;
}

}  // namespace

void GrpcNode::Deliver(Event event) {
  if (!stopping_) sink_(std::move(event));
}

void GrpcNode::AcceptNext() {
  next_call_ = std::make_unique<AcceptedExchange>();
  next_call_->Accept(&service_, loop_->queue(), &accepted_);
}

void GrpcNode::HandleAccepted(bool ok) {
  StreamPtr stream;
  {
    MutexLock lock(mutex_);
    if (!ok || stopping_) {  // the server is shut down
      if (ok) next_call_->Cancel();
      next_call_.reset();
      accepting_ = false;
      idle_.NotifyAll();
      return;
    }
    stream =
        std::make_shared<GrpcStream>(this, loop_.get(), std::move(next_call_));
    links_.emplace(stream.get(), Link{.stream = stream});
  }
  stream->Start();
  AcceptNext();
}

void GrpcNode::HandleBatch(GrpcStream& stream, wire::Batch& batch) {
  NodeRef peer;
  grpc::Status status;
  bool returned = false;
  bool in_order = true;
  StreamPtr left;
  {
    MutexLock lock(mutex_);
    Link& link = links_.at(&stream);
    if (link.cut || stopping_) return;
    // Behind batches that came before Start, until those are taken.
    if (!started_ || !link.early.empty()) {
      link.early.push_back(std::move(batch));
      return;
    }
    if (!link.established) status = Establish(link, batch, returned);
    peer = link.peer;
    if (status.ok() && batch.sight_lost()) left = TurnTo(link);
    if (status.ok() && !batch.messages().empty()) in_order = IsInOrder(link);
  }
  if (!status.ok()) {
    spdlog::warn("control: a stream is refused: {}", status.error_message());
    stream.Cut(std::move(status));
    return;
  }
  if (left != nullptr) {
    left->Cut(grpc::Status(grpc::StatusCode::CANCELLED,
                           "the peer has another stream"));
    Deliver(event::PeerLost{.peer = peer});
  }
  if (returned || left != nullptr) Deliver(event::PeerReturned{.peer = peer});
  if (in_order) HandleMessages(stream, peer, batch);
}

void GrpcNode::HandleMessages(GrpcStream& stream, NodeRef peer,
                              wire::Batch& batch) {
  for (wire::Envelope& envelope : *batch.mutable_messages()) {
    absl::StatusOr<Message> message = wire::Decode(std::move(envelope));
    if (!message.ok()) {
      spdlog::error("control: the stream of {} is cut: {}", ToString(peer.node),
                    message.status().ToString());
      stream.Cut(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                              std::string(message.status().message())));
      return;
    }
    Deliver(
        event::MessageReceived{.from = peer, .message = *std::move(message)});
  }
}

grpc::Status GrpcNode::CheckHello(const wire::Batch& batch) const {
  if (!batch.has_hello()) return Refusal("the first batch has no hello");
  const wire::Hello& hello = batch.hello();
  const NodeRef peer = wire::DecodeNodeRef(hello.from());
  if (hello.protocol_version() != wire::kProtocolVersion) {
    return Refusal(absl::StrFormat(
        "this node speaks protocol version %d and the caller version %d",
        wire::kProtocolVersion, hello.protocol_version()));
  }
  if (ClusterId(hello.cluster()) != cluster_) {
    return NotFound(absl::StrFormat(
        "this node is of cluster %016x and the caller of cluster %016x",
        cluster_.value(), hello.cluster()));
  }
  if (wire::DecodeNodeRef(hello.to()) != self_) {
    return NotFound(absl::StrFormat(
        "this is incarnation %d of %s, not the node that the caller means",
        self_.incarnation.value(), ToString(self_.node)));
  }
  if (!peer) return Refusal("the caller's hello has no node");
  if (IsForgotten(peer)) {
    return Refusal(absl::StrFormat(
        "incarnation %d of %s is no longer a member; it has to join again",
        peer.incarnation.value(), ToString(peer.node)));
  }
  return grpc::Status::OK;
}

grpc::Status GrpcNode::Establish(Link& link, const wire::Batch& batch,
                                 bool& returned) {
  if (link.opened) {
    if (!batch.hello_taken()) return Refusal("the hello was not answered");
    link.established = true;
    link.stream->BeginProbes(/*hello_taken=*/false);
    const auto found = peers_.find(link.peer);
    if (found == peers_.end()) return grpc::Status::OK;
    found->second.pause = {};
    returned = std::exchange(found->second.lost, false);
    return grpc::Status::OK;
  }
  grpc::Status status = CheckHello(batch);
  if (!status.ok()) return status;
  link.peer = wire::DecodeNodeRef(batch.hello().from());
  link.established = true;
  // Before any message: the opener looks for it in the first batch.
  link.stream->BeginProbes(/*hello_taken=*/true);
  Peer& peer = peers_[link.peer];
  returned = std::exchange(peer.lost, false);
  if (peer.stream == nullptr) {
    // What waits for the peer goes on the stream that it has opened.
    peer.stream = link.stream;
    Outbox waiting = std::exchange(peer.waiting, Outbox());
    while (!waiting.empty()) {
      wire::Batch messages = waiting.Take();
      for (wire::Envelope& envelope : *messages.mutable_messages()) {
        link.stream->Send(std::move(envelope));
      }
    }
  }
  return grpc::Status::OK;
}

GrpcNode::StreamPtr GrpcNode::TurnTo(const Link& link) {
  const auto found = peers_.find(link.peer);
  if (found == peers_.end()) return nullptr;
  Peer& peer = found->second;
  // A stream that is not established was opened because this node knows.
  if (!Stands(peer) || peer.stream == link.stream) return nullptr;
  links_.at(peer.stream.get()).cut = true;
  return std::exchange(peer.stream, link.stream);
}

bool GrpcNode::IsInOrder(Link& link) {
  const auto found = peers_.find(link.peer);
  if (link.stale || found == peers_.end()) return false;
  StreamPtr& heard = found->second.heard;
  if (heard == link.stream) return true;
  const auto before = links_.find(heard.get());
  if (before != links_.end()) before->second.stale = true;
  heard = link.stream;
  return true;
}

bool GrpcNode::Stands(const Peer& peer) const {
  return peer.stream != nullptr && links_.at(peer.stream.get()).established;
}

void GrpcNode::TakeEarlyBatches() {
  std::vector<std::pair<StreamPtr, std::vector<wire::Batch>>> early;
  {
    MutexLock lock(mutex_);
    for (auto& [key, link] : links_) {
      if (link.early.empty()) continue;
      early.emplace_back(link.stream, std::exchange(link.early, {}));
    }
  }
  for (auto& [stream, batches] : early) {
    for (wire::Batch& batch : batches) HandleBatch(*stream, batch);
  }
}

void GrpcNode::HandleRoundTrip(absl::Duration round_trip) {
  if (round_trip >= least_round_trip_) return;
  least_round_trip_ = round_trip;
  Deliver(event::LatencyMeasured{.latency = round_trip / 2});
}

void GrpcNode::HandleEnd(GrpcStream& stream, const grpc::Status& status) {
  NodeRef lost;
  bool died = false;
  StreamPtr standing;  // another one with the peer
  StreamPtr reopened;
  {
    MutexLock lock(mutex_);
    const auto found = links_.find(&stream);
    const Link link = std::move(found->second);
    links_.erase(found);
    if (links_.empty()) idle_.NotifyAll();
    const bool failed = link.opened && !link.established;
    died = failed && IsDeath(status);
    const auto entry = peers_.find(link.peer);
    if (entry != peers_.end() && !link.cut && !stopping_) {
      Peer& peer = entry->second;
      if (peer.stream == link.stream) peer.stream = FindAccepted(link.peer);
      if (failed) {
        peer.pause = std::clamp<Clock::duration>(2 * peer.pause, kFirstPause,
                                                 kLongestPause);
        peer.retry_at = Clock::now() + peer.pause;
        // A process that ends may still listen when its streams are gone, and
        // resets who connects then: only the next attempt finds it dead. But
        // the head is sought at its address, whoever it is by now.
        peer.wanted = peer.wanted && !died && !IsRefusal(status);
      } else {
        peer.wanted = true;
      }
      if (peer.heard == link.stream) peer.heard = nullptr;
      if (Stands(peer)) standing = peer.stream;
      peer.lost = standing == nullptr;
      reopened = OpenIfDue(link.peer, peer);
    }
    if (link.cut || stopping_ || !link.peer) return;
    lost = link.peer;
  }
  spdlog::debug("control: the stream to {} has ended: {}", ToString(lost.node),
                status.error_message());
  if (standing != nullptr) standing->SaySightLost();
  Deliver(event::PeerLost{.peer = lost});
  if (standing != nullptr) Deliver(event::PeerReturned{.peer = lost});
  if (died) Deliver(event::PeerDied{.peer = lost});
  if (reopened != nullptr) reopened->Start();
}

}  // namespace hoplite
