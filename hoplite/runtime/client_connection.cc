#include "hoplite/runtime/client_connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hoplite/runtime/clock.h"

namespace hoplite {
namespace {

// So that a report fits in a frame, with a few hundred bytes for each.
constexpr std::size_t kReportedObjectsMax = 100000;
constexpr std::size_t kReportedPositionsMax = 20000;

// Sends `frame` and with it the descriptors; the first that a worker gets.
bool SendWithDescriptors(int socket, const std::string& frame,
                         std::array<int, 2> descriptors) {
  iovec part{.iov_base = const_cast<char*>(frame.data()),
             .iov_len = frame.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(descriptors))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(descriptors));
  std::memcpy(CMSG_DATA(header), descriptors.data(), sizeof(descriptors));
  return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(frame.size());
}

absl::Time DeadlineAfter(absl::Duration timeout) {
  return SystemClock::Now() + timeout;
}

}  // namespace

// Keeps the connection until the request is answered.
class ClientConnection::Observer final : public RequestObserver {
 public:
  Observer(std::shared_ptr<ClientConnection> connection, std::uint64_t number)
      : connection_(std::move(connection)), number_(number) {}

  void OnRoom(std::shared_ptr<ObjectBuffer> buffer) override {
    connection_->OnRoom(number_, std::move(buffer));
  }
  void OnAnswer(RequestAnswer answer) override {
    connection_->OnAnswer(number_, std::move(answer));
  }

 private:
  const std::shared_ptr<ClientConnection> connection_;
  const std::uint64_t number_;
};

ClientConnection::ClientConnection(FileDescriptor descriptor, RequestPort* port,
                                   const ObjectStore* store,
                                   std::function<void()> wants_write)
    : port_(port),
      store_(store),
      socket_(std::move(descriptor), kFrameToNodeBytesMax,
              std::move(wants_write)) {}

bool ClientConnection::Receive() {
  return socket_.Receive(
      [this](absl::string_view frame) { return TakeFrame(frame); });
}

void ClientConnection::End() {
  absl::flat_hash_map<std::uint64_t, Call> calls;
  {
    MutexLock lock(mutex_);
    ended_ = true;
    calls.swap(calls_);
  }
  socket_.ShutDown();
  for (const auto& [number, call] : calls) {
    if (!call.answered) port_->Cancel(call.request);
  }
}

bool ClientConnection::TakeFrame(absl::string_view frame) {
  std::optional<ClientMessage> message = DecodeFrame(frame);
  if (!message.has_value()) return false;
  const bool is_hello = std::holds_alternative<client_message::Hello>(*message);
  if (greeted_ == is_hello) return false;
  return std::visit([this](auto& value) { return Take(value); }, *message);
}

bool ClientConnection::Take(const client_message::Hello& hello) {
  const std::string welcome = EncodeFrame(
      client_message::Welcome{.version = kClientProtocolVersion,
                              .store_capacity = store_->capacity_bytes()});
  if (hello.version != kClientProtocolVersion) {
    socket_.Send(welcome);
    return false;
  }
  greeted_ = true;
  return SendWithDescriptors(
      descriptor(), welcome,
      {store_->descriptor_read_only(), store_->descriptor()});
}

template <typename Request>
bool ClientConnection::Start(std::uint64_t number, Request event) {
  event.request = port_->NewRequest();
  {
    MutexLock lock(mutex_);
    if (ended_) return false;
    const bool is_new =
        calls_
            .emplace(
                number,
                Call{.request = event.request,
                     .is_put = std::is_same_v<Request, event::PutRequested>,
                     .buffer = nullptr})
            .second;
    if (!is_new) return false;
  }
  Event request = std::move(event);
  if (absl::Status status = ValidateRequest(request); !status.ok()) {
    OnAnswer(number,
             {.status = std::move(status), .object = nullptr, .sources = {}});
    return true;
  }
  port_->Submit(std::move(request),
                std::make_shared<Observer>(shared_from_this(), number));
  return true;
}

bool ClientConnection::Take(client_message::Put& put) {
  event::PutRequested event{.request = {},
                            .object = put.object,
                            .size = put.size,
                            .deadline = DeadlineAfter(put.timeout),
                            .payload = nullptr,
                            .streams = put.streams};
  if (put.payload.has_value()) {
    event.payload = MakePayload(*std::move(put.payload));
  }
  return Start(put.number, std::move(event));
}

bool ClientConnection::Take(const client_message::Get& get) {
  return Start(get.number,
               event::GetRequested{.request = {},
                                   .object = get.object,
                                   .deadline = DeadlineAfter(get.timeout)});
}

bool ClientConnection::Take(const client_message::Delete& request) {
  return Start(request.number, event::DeleteRequested{
                                   .request = {},
                                   .object = request.object,
                                   .deadline = DeadlineAfter(request.timeout)});
}

bool ClientConnection::Take(client_message::Reduce& reduce) {
  return Start(reduce.number, event::ReduceRequested{
                                  .request = {},
                                  .target = reduce.target,
                                  .sources = std::move(reduce.sources),
                                  .count = reduce.count,
                                  .op = reduce.op,
                                  .type = reduce.type,
                                  .deadline = DeadlineAfter(reduce.timeout)});
}

// In the next four an unknown number is no mistake: the answer may be under
// way while the worker goes on.

bool ClientConnection::Take(const client_message::Advance& advance) {
  std::shared_ptr<ObjectBuffer> room;
  {
    MutexLock lock(mutex_);
    const auto found = calls_.find(advance.number);
    if (found == calls_.end()) return true;
    const Call& call = found->second;
    if (!call.is_put || call.sealed || call.buffer == nullptr) return false;
    room = call.buffer;
  }
  if (advance.to < room->watermark() || advance.to > room->size()) return false;
  room->Advance(advance.to);
  return true;
}

bool ClientConnection::Take(const client_message::Seal& seal) {
  std::shared_ptr<ObjectBuffer> room;
  RequestId request;
  {
    MutexLock lock(mutex_);
    const auto found = calls_.find(seal.number);
    if (found == calls_.end()) return true;
    Call& call = found->second;
    if (!call.is_put || call.sealed || call.buffer == nullptr) return false;
    call.sealed = true;
    room = call.buffer;
    request = call.request;
  }
  room->Advance(room->size());
  port_->Filled(request);
  return true;
}

bool ClientConnection::Take(const client_message::Release& release) {
  std::shared_ptr<ObjectBuffer> buffer;  // goes after the lock
  MutexLock lock(mutex_);
  const auto found = calls_.find(release.number);
  if (found == calls_.end()) return true;
  Call& call = found->second;
  const bool has_room = call.is_put && call.buffer != nullptr;
  if (!call.answered && !has_room) return false;
  buffer = std::move(call.buffer);
  if (call.answered) calls_.erase(found);
  return true;
}

bool ClientConnection::Take(const client_message::Cancel& cancel) {
  RequestId request;
  {
    MutexLock lock(mutex_);
    const auto found = calls_.find(cancel.number);
    if (found == calls_.end() || found->second.answered) return true;
    request = found->second.request;
  }
  port_->Cancel(request);
  return true;
}

bool ClientConnection::Take(const client_message::ReportAsk& ask) {
  NodeReport report = port_->Report();
  std::vector<LocalObjectStatus>& objects = report.status.objects;
  objects.resize(std::min(objects.size(), kReportedObjectsMax));
  std::vector<PositionStatus>& positions = report.status.positions;
  positions.resize(std::min(positions.size(), kReportedPositionsMax));
  return socket_.Send(EncodeFrame(client_message::ReportAnswer{
      .number = ask.number, .json = ToJson(report)}));
}

void ClientConnection::OnRoom(std::uint64_t number,
                              std::shared_ptr<ObjectBuffer> buffer) {
  const client_message::Room room{
      .number = number, .offset = buffer->offset(), .size = buffer->size()};
  {
    MutexLock lock(mutex_);
    const auto found = calls_.find(number);
    if (found == calls_.end()) return;
    found->second.buffer = std::move(buffer);
  }
  socket_.Send(EncodeFrame(room));
}

void ClientConnection::OnAnswer(std::uint64_t number, RequestAnswer answer) {
  client_message::Answer message{.number = number,
                                 .code = answer.status.code(),
                                 .text = std::string(answer.status.message()),
                                 .sources = std::move(answer.sources)};
  std::shared_ptr<ObjectBuffer> room;  // goes after the lock
  {
    MutexLock lock(mutex_);
    const auto found = calls_.find(number);
    if (found == calls_.end()) return;
    Call& call = found->second;
    call.answered = true;
    if (answer.object != nullptr) {
      message.offset = answer.object->offset();
      message.size = answer.object->size();
      call.buffer = std::move(answer.object);
    } else if (call.sealed || call.buffer == nullptr) {
      room = std::move(call.buffer);
      calls_.erase(found);
    }
  }
  socket_.Send(EncodeFrame(message));
}

}  // namespace hoplite
