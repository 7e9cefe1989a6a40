#include "hoplite/api/socket_backend.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/digest.h"
#include "hoplite/base/mutex.h"
#include "hoplite/base/testing/status_matchers.h"
#include "hoplite/runtime/client_service.h"
#include "hoplite/runtime/socket_folder.h"
#include "hoplite/store/object_store.h"

namespace hoplite {
namespace {

using ::testing::HasSubstr;

// A node that hands out room and answers nothing, until it is told to.
class SilentNode final : public RequestPort {
 public:
  explicit SilentNode(const std::string& folder) {
    store_ = *ObjectStore::Create({.capacity_bytes = 4 << 20});
    service_ = *ClientService::Listen(absl::StrCat(folder, "/node.sock"), this,
                                      store_.get());
    service_->Serve();
  }
  ~SilentNode() override { service_.reset(); }

  RequestId NewRequest() override {
    MutexLock lock(mutex_);
    return RequestId(++last_);
  }
  void Submit(Event event, std::shared_ptr<RequestObserver> observer) override {
    if (const auto* put = std::get_if<event::PutRequested>(&event)) {
      observer->OnRoom(*store_->Allocate(BufferId(1), put->size));
    }
    MutexLock lock(mutex_);
    observers_.push_back(std::move(observer));
    changed_.NotifyAll();
  }
  void Filled(RequestId /*request*/) override {}
  void Cancel(RequestId /*request*/) override {}
  NodeReport Report() override { return {}; }

  // Waits for the first request and answers it with an object of `size`.
  void AnswerFirst(std::uint64_t size) {
    std::shared_ptr<RequestObserver> observer;
    {
      MutexLock lock(mutex_);
      while (observers_.empty()) changed_.Wait(mutex_);
      observer = observers_.front();
    }
    observer->OnAnswer({.status = absl::OkStatus(),
                        .object = *store_->Allocate(BufferId(2), size),
                        .sources = {}});
  }
  std::size_t buffer_count() const { return store_->buffer_count(); }
  const std::string& socket_path() const { return service_->socket_path(); }

 private:
  std::unique_ptr<ObjectStore> store_;
  std::unique_ptr<ClientService> service_;
  Mutex mutex_;
  CondVar changed_;
  std::uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::shared_ptr<RequestObserver>> observers_
      ABSL_GUARDED_BY(mutex_);
};

class SocketBackendTest : public ::testing::Test {
 protected:
  SocketBackendTest() {
    std::string path = absl::StrCat(
        std::filesystem::temp_directory_path().string(), "/hopliteXXXXXX");
    folder_ = mkdtemp(path.data());
    node_ = std::make_unique<SilentNode>(folder_);
    client_ = *Client::Connect(node_->socket_path());
  }
  ~SocketBackendTest() override {
    client_.reset();
    node_.reset();
    std::filesystem::remove_all(folder_);
  }

  const ObjectId id_ = IdFromName("x");
  std::string folder_;
  std::unique_ptr<SilentNode> node_;
  std::unique_ptr<Client> client_;
};

TEST_F(SocketBackendTest, ACallOfASilentNodeEndsSoonAfterItsDeadline) {
  const CallOptions soon{.timeout = absl::Milliseconds(20)};
  const auto says_why = StatusIs(absl::StatusCode::kDeadlineExceeded,
                                 HasSubstr("has not answered"));
  EXPECT_THAT(client_->Get(id_, soon), says_why);
  EXPECT_THAT(client_->Put(id_, {}, soon), says_why);
  EXPECT_THAT(client_->Put(id_, std::vector<std::byte>(1 << 20), soon),
              says_why);
  EXPECT_THAT(client_->Delete(id_, soon), says_why);
}

TEST_F(SocketBackendTest, CancelAndShutdownDoNotWaitForTheNode) {
  const Future<Buffer> cancelled = client_->GetAsync(id_);
  const Future<Buffer> shut_down = client_->GetAsync(id_);
  cancelled.Cancel();
  EXPECT_TRUE(cancelled.Ready());
  client_->Shutdown();
  EXPECT_TRUE(shut_down.Ready());
  for (const Future<Buffer>& future : {cancelled, shut_down}) {
    EXPECT_THAT(future.Get(),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr(id_.ToHex())));
  }
}

TEST_F(SocketBackendTest, WhenItsNodeIsGoneCallsEndAndSaySo) {
  const Future<Buffer> waits = client_->GetAsync(id_);
  node_.reset();
  const auto gone =
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("is gone"));
  EXPECT_THAT(waits.Get(), gone);
  EXPECT_THAT(client_->Get(id_), gone);
  EXPECT_THAT(client_->Put(id_, {}), gone);
  EXPECT_THAT(client_->Report(), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(SocketBackendTest, AnObjectThatNobodyWantsAnyMoreIsLetGo) {
  const Future<Buffer> get = client_->GetAsync(id_);
  get.Cancel();
  node_->AnswerFirst(1000);
  // The node hears of a report after the release.
  while (node_->buffer_count() != 0) ASSERT_THAT(client_->Report(), IsOk());
}

TEST_F(SocketBackendTest, AnObjectIsReadWhereItLiesAndLetGoWithItsLastCopy) {
  const Future<Buffer> get = client_->GetAsync(id_);
  node_->AnswerFirst(1000);
  {
    const auto buffer = get.Get();
    ASSERT_THAT(buffer, IsOk());
    EXPECT_EQ(buffer->size(), 1000U);
    EXPECT_EQ(node_->buffer_count(), 1U);
  }
  EXPECT_THAT(client_->Report(), IsOk());
  EXPECT_EQ(node_->buffer_count(), 1U);  // the future has it still
}

TEST_F(SocketBackendTest, ConnectWaitsForNoNodeLongerThanAsked) {
  const std::string path = absl::StrCat(folder_, "/stopped.sock");
  const auto listener = ListenAtSocket(path);
  ASSERT_THAT(listener, IsOk());
  EXPECT_THAT(Client::Connect(path, {.timeout = absl::Milliseconds(20)}),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr(path)));
  EXPECT_THAT(Client::Connect(path, {.timeout = absl::ZeroDuration()}),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST_F(SocketBackendTest, WhereNoNodeListensConnectSaysSo) {
  EXPECT_THAT(Client::Connect(absl::StrCat(folder_, "/none.sock")),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("none.sock")));
}

}  // namespace
}  // namespace hoplite
