// GrpcNode: what streams say.

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_format.h"
#include "hoplite/net/grpc_node.h"
#include "hoplite/wire/codec.h"
#include "spdlog/spdlog.h"

namespace hoplite {
namespace {

constexpr std::chrono::milliseconds kFirstPause(50);
constexpr std::chrono::milliseconds kLongestPause(1000);

grpc::Status Refusal(std::string reason) {
  return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, std::move(reason));
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
  {
    MutexLock lock(mutex_);
    Link& link = links_.at(&stream);
    if (link.cut || stopping_) return;
    // Behind batches that came before Start, until those are taken.
    if (!started_ || !link.early.empty()) {
      link.early.push_back(std::move(batch));
      return;
    }
    if (!link.established) status = Establish(link, batch);
    peer = link.peer;
  }
  if (!status.ok()) {
    spdlog::warn("control: a stream is refused: {}", status.error_message());
    stream.Cut(std::move(status));
    return;
  }
  HandleMessages(stream, peer, batch);
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
    return Refusal(absl::StrFormat(
        "this node is of cluster %016x and the caller of cluster %016x",
        cluster_.value(), hello.cluster()));
  }
  if (wire::DecodeNodeRef(hello.to()) != self_) {
    return Refusal(absl::StrFormat(
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

grpc::Status GrpcNode::Establish(Link& link, const wire::Batch& batch) {
  if (link.opened) {
    if (!batch.hello_taken()) return Refusal("the hello was not answered");
    link.established = true;
    link.stream->BeginProbes(/*hello_taken=*/false);
    const auto found = peers_.find(link.peer);
    if (found != peers_.end()) found->second.pause = {};
    return grpc::Status::OK;
  }
  grpc::Status status = CheckHello(batch);
  if (!status.ok()) return status;
  link.peer = wire::DecodeNodeRef(batch.hello().from());
  link.established = true;
  // Before any message: the opener looks for it in the first batch.
  link.stream->BeginProbes(/*hello_taken=*/true);
  Peer& peer = peers_[link.peer];
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
  {
    MutexLock lock(mutex_);
    const auto found = links_.find(&stream);
    const Link link = std::move(found->second);
    links_.erase(found);
    if (links_.empty()) idle_.NotifyAll();
    const auto entry = peers_.find(link.peer);
    if (entry != peers_.end() && entry->second.stream == link.stream) {
      Peer& peer = entry->second;
      peer.stream = FindAccepted(link.peer);
      if (link.opened && !link.established) {
        peer.pause = std::clamp<Clock::duration>(2 * peer.pause, kFirstPause,
                                                 kLongestPause);
        peer.retry_at = Clock::now() + peer.pause;
      }
    }
    if (link.cut || stopping_ || !link.peer) return;
    lost = link.peer;
  }
  spdlog::debug("control: the stream to {} has ended: {}", ToString(lost.node),
                status.error_message());
  Deliver(event::PeerLost{.peer = lost});
}

}  // namespace hoplite
