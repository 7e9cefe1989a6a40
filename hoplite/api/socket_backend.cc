#include "hoplite/api/socket_backend.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hoplite/api/call_guard.h"
#include "hoplite/api/future.h"
#include "hoplite/base/check.h"
#include "hoplite/base/overloaded.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/runtime/clock.h"

namespace hoplite {
namespace {

constexpr absl::string_view kGet = "Get";
constexpr absl::Duration kReportTimeout = absl::Seconds(5);

absl::Duration TimeLeft(absl::Time deadline) {
  return deadline - SystemClock::Now();
}

// Lets an object go when the last who reads it is done.
std::shared_ptr<const void> MakePin(std::shared_ptr<SocketLink> link,
                                    std::uint64_t number) {
  SocketLink* const raw = link.get();
  return std::shared_ptr<const void>(
      raw, [link = std::move(link), number](const void* /*link*/) {
        link->Send(client_message::Release{.number = number});
      });
}

class SocketRoom final : public CallRoom {
 public:
  SocketRoom(std::shared_ptr<SocketLink> link, std::uint64_t number,
             std::span<std::byte> bytes)
      : link_(std::move(link)), number_(number), bytes_(bytes) {}
  ~SocketRoom() override {
    if (!filled_) link_->Send(client_message::Release{.number = number_});
  }

  std::span<std::byte> bytes() override { return bytes_; }
  void Advance(std::uint64_t to) override {
    link_->Send(client_message::Advance{.number = number_, .to = to});
  }
  void Fill() override { link_->Send(client_message::Seal{.number = number_}); }

 private:
  const std::shared_ptr<SocketLink> link_;
  const std::uint64_t number_;
  const std::span<std::byte> bytes_;
  bool filled_ = false;
};

}  // namespace

class SocketBackend::ReportObserver final : public CallObserver {
 public:
  using Result = absl::StatusOr<NodeReport>;

  void OnAnswer(CallAnswer answer) override {
    state_->Fail(std::move(answer.status));
  }
  void OnReport(Result report) { state_->Set(std::move(report)); }
  const std::shared_ptr<FutureState<Result>>& state() const { return state_; }

 private:
  const std::shared_ptr<FutureState<Result>> state_ =
      std::make_shared<FutureState<Result>>();
};

absl::StatusOr<std::shared_ptr<SocketBackend>> SocketBackend::Connect(
    std::string socket_path, absl::Duration timeout) {
  HOPLITE_ASSIGN_OR_RETURN(
      std::shared_ptr<SocketLink> link,
      SocketLink::Connect(std::move(socket_path), timeout));
  return std::make_shared<SocketBackend>(std::move(link));
}

SocketBackend::SocketBackend(std::shared_ptr<SocketLink> link)
    : link_(std::move(link)), reader_([this] { Run(); }) {}

SocketBackend::~SocketBackend() { Shutdown(); }

// --- Calls. -----------------------------------------------------------------

void SocketBackend::Submit(Event event,
                           std::shared_ptr<CallObserver> observer) {
  namespace m = client_message;
  const auto start = [&](absl::string_view operation, const auto& request,
                         const ObjectId& object, const ClientMessage& message) {
    Start(request.request.value(),
          {.name = {.operation = operation,
                    .object = object,
                    .began = SystemClock::Now(),
                    .deadline = request.deadline},
           .observer = std::move(observer)},
          message);
  };
  std::visit(Overloaded{
                 [&](const event::PutRequested& put) {
                   m::Put message{.number = put.request.value(),
                                  .object = put.object,
                                  .size = put.size,
                                  .timeout = TimeLeft(put.deadline),
                                  .streams = put.streams,
                                  .payload = std::nullopt};
                   if (put.payload != nullptr) message.payload = *put.payload;
                   start("Put", put, put.object, message);
                 },
                 [&](const event::GetRequested& get) {
                   start(kGet, get, get.object,
                         m::Get{.number = get.request.value(),
                                .object = get.object,
                                .timeout = TimeLeft(get.deadline)});
                 },
                 [&](const event::DeleteRequested& request) {
                   start("Delete", request, request.object,
                         m::Delete{.number = request.request.value(),
                                   .object = request.object,
                                   .timeout = TimeLeft(request.deadline)});
                 },
                 [&](const event::ReduceRequested& reduce) {
                   start("Reduce", reduce, reduce.target,
                         m::Reduce{.number = reduce.request.value(),
                                   .target = reduce.target,
                                   .sources = reduce.sources,
                                   .count = reduce.count,
                                   .op = reduce.op,
                                   .type = reduce.type,
                                   .timeout = TimeLeft(reduce.deadline)});
                 },
                 [](const auto& /*other*/) { HOPLITE_CHECK(false); },
             },
             event);
}

void SocketBackend::Start(std::uint64_t number, Call call,
                          const ClientMessage& message) {
  absl::Status status;
  {
    MutexLock lock(mutex_);
    if (ended_.ok()) {
      calls_.emplace(number, call);
    } else {
      status = EndError(call);
    }
  }
  if (!status.ok()) {
    call.observer->OnAnswer(
        {.status = std::move(status), .object = {}, .pin = {}, .sources = {}});
    return;
  }
  // Where the node is gone, the reader finds out and answers.
  link_->Send(message);
}

void SocketBackend::Cancel(RequestId request) {
  link_->Send(client_message::Cancel{.number = request.value()});
}

absl::StatusOr<NodeReport> SocketBackend::Report(absl::Duration timeout) {
  timeout = std::min(timeout, kReportTimeout);
  const auto observer = std::make_shared<ReportObserver>();
  const std::uint64_t number = NewRequest().value();
  const absl::Time deadline = SystemClock::Now() + timeout;
  Start(number,
        {.name = {.operation = "Report",
                  .object = ObjectId(),
                  .began = SystemClock::Now(),
                  .deadline = deadline},
         .observer = observer},
        client_message::ReportAsk{.number = number});
  if (observer->state()->Wait(deadline)) return observer->state()->result();
  Find(number, /*answered=*/true);
  return absl::DeadlineExceededError(absl::StrCat(
      "the node at ", link_->socket_path(), " has not reported for ",
      absl::FormatDuration(absl::Ceil(timeout, absl::Milliseconds(1)))));
}

SocketBackend::Call SocketBackend::Find(std::uint64_t number, bool answered) {
  MutexLock lock(mutex_);
  const auto found = calls_.find(number);
  if (found == calls_.end()) return {};
  Call call = found->second;
  if (answered) calls_.erase(found);
  return call;
}

// --- What the node says. ----------------------------------------------------

void SocketBackend::Run() {
  while (!stopping_) {
    if (link_->Wait([this](ClientMessage& message) { return Take(message); })) {
      continue;
    }
    EndAll(absl::StatusCode::kUnavailable,
           absl::StrCat("the node at ", link_->socket_path(), " is gone"));
    return;
  }
}

bool SocketBackend::Take(ClientMessage& message) {
  if (auto* room = std::get_if<client_message::Room>(&message)) {
    return TakeRoom(*room);
  }
  if (auto* answer = std::get_if<client_message::Answer>(&message)) {
    return TakeAnswer(*answer);
  }
  if (auto* report = std::get_if<client_message::ReportAnswer>(&message)) {
    return TakeReport(*report);
  }
  return false;
}

bool SocketBackend::TakeRoom(const client_message::Room& room) {
  const Call call = Find(room.number, /*answered=*/false);
  auto bytes = link_->Writable(room.offset, room.size);
  if (!bytes.ok()) return false;
  // Where nobody wants the room any more, it goes back at once.
  auto handed = std::make_unique<SocketRoom>(link_, room.number, *bytes);
  if (call.observer != nullptr) call.observer->OnRoom(std::move(handed));
  return true;
}

bool SocketBackend::TakeAnswer(client_message::Answer& answer) {
  const Call call = Find(answer.number, /*answered=*/true);
  if (call.observer == nullptr) {
    return link_->Send(client_message::Release{.number = answer.number});
  }
  CallAnswer told{.status = absl::Status(answer.code, answer.text),
                  .object = {},
                  .pin = nullptr,
                  .sources = std::move(answer.sources)};
  if (told.status.ok() && call.name.operation == kGet) {
    auto object = link_->Readable(answer.offset, answer.size);
    if (!object.ok()) return false;
    told.object = *object;
    told.pin = MakePin(link_, answer.number);
  }
  call.observer->OnAnswer(std::move(told));
  return true;
}

bool SocketBackend::TakeReport(const client_message::ReportAnswer& report) {
  const auto observer = std::dynamic_pointer_cast<ReportObserver>(
      Find(report.number, /*answered=*/true).observer);
  if (observer != nullptr) observer->OnReport(NodeReportFromJson(report.json));
  return true;
}

// --- The end. ---------------------------------------------------------------

absl::Status SocketBackend::EndError(const Call& call) const {
  return CallError(ended_.code(), call.name, ended_.message());
}

void SocketBackend::EndAll(absl::StatusCode code, const std::string& why) {
  std::vector<std::pair<Call, absl::Status>> ended;
  {
    MutexLock lock(mutex_);
    if (ended_.ok()) ended_ = absl::Status(code, why);
    for (auto& [number, call] : calls_) {
      absl::Status status = EndError(call);
      ended.emplace_back(std::move(call), std::move(status));
      link_->Send(client_message::Cancel{.number = number});
    }
    calls_.clear();
  }
  for (auto& [call, status] : ended) {
    call.observer->OnAnswer(
        {.status = std::move(status), .object = {}, .pin = {}, .sources = {}});
  }
}

void SocketBackend::Shutdown() {
  EndAll(absl::StatusCode::kCancelled, "this client is shutting down");
  MutexLock lock(join_mutex_);
  stopping_ = true;
  link_->Wake();
  if (reader_.joinable()) reader_.join();
}

}  // namespace hoplite
