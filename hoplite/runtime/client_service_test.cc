#include "hoplite/runtime/client_service.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "hoplite/base/digest.h"
#include "hoplite/base/mutex.h"
#include "hoplite/base/random.h"
#include "hoplite/base/testing/status_matchers.h"
#include "hoplite/runtime/client_protocol.h"

namespace hoplite {
namespace {

namespace m = client_message;

// Answers Gets with a small buffer at once; lets everything else wait.
class FakePort final : public RequestPort {
 public:
  explicit FakePort(ObjectStore* store) : store_(store) {}

  RequestId NewRequest() override {
    MutexLock lock(mutex_);
    return RequestId(++last_);
  }
  void Submit(Event event, std::shared_ptr<RequestObserver> observer) override {
    if (std::holds_alternative<event::GetRequested>(event)) {
      observer->OnAnswer({.status = absl::OkStatus(),
                          .object = *store_->Allocate(BufferId(1), 64),
                          .sources = {}});
    } else if (const auto* put = std::get_if<event::PutRequested>(&event)) {
      MutexLock lock(mutex_);
      waiting_[put->request] = observer;
      observer->OnRoom(*store_->Allocate(BufferId(1), put->size));
    }
  }
  void Filled(RequestId request) override {
    MutexLock lock(mutex_);
    waiting_[request]->OnAnswer(
        {.status = absl::OkStatus(), .object = nullptr, .sources = {}});
    waiting_.erase(request);
  }
  void Cancel(RequestId request) override {
    MutexLock lock(mutex_);
    if (const auto waits = waiting_.extract(request)) {
      waits.mapped()->OnAnswer({.status = absl::CancelledError("cancelled"),
                                .object = nullptr,
                                .sources = {}});
    }
    cancelled_.push_back(request);
    changed_.NotifyAll();
  }
  NodeReport Report() override { return {}; }

  void AwaitCancelled(std::size_t count) {
    MutexLock lock(mutex_);
    while (cancelled_.size() < count) changed_.Wait(mutex_);
  }

 private:
  ObjectStore* const store_;
  Mutex mutex_;
  CondVar changed_;
  std::uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<RequestId, std::shared_ptr<RequestObserver>> waiting_
      ABSL_GUARDED_BY(mutex_);
  std::vector<RequestId> cancelled_ ABSL_GUARDED_BY(mutex_);
};

// A worker that sends whatever it is told.
class Worker {
 public:
  explicit Worker(const std::string& path) {
    auto socket = ConnectToSocket(path);
    EXPECT_THAT(socket, IsOk());
    socket_ = *std::move(socket);
  }
  void SendBytes(absl::string_view bytes) {
    send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  void Send(const ClientMessage& message) { SendBytes(EncodeFrame(message)); }
  void Greet() {
    Send(m::Hello{});
    EXPECT_TRUE(std::holds_alternative<m::Welcome>(*Receive()));
  }
  // nullopt: the node has closed the connection.
  std::optional<ClientMessage> Receive() {
    const std::string header = Read(4);
    if (header.size() < 4) return std::nullopt;
    std::uint32_t length = 0;
    for (int i = 0; i < 4; ++i) {
      length |= std::uint32_t{static_cast<unsigned char>(header[i])} << (8 * i);
    }
    return DecodeFrame(Read(length));
  }
  bool IsClosed() { return !Receive().has_value(); }

 private:
  std::string Read(std::size_t size) {
    std::string bytes(size, '\0');
    std::size_t done = 0;
    while (done < size) {
      const ssize_t count =
          recv(socket_.get(), bytes.data() + done, size - done, 0);
      if (count <= 0) break;
      done += static_cast<std::size_t>(count);
    }
    bytes.resize(done);
    return bytes;
  }

  FileDescriptor socket_;
};

class ClientServiceTest : public ::testing::Test {
 protected:
  ClientServiceTest() {
    std::string path = absl::StrCat(
        std::filesystem::temp_directory_path().string(), "/hopliteXXXXXX");
    folder_ = mkdtemp(path.data());
    store_ = *ObjectStore::Create({.capacity_bytes = 1 << 20});
    port_ = std::make_unique<FakePort>(store_.get());
    service_ = *ClientService::Listen(absl::StrCat(folder_, "/node.sock"),
                                      port_.get(), store_.get());
    service_->Serve();
  }
  ~ClientServiceTest() override {
    service_.reset();
    std::filesystem::remove_all(folder_);
  }
  const std::string& path() const { return service_->socket_path(); }

  std::string folder_;
  std::unique_ptr<ObjectStore> store_;
  std::unique_ptr<FakePort> port_;
  std::unique_ptr<ClientService> service_;
};

TEST_F(ClientServiceTest, AWorkerIsGreetedAndAnswered) {
  Worker worker(path());
  worker.Send(m::Hello{});
  const auto welcome = worker.Receive();
  ASSERT_TRUE(welcome.has_value());
  EXPECT_EQ(std::get<m::Welcome>(*welcome).store_capacity, 1U << 20);
  worker.Send(m::Get{.number = 7, .object = IdFromName("x")});
  const auto answer = std::get<m::Answer>(*worker.Receive());
  EXPECT_EQ(answer.number, 7U);
  EXPECT_EQ(answer.code, absl::StatusCode::kOk);
  EXPECT_EQ(answer.size, 64U);
  EXPECT_EQ(service_->connected(), 1U);
}

TEST_F(ClientServiceTest, APinEndsWithItsReleaseOrItsWorker) {
  Worker stays(path());
  stays.Greet();
  {
    Worker worker(path());
    worker.Greet();
    worker.Send(m::Get{.number = 1, .object = IdFromName("x")});
    worker.Send(m::Get{.number = 2, .object = IdFromName("y")});
    worker.Receive();
    worker.Receive();
    EXPECT_EQ(store_->buffer_count(), 2U);
    worker.Send(m::Release{.number = 1});
    worker.Send(m::ReportAsk{.number = 3});
    worker.Receive();
    EXPECT_EQ(store_->buffer_count(), 1U);
    worker.Send(m::Put{.number = 4, .object = IdFromName("z"), .size = 9});
    worker.Receive();
  }
  port_->AwaitCancelled(1);
  stays.Send(m::ReportAsk{.number = 1});
  stays.Receive();
  EXPECT_EQ(store_->buffer_count(), 0U);
}

// Else the memory would go to another object under the worker's hands.
TEST_F(ClientServiceTest, ARoomStaysUntilItsWorkerWritesNoMore) {
  Worker worker(path());
  worker.Greet();
  worker.Send(m::Put{.number = 1, .object = IdFromName("x"), .size = 100});
  EXPECT_TRUE(std::holds_alternative<m::Room>(*worker.Receive()));
  worker.Send(m::Cancel{.number = 1});
  EXPECT_EQ(std::get<m::Answer>(*worker.Receive()).code,
            absl::StatusCode::kCancelled);
  EXPECT_EQ(store_->buffer_count(), 1U);
  worker.Send(m::Advance{.number = 1, .to = 50});
  worker.Send(m::Release{.number = 1});
  worker.Send(m::ReportAsk{.number = 2});
  worker.Receive();
  EXPECT_EQ(store_->buffer_count(), 0U);
}

TEST_F(ClientServiceTest, ARoomMayGoBeforeItsPutIsAnswered) {
  Worker worker(path());
  worker.Greet();
  worker.Send(m::Put{.number = 1, .object = IdFromName("x"), .size = 100});
  worker.Receive();
  worker.Send(m::Release{.number = 1});
  worker.Send(m::ReportAsk{.number = 2});
  worker.Receive();
  EXPECT_EQ(store_->buffer_count(), 0U);
  worker.Send(m::Cancel{.number = 1});
  EXPECT_EQ(std::get<m::Answer>(*worker.Receive()).code,
            absl::StatusCode::kCancelled);
}

TEST_F(ClientServiceTest, WhatAWorkerMayNotSayEndsItsConnectionOnly) {
  const ObjectId id = IdFromName("x");
  const std::string long_frame("\xff\xff\xff\x7f", 4);
  const std::string empty_frame(4, '\0');
  std::vector<std::string> wrong = {
      long_frame,
      empty_frame,
      EncodeFrame(m::Hello{}),  // a second one
      EncodeFrame(m::Welcome{}),
      EncodeFrame(m::Room{}),
      EncodeFrame(m::Answer{}),
      EncodeFrame(m::Put{.number = 1, .object = id, .size = 5}) +
          EncodeFrame(m::Advance{.number = 1, .to = 6}),
      EncodeFrame(m::Put{.number = 1, .object = id, .size = 5}) +
          EncodeFrame(m::Put{.number = 1, .object = id, .size = 5}),
      EncodeFrame(m::Put{.number = 1, .object = id, .size = 5}) +
          EncodeFrame(m::Advance{.number = 1, .to = 3}) +
          EncodeFrame(m::Advance{.number = 1, .to = 2}),
      EncodeFrame(m::Put{.number = 1, .object = id, .size = 5}) +
          EncodeFrame(m::Release{.number = 1}) +
          EncodeFrame(m::Seal{.number = 1}),
      EncodeFrame(m::Get{.number = 1, .object = id}) +
          EncodeFrame(m::Seal{.number = 1}),
  };
  Worker good(path());
  good.Greet();
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    SCOPED_TRACE(i);
    Worker worker(path());
    worker.Greet();
    worker.SendBytes(wrong[i]);
    while (worker.Receive().has_value()) {
    }
    good.Send(m::Get{.number = i + 1, .object = id});
    EXPECT_EQ(std::get<m::Answer>(*good.Receive()).number, i + 1);
  }
}

TEST_F(ClientServiceTest, WhoDoesNotGreetIsShownTheDoor) {
  Worker worker(path());
  worker.Send(m::Get{.number = 1, .object = IdFromName("x")});
  EXPECT_TRUE(worker.IsClosed());
}

TEST_F(ClientServiceTest, AnotherVersionIsToldOurs) {
  Worker worker(path());
  worker.Send(m::Hello{.version = kClientProtocolVersion + 1});
  const auto welcome = worker.Receive();
  ASSERT_TRUE(welcome.has_value());
  EXPECT_EQ(std::get<m::Welcome>(*welcome).version, kClientProtocolVersion);
  EXPECT_TRUE(worker.IsClosed());
}

TEST_F(ClientServiceTest, ARequestThatCannotBeIsAnsweredWithWhy) {
  Worker worker(path());
  worker.Greet();
  worker.Send(m::Get{.number = 1, .object = ObjectId()});
  const auto answer = std::get<m::Answer>(*worker.Receive());
  EXPECT_EQ(answer.code, absl::StatusCode::kInvalidArgument);
  EXPECT_NE(answer.text, "");
}

TEST_F(ClientServiceTest, NoiseHarmsNobody) {
  const std::uint64_t seed = ::testing::UnitTest::GetInstance()->random_seed();
  SCOPED_TRACE(seed);
  Random random(seed);
  Worker good(path());
  good.Greet();
  for (int i = 0; i < 200; ++i) {
    Worker worker(path());
    if (random.Chance(1, 2)) worker.Greet();
    std::string noise(random.Between(1, 3000), '\0');
    for (char& byte : noise) byte = static_cast<char>(random.Next());
    worker.SendBytes(noise);
  }
  good.Send(m::Get{.number = 1, .object = IdFromName("x")});
  EXPECT_EQ(std::get<m::Answer>(*good.Receive()).number, 1U);
}

// ray-project/ray#26825: a process that has no file descriptor left must not
// spin at its door, and must recover.
TEST_F(ClientServiceTest, WithoutAFileDescriptorAWorkerIsRefusedAndLaterTaken) {
  Worker good(path());
  good.Greet();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  {
    std::vector<FileDescriptor> all;
    rlimit low = before;
    low.rlim_cur = 64;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
    for (;;) {
      FileDescriptor one(dup(0));
      if (!one) break;
      all.push_back(std::move(one));
    }
    all.pop_back();
    Worker refused(path());
    EXPECT_TRUE(refused.IsClosed());
    good.Send(m::Get{.number = 2, .object = IdFromName("x")});
    EXPECT_EQ(std::get<m::Answer>(*good.Receive()).number, 2U);
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  Worker later(path());
  later.Greet();
}

TEST_F(ClientServiceTest, ItsNameGoesWithIt) {
  const std::string path = service_->socket_path();
  EXPECT_TRUE(std::filesystem::exists(path));
  Worker worker(path);
  worker.Greet();
  service_->Stop();
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(worker.IsClosed());
}

}  // namespace
}  // namespace hoplite
