#include "hoplite/net/exchange_call.h"

#include "hoplite/net/grpc_settings.h"

namespace hoplite {
namespace {

class OpenedExchange : public ExchangeCall {
 public:
  OpenedExchange(const HostPort& address, grpc::CompletionQueue* queue)
      : channel_(MakeChannel(address)),
        stub_(wire::Control::NewStub(channel_)) {
    // The headers go with the first batch. Who cannot connect at once is told.
    context_.set_initial_metadata_corked(true);
    context_.set_wait_for_ready(false);
    stream_ = stub_->PrepareAsyncExchange(&context_, queue);
  }

  void Read(wire::Batch* batch, Operation* done) override {
    stream_->Read(batch, done->Tag());
  }
  void Write(const wire::Batch& batch, Operation* done) override {
    if (!started_) {
      started_ = true;
      stream_->StartCall(nullptr);  // corked: has no completion of its own
    }
    stream_->Write(batch, done->Tag());
  }
  void Cancel() override { context_.TryCancel(); }
  void Finish(grpc::Status* status, Operation* done) override {
    stream_->Finish(status, done->Tag());
  }

 private:
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<wire::Control::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<wire::Batch, wire::Batch>>
      stream_;
  bool started_ = false;
};

}  // namespace

std::unique_ptr<ExchangeCall> OpenExchange(const HostPort& address,
                                           grpc::CompletionQueue* queue) {
  return std::make_unique<OpenedExchange>(address, queue);
}

void AcceptedExchange::Accept(wire::Control::AsyncService* service,
                              grpc::ServerCompletionQueue* queue,
                              Operation* done) {
  service->RequestExchange(&context_, &stream_, queue, queue, done->Tag());
}

void AcceptedExchange::Read(wire::Batch* batch, Operation* done) {
  stream_.Read(batch, done->Tag());
}

void AcceptedExchange::Write(const wire::Batch& batch, Operation* done) {
  stream_.Write(batch, done->Tag());
}

void AcceptedExchange::Cancel() { context_.TryCancel(); }

void AcceptedExchange::Finish(grpc::Status* status, Operation* done) {
  stream_.Finish(*status, done->Tag());
}

}  // namespace hoplite
