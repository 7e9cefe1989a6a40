#include "hoplite/api/embedded_backend.h"

#include <utility>
#include <variant>

#include "hoplite/store/object_buffer.h"

namespace hoplite {
namespace {

class EmbeddedRoom final : public CallRoom {
 public:
  EmbeddedRoom(std::shared_ptr<ObjectBuffer> buffer, NodeServer* node,
               RequestId request)
      : buffer_(std::move(buffer)), node_(node), request_(request) {}

  std::span<std::byte> bytes() override { return buffer_->data(); }
  void Advance(std::uint64_t to) override { buffer_->Advance(to); }
  void Fill() override {
    buffer_->Advance(buffer_->size());
    node_->Filled(request_);
  }

 private:
  const std::shared_ptr<ObjectBuffer> buffer_;
  NodeServer* const node_;
  const RequestId request_;
};

class Adapter final : public RequestObserver {
 public:
  Adapter(std::shared_ptr<CallObserver> observer, NodeServer* node,
          RequestId request)
      : observer_(std::move(observer)), node_(node), request_(request) {}

  void OnRoom(std::shared_ptr<ObjectBuffer> buffer) override {
    observer_->OnRoom(
        std::make_unique<EmbeddedRoom>(std::move(buffer), node_, request_));
  }
  void OnAnswer(RequestAnswer answer) override {
    CallAnswer call{.status = std::move(answer.status),
                    .object = {},
                    .pin = nullptr,
                    .sources = std::move(answer.sources)};
    if (answer.object != nullptr) {
      call.object = answer.object->bytes();
      call.pin = std::move(answer.object);
    }
    observer_->OnAnswer(std::move(call));
  }

 private:
  const std::shared_ptr<CallObserver> observer_;
  NodeServer* const node_;
  const RequestId request_;
};

}  // namespace

void EmbeddedBackend::Submit(Event event,
                             std::shared_ptr<CallObserver> observer) {
  const auto* put = std::get_if<event::PutRequested>(&event);
  const RequestId request = put == nullptr ? RequestId() : put->request;
  node_->Submit(
      std::move(event),
      std::make_shared<Adapter>(std::move(observer), node_.get(), request));
}

}  // namespace hoplite
