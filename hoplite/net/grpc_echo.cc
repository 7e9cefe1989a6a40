#include "hoplite/net/grpc_echo.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hoplite/base/mutex.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/net/grpc_settings.h"
#include "hoplite/net/host_port.h"

namespace hoplite {
namespace {

// One stream at the server: it is being read or written, by turns.
struct EchoStream {
  enum class State { kAccepting, kReading, kWriting, kFinishing };
  grpc::GenericServerContext context;
  grpc::GenericServerAsyncReaderWriter stream{&context};
  grpc::ByteBuffer bytes;
  State state = State::kAccepting;
};

class EchoServerImpl : public EchoServer {
 public:
  ~EchoServerImpl() override {
    if (server_ != nullptr) {
      // tidy-allow(clock): at once, in the words of gRPC's interface
      server_->Shutdown(std::chrono::system_clock::now());
    }
    if (queue_ != nullptr) {
      MutexLock lock(mutex_);
      closed_ = true;
      queue_->Shutdown();
    }
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Open(HostPort listen) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddListeningPort(listen.ToString(),
                             grpc::InsecureServerCredentials(), &port);
    builder.RegisterAsyncGenericService(&service_);
    queue_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port == 0) {
      return absl::UnavailableError(
          absl::StrCat("cannot listen on ", listen.ToString()));
    }
    listen.port = static_cast<std::uint16_t>(port);
    address_ = listen.ToString();
    thread_ = std::thread([this] { Run(); });
    return absl::OkStatus();
  }

  std::string address() const override { return address_; }

 private:
  void Run() {
    {
      MutexLock lock(mutex_);
      if (!closed_) Accept();
    }
    void* tag = nullptr;
    bool ok = false;
    while (queue_->Next(&tag, &ok)) {
      MutexLock lock(mutex_);
      Proceed(static_cast<EchoStream*>(tag), ok);
    }
  }

  void Accept() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    auto owned = std::make_unique<EchoStream>();
    EchoStream* const stream = owned.get();
    streams_.emplace(stream, std::move(owned));
    service_.RequestCall(&stream->context, &stream->stream, queue_.get(),
                         queue_.get(), stream);
  }

  void Proceed(EchoStream* stream, bool ok)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    using State = EchoStream::State;
    if (closed_) {  // its call is cancelled, and the queue takes nothing
      streams_.erase(stream);
      return;
    }
    switch (stream->state) {
      case State::kAccepting:
        if (!ok) {
          streams_.erase(stream);
          return;
        }
        Accept();
        [[fallthrough]];
      case State::kWriting:
        if (ok) {
          stream->state = State::kReading;
          stream->stream.Read(&stream->bytes, stream);
          return;
        }
        break;
      case State::kReading:
        if (ok) {
          stream->state = State::kWriting;
          stream->stream.Write(stream->bytes, stream);
          return;
        }
        break;
      case State::kFinishing:
        streams_.erase(stream);
        return;
    }
    stream->state = State::kFinishing;
    stream->stream.Finish(grpc::Status::OK, stream);
  }

  std::string address_;
  grpc::AsyncGenericService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;  // the queue is shut down
  std::map<EchoStream*, std::unique_ptr<EchoStream>> streams_
      ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

class EchoClientImpl : public EchoClient {
 public:
  explicit EchoClientImpl(const HostPort& address)
      : address_(address.ToString()),
        stub_(grpc::CreateChannel(ToGrpcTarget(address),
                                  grpc::InsecureChannelCredentials())),
        stream_(stub_.PrepareCall(&context_, "/hoplite.Echo/Echo", &queue_)) {}
  ~EchoClientImpl() override {
    context_.TryCancel();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  absl::Status Open() {
    stream_->StartCall(nullptr);
    return Await(1);
  }

  absl::StatusOr<std::string> Echo(absl::string_view bytes) override {
    const grpc::Slice slice(bytes.data(), bytes.size());
    stream_->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    grpc::ByteBuffer answer;
    stream_->Read(&answer, nullptr);
    HOPLITE_RETURN_IF_ERROR(Await(2));
    grpc::Slice joined;
    if (!answer.DumpToSingleSlice(&joined).ok()) return Broken();
    return std::string(reinterpret_cast<const char*>(joined.begin()),
                       joined.size());
  }

 private:
  absl::Status Broken() const {
    return absl::UnavailableError(
        absl::StrCat("the echo at ", address_, " does not answer"));
  }
  absl::Status Await(int operations) {
    bool all_ok = true;
    for (int i = 0; i < operations; ++i) {
      void* tag = nullptr;
      bool ok = false;
      if (!queue_.Next(&tag, &ok)) return Broken();
      all_ok = all_ok && ok;
    }
    return all_ok ? absl::OkStatus() : Broken();
  }

  const std::string address_;
  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  grpc::GenericStub stub_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<EchoServer>> EchoServer::Listen(
    absl::string_view listen) {
  HOPLITE_ASSIGN_OR_RETURN(HostPort address, HostPort::Parse(listen));
  auto server = std::make_unique<EchoServerImpl>();
  HOPLITE_RETURN_IF_ERROR(server->Open(std::move(address)));
  return server;
}

absl::StatusOr<std::unique_ptr<EchoClient>> EchoClient::Connect(
    absl::string_view address) {
  HOPLITE_ASSIGN_OR_RETURN(const HostPort parsed, HostPort::Parse(address));
  auto client = std::make_unique<EchoClientImpl>(parsed);
  HOPLITE_RETURN_IF_ERROR(client->Open());
  return client;
}

}  // namespace hoplite
