#include "hoplite/net/grpc_node.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "hoplite/base/check.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/net/grpc_settings.h"
#include "hoplite/net/local_address.h"
#include "hoplite/wire/codec.h"
#include "spdlog/spdlog.h"

namespace hoplite {

GrpcNode::~GrpcNode() { Shutdown(); }

absl::Status GrpcNode::Open() {
  // gRPC does not say why it cannot listen.
  HOPLITE_RETURN_IF_ERROR(CheckCanListen(listen_));
  grpc::ServerBuilder builder;
  ApplyServerSettings(builder);
  int port = 0;
  builder.AddListeningPort(listen_.ToString(),
                           grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service_);
  std::unique_ptr<grpc::ServerCompletionQueue> queue =
      builder.AddCompletionQueue();
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || port == 0) {
    const absl::Status status = CheckCanListen(listen_);
    return !status.ok() ? status
                        : absl::FailedPreconditionError(absl::StrFormat(
                              "address in use %s", listen_.ToString()));
  }
  listen_.port = static_cast<std::uint16_t>(port);
  {
    MutexLock lock(mutex_);
    host_ = !advertise_.empty()     ? advertise_
            : listen_.is_wildcard() ? OwnHost(listen_)
                                    : listen_.host;
  }
  accepted_.done = [this](bool ok) { HandleAccepted(ok); };
  loop_ = std::make_unique<GrpcLoop>(std::move(queue));
  desk_ = std::make_unique<JoinDesk>(&service_, loop_->queue());
  {
    MutexLock lock(mutex_);
    accepting_ = true;
  }
  loop_->Post([this] { AcceptNext(); });
  return absl::OkStatus();
}

std::string GrpcNode::address() const {
  MutexLock lock(mutex_);
  return HostPort{.host = host_, .port = listen_.port}.ToString();
}

absl::StatusOr<Welcome> GrpcNode::Join(absl::string_view head_address,
                                       absl::string_view data_address,
                                       absl::string_view agent_address,
                                       absl::Time deadline) {
  HOPLITE_ASSIGN_OR_RETURN(const HostPort head, HostPort::Parse(head_address));
  HOPLITE_ASSIGN_OR_RETURN(HostPort data, HostPort::Parse(data_address));
  if (advertise_.empty() && (listen_.is_wildcard() || data.is_wildcard())) {
    HOPLITE_ASSIGN_OR_RETURN(
        const std::string host,
        LocalHostTowards(head, listen_.is_wildcard() ? listen_ : data));
    if (data.is_wildcard()) data.host = host;
    MutexLock lock(mutex_);
    if (listen_.is_wildcard()) host_ = host;
  } else if (data.is_wildcard()) {
    data.host = advertise_;
  }
  return AskHead(deadline, [&](grpc::ClientContext& context) {
    return CallJoin(head, address(), data.ToString(),
                    std::string(agent_address), context);
  });
}

absl::StatusOr<Welcome> GrpcNode::Return(absl::string_view head_address,
                                         const ClusterView& view,
                                         absl::Time deadline) {
  HOPLITE_ASSIGN_OR_RETURN(const HostPort head, HostPort::Parse(head_address));
  return AskHead(deadline, [&](grpc::ClientContext& context) {
    return CallReturn(head, view, context);
  });
}

absl::StatusOr<Welcome> GrpcNode::AskHead(
    absl::Time deadline,
    absl::FunctionRef<absl::StatusOr<Welcome>(grpc::ClientContext&)> call) {
  grpc::ClientContext context;
  if (deadline < absl::InfiniteFuture()) {
    context.set_deadline(absl::ToChronoTime(deadline));
  }
  {
    MutexLock lock(mutex_);
    if (stopping_) return absl::CancelledError("this node has shut down");
    own_joins_.push_back(&context);
  }
  absl::StatusOr<Welcome> welcome = call(context);
  MutexLock lock(mutex_);
  std::erase(own_joins_, &context);
  idle_.NotifyAll();
  return welcome;
}

void GrpcNode::Start(ClusterId cluster, NodeRef self, EventSink sink) {
  {
    MutexLock lock(mutex_);
    HOPLITE_CHECK(!started_);
    HOPLITE_CHECK(static_cast<bool>(self));
    cluster_ = cluster;
    self_ = self;
    sink_ = std::move(sink);
    started_ = true;
  }
  loop_->Post([this, self] {
    desk_->Start(self, [this](Event request) { Deliver(std::move(request)); });
    TakeEarlyBatches();
  });
}

void GrpcNode::Admit(std::uint64_t token, const Welcome& welcome) {
  desk_->Admit(token, welcome);
}

void GrpcNode::RefuseReturn(std::uint64_t token, absl::string_view reason) {
  desk_->RefuseReturn(token, reason);
}

void GrpcNode::Learn(const Member& member) {
  const absl::StatusOr<HostPort> address =
      HostPort::Parse(member.control_address);
  if (!address.ok()) {
    spdlog::warn("control: {} cannot be reached: {}", ToString(member.ref.node),
                 address.status().ToString());
    return;
  }
  StreamPtr opened;
  {
    MutexLock lock(mutex_);
    if (member.ref == self_ || stopping_ || IsForgotten(member.ref)) return;
    Peer& peer = peers_[member.ref];
    peer.address = *address;
    peer.wanted = member.ref.node == kHeadNode;
    opened = OpenIfDue(member.ref, peer);
  }
  if (opened != nullptr) opened->Start();
}

void GrpcNode::Forget(NodeRef member) {
  std::vector<StreamPtr> streams;
  {
    MutexLock lock(mutex_);
    Incarnation& highest = forgotten_[member.node];
    highest = std::max(highest, member.incarnation);
    absl::erase_if(peers_, [&](const auto& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                               mutex_) { return IsForgotten(entry.first); });
    for (auto& [stream, link] : links_) {
      if (!link.peer || !IsForgotten(link.peer)) continue;
      link.cut = true;
      streams.push_back(link.stream);
    }
  }
  for (const StreamPtr& stream : streams) {
    stream->Cut(grpc::Status(grpc::StatusCode::CANCELLED,
                             "this incarnation is no longer a member"));
  }
}

void GrpcNode::Send(NodeRef to, const Message& message) {
  absl::StatusOr<wire::Envelope> envelope = wire::Encode(message);
  if (!envelope.ok()) {
    spdlog::error("control: a message to {} is dropped: {}", ToString(to.node),
                  envelope.status().ToString());
    return;
  }
  StreamPtr stream;
  bool opened = false;
  {
    MutexLock lock(mutex_);
    HOPLITE_CHECK(started_);
    HOPLITE_CHECK(to != self_);
    if (stopping_ || IsForgotten(to)) return;
    Peer& peer = peers_[to];
    if (peer.stream == nullptr) {
      peer.waiting.Add(*std::move(envelope));
      stream = OpenIfDue(to, peer);
      opened = true;
    } else {
      stream = peer.stream;
    }
  }
  if (stream == nullptr) return;
  if (opened) {
    stream->Start();
  } else {
    stream->Send(*std::move(envelope));
  }
}

bool GrpcNode::IsForgotten(NodeRef member) const {
  const auto found = forgotten_.find(member.node);
  return found != forgotten_.end() && member.incarnation <= found->second;
}

GrpcNode::StreamPtr GrpcNode::FindAccepted(NodeRef member) const {
  for (const auto& [stream, link] : links_) {
    if (link.peer == member && link.established && !link.opened) {
      return link.stream;
    }
  }
  return nullptr;
}

GrpcNode::StreamPtr GrpcNode::OpenIfDue(NodeRef to, Peer& peer) {
  if (peer.stream != nullptr || (peer.waiting.empty() && !peer.wanted) ||
      !peer.address.has_value() || !started_) {
    return nullptr;
  }
  if (Clock::now() < peer.retry_at) {
    loop_->CallAt(peer.retry_at, [this] { RetryPeers(); });
    return nullptr;
  }
  auto stream = std::make_shared<GrpcStream>(
      this, loop_.get(), OpenExchange(*peer.address, loop_->queue()));
  wire::Hello hello;
  hello.set_protocol_version(wire::kProtocolVersion);
  hello.set_cluster(cluster_.value());
  *hello.mutable_from() = wire::EncodeNodeRef(self_);
  *hello.mutable_to() = wire::EncodeNodeRef(to);
  stream->SetHello(std::move(hello), std::exchange(peer.waiting, Outbox()));
  if (peer.lost) stream->SaySightLost();
  peer.stream = stream;
  links_.emplace(stream.get(),
                 Link{.stream = stream, .peer = to, .opened = true});
  return stream;
}

void GrpcNode::RetryPeers() {
  std::vector<StreamPtr> opened;
  {
    MutexLock lock(mutex_);
    if (stopping_) return;
    for (auto& [to, peer] : peers_) {
      StreamPtr stream = OpenIfDue(to, peer);
      if (stream != nullptr) opened.push_back(std::move(stream));
    }
  }
  for (const StreamPtr& stream : opened) stream->Start();
}

void GrpcNode::Shutdown() {
  std::vector<grpc::ClientContext*> joins;
  if (loop_ == nullptr) return;  // never opened
  {
    MutexLock lock(mutex_);
    if (stopping_.exchange(true)) {
      while (!shut_down_) idle_.Wait(mutex_);
      return;
    }
    for (grpc::ClientContext* join : own_joins_) join->TryCancel();
  }
  desk_->BeginClose();
  CutStreams();
  // tidy-allow(clock): at once, in the words of gRPC's interface
  server_->Shutdown(std::chrono::system_clock::now());
  desk_->AwaitClosed();
  {
    MutexLock lock(mutex_);
    while (!links_.empty() || !own_joins_.empty() || accepting_) {
      idle_.Wait(mutex_);
    }
  }
  loop_->Stop();
  MutexLock lock(mutex_);
  shut_down_ = true;
  idle_.NotifyAll();
}

void GrpcNode::CutStreams() {
  std::vector<StreamPtr> streams;
  {
    MutexLock lock(mutex_);
    for (auto& [key, link] : links_) streams.push_back(link.stream);
    peers_.clear();
  }
  for (const StreamPtr& stream : streams) {
    stream->Cut(grpc::Status(grpc::StatusCode::CANCELLED,
                             "this node is shutting down"));
  }
}

}  // namespace hoplite
