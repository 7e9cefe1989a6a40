// Calls that are cancelled, and clients and nodes that are shut down, while
// anything is blocked.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/testing/status_matchers.h"
#include "tests/cases/cases_cluster.h"

namespace hoplite {
namespace {

constexpr std::uint64_t kStore = 4 << 20;
// What is promised, and what a busy machine may add.
constexpr absl::Duration kEndsWithin = absl::Seconds(1);
constexpr absl::Duration kMargin = absl::Seconds(4);

auto IsCancelled() { return StatusIs(absl::StatusCode::kCancelled); }

// One blocked call of each kind, and a thread that waits for each.
class BlockedCalls {
 public:
  // REQUIRES: the store of the client's node is full of what is pinned.
  explicit BlockedCalls(Client& client)
      : bytes_(Pattern(kStore / 2, 1)),
        get_(client.GetAsync(NewId())),
        put_(client.PutAsync(NewId(), bytes_)),
        reduce_(client.ReduceAsync(NewId(), NewIds(3))) {
    Wait([this] { EXPECT_THAT(get_.Get(), IsCancelled()); });
    Wait([this] { EXPECT_THAT(put_.Get(), IsCancelled()); });
    Wait([this] { EXPECT_THAT(reduce_.Get(), IsCancelled()); });
    Wait([this] {
      const std::vector<Future<Buffer>> gets = {get_};
      EXPECT_EQ(WaitForFirst<Buffer>(gets, 1).size(), 1u);
    });
  }
  ~BlockedCalls() { Join(); }

  void Cancel() {
    get_.Cancel();
    put_.Cancel();
    reduce_.Cancel();
  }
  // Blocks until all have ended.
  void Join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  void Wait(std::function<void()> wait) {
    threads_.emplace_back(std::move(wait));
  }

  const std::vector<std::byte> bytes_;
  const Future<Buffer> get_;
  const Future<void> put_;
  const Future<ReduceResult> reduce_;
  std::vector<std::thread> threads_;
};

// Fills most of the store, for as long as what is returned lives.
Buffer FillStore(Client& client) {
  const ObjectId id = NewId();
  EXPECT_THAT(client.Put(id, Pattern(kStore * 3 / 4, 2), kPatiently), IsOk());
  auto got = client.Get(id, kPatiently);
  EXPECT_THAT(got, IsOk());
  return got.ok() ? *std::move(got) : Buffer();
}

void ExpectQuick(absl::Time begin) {
  EXPECT_LT(absl::Now() - begin, kEndsWithin + kMargin);
}

// C7. NVIDIA/nccl#585, #992, #863, #1777, #829, pytorch/pytorch#113281: others
// hung where one was killed, and so did what was to end them.
TEST(EndingCaseTest, CancelEndsWhateverIsBlocked) {
  const int rounds = IsSoak() ? 1000 : 50;
  CasesCluster cluster(2, kStore);
  const Buffer pin = FillStore(cluster[1]);
  for (int i = 0; i < rounds && !HasFailure(); ++i) {
    BlockedCalls calls(cluster[1]);
    const absl::Time begin = absl::Now();
    calls.Cancel();
    calls.Join();
    ExpectQuick(begin);
  }
  EXPECT_TRUE(Eventually(
      [&] { return cluster.Report(1).status.requests_waiting == 0; }));
}

// C7, the same, of a worker that leaves its node.
TEST(EndingCaseTest, ShutdownOfAClientEndsWhateverIsBlocked) {
  const int rounds = IsSoak() ? 1000 : 50;
  const auto node =
      Client::Embed({.store_bytes = kStore, .serve_clients = true});
  ASSERT_THAT(node, IsOk());
  const std::string socket = (*node)->Report()->socket_path;
  const Buffer pin = FillStore(**node);
  for (int i = 0; i < rounds && !HasFailure(); ++i) {
    const auto client = Client::Connect(socket);
    ASSERT_THAT(client, IsOk());
    BlockedCalls calls(**client);
    const absl::Time begin = absl::Now();
    (*client)->Shutdown();
    calls.Join();
    ExpectQuick(begin);
  }
  EXPECT_TRUE(Eventually([&] {
    const auto report = (*node)->Report();
    return report->status.requests_waiting == 0 &&
           report->counters.clients_connected == 0;
  }));
}

// C7, the same, of a node; and its neighbour lives on.
TEST(EndingCaseTest, ShutdownOfANodeEndsWhateverIsBlocked) {
  const int rounds = IsSoak() ? 1000 : 10;
  CasesCluster cluster(1, kStore);
  const std::string head = cluster.Report(0).control_address;
  const std::size_t descriptors = OpenDescriptors();
  for (int i = 0; i < rounds && !HasFailure(); ++i) {
    const auto node = Client::Embed({.join = head, .store_bytes = kStore});
    ASSERT_THAT(node, IsOk());
    const Buffer pin = FillStore(**node);
    BlockedCalls calls(**node);
    const absl::Time begin = absl::Now();
    (*node)->Shutdown();
    calls.Join();
    ExpectQuick(begin);
  }
  const ObjectId id = NewId();
  EXPECT_THAT(cluster[0].Put(id, Pattern(1000, 3), kPatiently), IsOk());
  EXPECT_TRUE(
      Eventually([&] { return cluster.Report(0).status.members.size() == 1; }));
  // gRPC opens some of its own as it gets busy; a leak would be one a round.
  const std::size_t allowed =
      descriptors + static_cast<std::size_t>(rounds) / 2;
  EXPECT_TRUE(Eventually([&] { return OpenDescriptors() <= allowed; }))
      << OpenDescriptors() << " of " << allowed;
}

}  // namespace
}  // namespace hoplite
