#include "hoplite/net/grpc_join.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/net/grpc_settings.h"
#include "hoplite/wire/codec.h"

namespace hoplite {
namespace {

constexpr NodeId kHead(1);

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

}  // namespace

absl::StatusOr<Welcome> CallJoin(const HostPort& head,
                                 const std::string& control_address,
                                 const std::string& data_address,
                                 grpc::ClientContext& context) {
  wire::JoinRequest request;
  request.set_protocol_version(wire::kProtocolVersion);
  request.set_control_address(control_address);
  request.set_data_address(data_address);
  wire::JoinReply reply;
  const grpc::Status status = wire::Control::NewStub(MakeChannel(head))
                                  ->Join(&context, request, &reply);
  if (!status.ok()) return JoinError(head, status);
  return DecodeWelcome(reply);
}

JoinDesk::JoinDesk(wire::Control::AsyncService* service,
                   grpc::ServerCompletionQueue* queue)
    : service_(service), queue_(queue) {
  MutexLock lock(mutex_);
  Await();
}

void JoinDesk::Start(NodeRef self, Notify notify) {
  std::vector<event::JoinRequested> requests;
  {
    MutexLock lock(mutex_);
    self_ = self;
    notify_ = notify;
    for (Call* call : early_) {
      event::JoinRequested request;
      if (Consider(call, request)) requests.push_back(std::move(request));
    }
    early_.clear();
  }
  for (event::JoinRequested& request : requests) notify(std::move(request));
}

void JoinDesk::Admit(std::uint64_t token, const Welcome& welcome) {
  const absl::StatusOr<wire::JoinReply> reply = EncodeWelcome(welcome);
  MutexLock lock(mutex_);
  const auto found = waiting_.find(token);
  if (found == waiting_.end()) return;
  Call* const call = found->second;
  waiting_.erase(found);
  if (!reply.ok()) {
    Refuse(call, grpc::StatusCode::INTERNAL,
           std::string(reply.status().message()));
    return;
  }
  call->writer.Finish(*reply, grpc::Status::OK, call->finished.Tag());
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
  event::JoinRequested request;
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
    if (!Consider(call, request)) return;
    notify = notify_;
  }
  notify(std::move(request));
}

void JoinDesk::HandleFinished(Call* call) {
  MutexLock lock(mutex_);
  calls_.erase(call);
  gone_.NotifyAll();
}

bool JoinDesk::Consider(Call* call, event::JoinRequested& request) {
  if (self_.node != kHead) {
    Refuse(call, grpc::StatusCode::FAILED_PRECONDITION,
           absl::StrFormat("%s is not the head of its cluster; join at the "
                           "head's address",
                           ToString(self_.node)));
    return false;
  }
  const std::uint32_t version = call->request.protocol_version();
  if (version != wire::kProtocolVersion) {
    Refuse(call, grpc::StatusCode::FAILED_PRECONDITION,
           absl::StrFormat("the head speaks protocol version %d and the "
                           "caller version %d; run the same Hoplite on both",
                           wire::kProtocolVersion, version));
    return false;
  }
  for (const std::string& address :
       {call->request.control_address(), call->request.data_address()}) {
    const absl::StatusOr<HostPort> parsed = HostPort::Parse(address);
    if (parsed.ok() && address.size() <= wire::kAddressBytesMax) continue;
    Refuse(call, grpc::StatusCode::FAILED_PRECONDITION,
           absl::StrFormat(
               "the caller's own address is unusable: %s",
               parsed.ok() ? "it is too long" : parsed.status().message()));
    return false;
  }
  request.token = ++last_token_;
  request.control_address = call->request.control_address();
  request.data_address = call->request.data_address();
  waiting_.emplace(request.token, call);
  return true;
}

void JoinDesk::Refuse(Call* call, grpc::StatusCode code, std::string reason) {
  call->writer.FinishWithError(grpc::Status(code, std::move(reason)),
                               call->finished.Tag());
}

}  // namespace hoplite
