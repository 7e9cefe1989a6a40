#include "hoplite/net/grpc_join.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/net/grpc_settings.h"
#include "hoplite/wire/codec.h"

namespace hoplite {
namespace {

absl::Status JoinError(const HostPort& head, const grpc::Status& status) {
  const std::string address = head.ToString();
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
      return absl::UnavailableError(
          absl::StrFormat("the head at %s cannot be reached: %s", address,
                          status.error_message()));
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return absl::DeadlineExceededError(absl::StrFormat(
          "the head at %s did not answer before the deadline", address));
    case grpc::StatusCode::CANCELLED:
      return absl::CancelledError(absl::StrFormat(
          "the join at %s was cancelled: this node shuts down", address));
    case grpc::StatusCode::ABORTED:
      return absl::AbortedError(status.error_message());
    case grpc::StatusCode::FAILED_PRECONDITION:
      return absl::FailedPreconditionError(absl::StrFormat(
          "cannot join at %s: %s", address, status.error_message()));
    default:
      return absl::FailedPreconditionError(
          absl::StrFormat("what listens at %s is no head of Hoplite: %s",
                          address, status.error_message()));
  }
}

absl::StatusOr<Welcome> DecodeWelcome(const wire::JoinReply& reply) {
  Welcome welcome;
  welcome.cluster = ClusterId(reply.cluster());
  HOPLITE_ASSIGN_OR_RETURN(welcome.self, wire::DecodeMember(reply.self()));
  for (const wire::Member& one : reply.members()) {
    HOPLITE_ASSIGN_OR_RETURN(Member member, wire::DecodeMember(one));
    welcome.members.push_back(std::move(member));
  }
  for (const wire::ShardAssignment& one : reply.assignments()) {
    HOPLITE_ASSIGN_OR_RETURN(const ShardAssignment assignment,
                             wire::DecodeAssignment(one));
    welcome.shard_map.Apply(assignment);
  }
  return welcome;
}

absl::StatusOr<wire::JoinReply> EncodeWelcome(const Welcome& welcome) {
  wire::JoinReply reply;
  reply.set_cluster(welcome.cluster.value());
  HOPLITE_ASSIGN_OR_RETURN(*reply.mutable_self(),
                           wire::EncodeMember(welcome.self));
  for (const Member& member : welcome.members) {
    HOPLITE_ASSIGN_OR_RETURN(*reply.add_members(), wire::EncodeMember(member));
  }
  for (const ShardAssignment& assignment : welcome.shard_map.assignments()) {
    HOPLITE_ASSIGN_OR_RETURN(*reply.add_assignments(),
                             wire::EncodeAssignment(assignment));
  }
  return reply;
}

absl::Status CheckAddress(const std::string& address) {
  if (address.size() > wire::kAddressBytesMax) {
    return absl::InvalidArgumentError("it is too long");
  }
  return HostPort::Parse(address).status();
}

absl::Status CheckAddresses(const wire::JoinRequest& request) {
  HOPLITE_RETURN_IF_ERROR(CheckAddress(request.control_address()));
  HOPLITE_RETURN_IF_ERROR(CheckAddress(request.data_address()));
  if (request.agent_address().empty()) return absl::OkStatus();
  return CheckAddress(request.agent_address());
}

absl::StatusOr<Welcome> Call(const HostPort& head,
                             const wire::JoinRequest& request,
                             grpc::ClientContext& context) {
  wire::JoinReply reply;
  const grpc::Status status = wire::Control::NewStub(MakeChannel(head))
                                  ->Join(&context, request, &reply);
  if (!status.ok()) return JoinError(head, status);
  return DecodeWelcome(reply);
}

}  // namespace

absl::StatusOr<Welcome> CallJoin(const HostPort& head,
                                 const std::string& control_address,
                                 const std::string& data_address,
                                 const std::string& agent_address,
                                 grpc::ClientContext& context) {
  wire::JoinRequest request;
  request.set_protocol_version(wire::kProtocolVersion);
  request.set_control_address(control_address);
  request.set_data_address(data_address);
  request.set_agent_address(agent_address);
  return Call(head, request, context);
}

absl::StatusOr<Welcome> CallReturn(const HostPort& head,
                                   const ClusterView& view,
                                   grpc::ClientContext& context) {
  wire::JoinRequest request;
  request.set_protocol_version(wire::kProtocolVersion);
  request.set_control_address(view.self.control_address);
  request.set_data_address(view.self.data_address);
  request.set_agent_address(view.self.agent_address);
  HOPLITE_ASSIGN_OR_RETURN(*request.mutable_view(), wire::EncodeView(view));
  return Call(head, request, context);
}

JoinDesk::JoinDesk(wire::Control::AsyncService* service,
                   grpc::ServerCompletionQueue* queue)
    : service_(service), queue_(queue) {
  MutexLock lock(mutex_);
  Await();
}

void JoinDesk::Start(NodeRef self, Notify notify) {
  std::vector<Event> requests;
  {
    MutexLock lock(mutex_);
    self_ = self;
    notify_ = notify;
    for (Call* call : early_) {
      std::optional<Event> request = Consider(call);
      if (request.has_value()) requests.push_back(*std::move(request));
    }
    early_.clear();
  }
  for (Event& request : requests) notify(std::move(request));
}

void JoinDesk::Admit(std::uint64_t token, const Welcome& welcome) {
  const absl::StatusOr<wire::JoinReply> reply = EncodeWelcome(welcome);
  MutexLock lock(mutex_);
  Call* const call = Take(token);
  if (call == nullptr) return;
  if (!reply.ok()) {
    Refuse(call, grpc::StatusCode::INTERNAL,
           std::string(reply.status().message()));
    return;
  }
  call->writer.Finish(*reply, grpc::Status::OK, call->finished.Tag());
}

void JoinDesk::RefuseReturn(std::uint64_t token, absl::string_view reason) {
  MutexLock lock(mutex_);
  Call* const call = Take(token);
  if (call == nullptr) return;
  Refuse(call, grpc::StatusCode::ABORTED, std::string(reason));
}

JoinDesk::Call* JoinDesk::Take(std::uint64_t token) {
  const auto found = waiting_.find(token);
  if (found == waiting_.end()) return nullptr;
  Call* const call = found->second;
  waiting_.erase(found);
  return call;
}

void JoinDesk::BeginClose() {
  MutexLock lock(mutex_);
  closing_ = true;
  for (const auto& [token, call] : waiting_) early_.push_back(call);
  waiting_.clear();
  for (Call* call : early_) {
    Refuse(call, grpc::StatusCode::UNAVAILABLE, "the head is shutting down");
  }
  early_.clear();
}

void JoinDesk::AwaitClosed() {
  MutexLock lock(mutex_);
  while (!calls_.empty()) gone_.Wait(mutex_);
}

void JoinDesk::Await() {
  auto owned = std::make_unique<Call>();
  Call* const call = owned.get();
  calls_.emplace(call, std::move(owned));
  call->arrived.done = [this, call](bool ok) { HandleArrived(call, ok); };
  call->finished.done = [this, call](bool) { HandleFinished(call); };
  service_->RequestJoin(&call->context, &call->request, &call->writer, queue_,
                        queue_, call->arrived.Tag());
}

void JoinDesk::HandleArrived(Call* call, bool ok) {
  if (!ok) {  // the server is shut down
    HandleFinished(call);
    return;
  }
  std::optional<Event> request;
  Notify notify;
  {
    MutexLock lock(mutex_);
    if (closing_) {
      Refuse(call, grpc::StatusCode::UNAVAILABLE, "the head is shutting down");
      return;
    }
    Await();
    if (!self_) {
      early_.push_back(call);
      return;
    }
    request = Consider(call);
    if (!request.has_value()) return;
    notify = notify_;
  }
  notify(*std::move(request));
}

void JoinDesk::HandleFinished(Call* call) {
  MutexLock lock(mutex_);
  calls_.erase(call);
  gone_.NotifyAll();
}

std::optional<Event> JoinDesk::Consider(Call* call) {
  if (self_.node != kHeadNode) {
    Refuse(call, grpc::StatusCode::FAILED_PRECONDITION,
           absl::StrFormat("%s is not the head of its cluster; join at the "
                           "head's address",
                           ToString(self_.node)));
    return std::nullopt;
  }
  const std::uint32_t version = call->request.protocol_version();
  if (version != wire::kProtocolVersion) {
    Refuse(call, grpc::StatusCode::FAILED_PRECONDITION,
           absl::StrFormat("the head speaks protocol version %d and the "
                           "caller version %d; run the same Hoplite on both",
                           wire::kProtocolVersion, version));
    return std::nullopt;
  }
  const absl::Status addresses = CheckAddresses(call->request);
  if (!addresses.ok()) {
    Refuse(call, grpc::StatusCode::FAILED_PRECONDITION,
           absl::StrFormat("the caller's own address is unusable: %s",
                           addresses.message()));
    return std::nullopt;
  }
  if (call->request.has_view()) return ConsiderReturn(call);
  waiting_.emplace(++last_token_, call);
  return event::JoinRequested{
      .token = last_token_,
      .control_address = call->request.control_address(),
      .data_address = call->request.data_address(),
      .agent_address = call->request.agent_address()};
}

std::optional<Event> JoinDesk::ConsiderReturn(Call* call) {
  absl::StatusOr<ClusterView> view = wire::DecodeView(call->request.view());
  if (!view.ok()) {
    Refuse(call, grpc::StatusCode::INVALID_ARGUMENT,
           std::string(view.status().message()));
    return std::nullopt;
  }
  waiting_.emplace(++last_token_, call);
  return event::ReturnRequested{.token = last_token_, .view = *std::move(view)};
}

void JoinDesk::Refuse(Call* call, grpc::StatusCode code, std::string reason) {
  call->writer.FinishWithError(grpc::Status(code, std::move(reason)),
                               call->finished.Tag());
}

}  // namespace hoplite
