#include <cstring>
#include <string>
#include <utility>

#include "hoplite/api/backend.h"
#include "hoplite/api/call_guard.h"
#include "hoplite/api/embedded_backend.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/api/put_call.h"
#include "hoplite/api/socket_backend.h"
#include "hoplite/base/payload.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/core/config.h"
#include "hoplite/runtime/background_thread.h"
#include "hoplite/runtime/clock.h"
#include "hoplite/runtime/request_port.h"
#include "hoplite/runtime/socket_folder.h"

namespace hoplite {
namespace {

absl::Time DeadlineOf(absl::Duration timeout) {
  return SystemClock::Now() + timeout;
}

template <typename Result>
Future<void> ReadyFuture(Result result) {
  auto state = std::make_shared<FutureState<absl::Status>>();
  state->Set(std::move(result));
  return Future<void>(std::move(state));
}

// A call whose whole answer comes at once: all but a Put into a room.
template <typename T>
class SimpleCall final : public CallObserver {
 public:
  using State = FutureState<typename Future<T>::Result>;

  explicit SimpleCall(std::shared_ptr<State> state)
      : state_(std::move(state)) {}

  void OnAnswer(CallAnswer answer) override {
    if (!answer.status.ok()) {
      state_->Fail(std::move(answer.status));
    } else if constexpr (std::is_same_v<T, Buffer>) {
      state_->Set(Buffer(answer.object, std::move(answer.pin)));
    } else if constexpr (std::is_same_v<T, ReduceResult>) {
      state_->Set(ReduceResult{.sources = std::move(answer.sources)});
    } else {
      state_->Set(absl::OkStatus());
    }
  }

 private:
  const std::shared_ptr<State> state_;
};

// Starts the request, which has no number yet.
template <typename T, typename Request>
Future<T> StartCall(const std::shared_ptr<Backend>& backend,
                    absl::string_view operation, const ObjectId& object,
                    Request request) {
  using State = typename SimpleCall<T>::State;
  auto state = std::make_shared<State>();
  request.request = backend->NewRequest();
  const RequestId number = request.request;
  const CallName name{.operation = operation,
                      .object = object,
                      .began = SystemClock::Now(),
                      .deadline = request.deadline};
  Event event = std::move(request);
  if (absl::Status status = ValidateRequest(event); !status.ok()) {
    state->Fail(std::move(status));
    return Future<T>(std::move(state));
  }
  // The state holds what ends it, so that must not hold the state.
  const std::weak_ptr<State> weak_state = state;
  const std::weak_ptr<Backend> weak_backend = backend;
  const auto end = [=](const absl::Status& status) {
    if (const auto living = weak_backend.lock()) living->Cancel(number);
    if (const auto ended = weak_state.lock()) ended->Fail(status);
  };
  state->Prepare([=] { end(CancelledError(name)); }, GuardOf(name.deadline),
                 [=] { end(ExpiredError(name)); });
  backend->Submit(std::move(event), std::make_shared<SimpleCall<T>>(state));
  return Future<T>(std::move(state));
}

bool FitsInOneMessage(std::span<const std::byte> data) {
  return data.size() <= kInlineBytesMax;
}

// The whole object in one message.
event::PutRequested SmallPut(const ObjectId& id,
                             std::span<const std::byte> data,
                             absl::Duration timeout) {
  std::string bytes(data.size(), '\0');
  if (!data.empty()) std::memcpy(bytes.data(), data.data(), data.size());
  return {.request = {},
          .object = id,
          .size = data.size(),
          .deadline = DeadlineOf(timeout),
          .payload = MakePayload(std::move(bytes))};
}

// A Put into a room, started. Errors: what ValidateRequest says.
absl::StatusOr<std::shared_ptr<PutCall>> StartPut(
    const std::shared_ptr<Backend>& backend, const ObjectId& id,
    std::uint64_t size, const CreateOptions& options) {
  event::PutRequested put{.request = backend->NewRequest(),
                          .object = id,
                          .size = size,
                          .deadline = DeadlineOf(options.timeout),
                          .payload = nullptr,
                          .streams = options.streams};
  HOPLITE_RETURN_IF_ERROR(ValidateRequest(Event(put)));
  auto call = std::make_shared<PutCall>(backend, std::move(put));
  call->Start();
  return call;
}

}  // namespace

// Fills the rooms of PutAsync, one after another.
class PutWriter : public BackgroundThread {};

Client::Client(std::shared_ptr<Backend> backend)
    : backend_(std::move(backend)), writer_(std::make_shared<PutWriter>()) {}

Client::~Client() { Shutdown(); }

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(
    absl::string_view socket_path, CallOptions options) {
  std::string path(socket_path);
  if (path.empty()) {
    HOPLITE_ASSIGN_OR_RETURN(path, FindNodeSocket());
  }
  HOPLITE_ASSIGN_OR_RETURN(
      std::shared_ptr<SocketBackend> backend,
      SocketBackend::Connect(std::move(path), options.timeout));
  return std::make_unique<Client>(std::move(backend));
}

absl::StatusOr<std::unique_ptr<Client>> Client::Embed(
    const NodeOptions& options) {
  HOPLITE_ASSIGN_OR_RETURN(std::unique_ptr<NodeServer> node,
                           NodeServer::Start(options));
  return std::make_unique<Client>(
      std::make_shared<EmbeddedBackend>(std::move(node)));
}

void Client::Shutdown() {
  // The calls end first: then nothing is left to be written.
  backend_->Shutdown();
  writer_->Stop();
}

absl::StatusOr<NodeReport> Client::Report(CallOptions options) {
  return backend_->Report(options.timeout);
}

// --- Put. -------------------------------------------------------------------

absl::Status Client::Put(const ObjectId& id, std::span<const std::byte> data,
                         CallOptions options) {
  if (FitsInOneMessage(data)) return PutAsync(id, data, options).Get();
  HOPLITE_ASSIGN_OR_RETURN(
      const std::shared_ptr<PutCall> call,
      StartPut(backend_, id, data.size(), {.timeout = options.timeout}));
  if (call->room_ready().Get().ok()) call->CopyAndSeal(data);
  return call->done().Get();
}

Future<void> Client::PutAsync(const ObjectId& id,
                              std::span<const std::byte> data,
                              CallOptions options) {
  if (FitsInOneMessage(data)) {
    return StartCall<void>(backend_, "Put", id,
                           SmallPut(id, data, options.timeout));
  }
  auto call = StartPut(backend_, id, data.size(), {.timeout = options.timeout});
  if (!call.ok()) return ReadyFuture(call.status());
  const std::weak_ptr<PutCall> weak = *call;
  (*call)->room_ready().Then(
      [weak, data, writer = writer_](const absl::Status& ready) {
        const std::shared_ptr<PutCall> ready_call = weak.lock();
        if (!ready.ok() || ready_call == nullptr) return;
        const bool will_be_done =
            writer->Do([ready_call, data] { ready_call->CopyAndSeal(data); });
        if (!will_be_done) ready_call->Abandon();
      });
  return (*call)->done();
}

absl::StatusOr<WritableBuffer> Client::Create(const ObjectId& id,
                                              std::uint64_t size,
                                              CreateOptions options) {
  HOPLITE_ASSIGN_OR_RETURN(std::shared_ptr<PutCall> call,
                           StartPut(backend_, id, size, options));
  HOPLITE_RETURN_IF_ERROR(call->room_ready().Get());
  return WritableBuffer(std::move(call));
}

// --- The others. ------------------------------------------------------------

absl::StatusOr<Buffer> Client::Get(const ObjectId& id, CallOptions options) {
  return GetAsync(id, options).Get();
}
Future<Buffer> Client::GetAsync(const ObjectId& id, CallOptions options) {
  return StartCall<Buffer>(
      backend_, "Get", id,
      event::GetRequested{.request = {},
                          .object = id,
                          .deadline = DeadlineOf(options.timeout)});
}

absl::Status Client::Delete(const ObjectId& id, CallOptions options) {
  return DeleteAsync(id, options).Get();
}
Future<void> Client::DeleteAsync(const ObjectId& id, CallOptions options) {
  return StartCall<void>(
      backend_, "Delete", id,
      event::DeleteRequested{.request = {},
                             .object = id,
                             .deadline = DeadlineOf(options.timeout)});
}

absl::StatusOr<ReduceResult> Client::Reduce(const ObjectId& target,
                                            std::span<const ObjectId> sources,
                                            ReduceOptions options) {
  return ReduceAsync(target, sources, options).Get();
}
Future<ReduceResult> Client::ReduceAsync(const ObjectId& target,
                                         std::span<const ObjectId> sources,
                                         ReduceOptions options) {
  return StartCall<ReduceResult>(
      backend_, "Reduce", target,
      event::ReduceRequested{
          .request = {},
          .target = target,
          .sources = std::vector<ObjectId>(sources.begin(), sources.end()),
          .count = options.count.value_or(
              static_cast<std::uint32_t>(sources.size())),
          .op = options.op,
          .type = options.type,
          .deadline = DeadlineOf(options.timeout)});
}

}  // namespace hoplite
