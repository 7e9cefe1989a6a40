// What futures, callbacks, deadlines and Shutdown promise, in both forms of a
// client.

#include <atomic>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/api/client_contract.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/testing/status_matchers.h"

namespace hoplite {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

INSTANTIATE_TEST_SUITE_P(Forms, ClientContractTest, ::testing::ValuesIn(kForms),
                         NameOfForm);

// pytorch/gloo#511: a timeout did not say of which operation and node.
TEST_P(ClientContractTest, AnErrorSaysAllThatIsKnown) {
  StartNode();
  const ObjectId id = NewId();
  const auto got = client(0).Get(id, {.timeout = absl::Milliseconds(50)});
  EXPECT_THAT(got,
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       AllOf(HasSubstr("Get of"), HasSubstr(id.ToHex()),
                             HasSubstr("on node 1"), HasSubstr("bytes done"),
                             HasSubstr("deadline 0.050s"))));
}

TEST_P(ClientContractTest, NoCallOutlivesItsDeadline) {
  StartNode();
  const absl::Time begin = absl::Now();
  const std::vector<ObjectId> sources = {NewId(), NewId()};
  EXPECT_THAT(
      client(0).Reduce(NewId(), sources, {.timeout = absl::Milliseconds(30)}),
      StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_THAT(client(0).Get(NewId(), {.timeout = absl::ZeroDuration()}),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(5));
}

TEST_P(ClientContractTest, ACancelledGetEndsAndTheNextOneWorks) {
  StartNode();
  const ObjectId id = NewId();
  const Future<Buffer> waits = client(0).GetAsync(id);
  EXPECT_FALSE(waits.Wait(absl::Now() + absl::Milliseconds(20)));
  waits.Cancel();
  EXPECT_THAT(waits.Get(),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr(id.ToHex())));
  ASSERT_THAT(client(0).Put(id, Pattern(5, 5), {.timeout = kPatience}), IsOk());
  EXPECT_THAT(client(0).Get(id, {.timeout = kPatience}), IsOk());
}

TEST_P(ClientContractTest, ACallbackComesOnceWithTheResult) {
  StartNode();
  const ObjectId id = NewId();
  std::atomic<int> calls = 0;
  const Future<Buffer> get = client(0).GetAsync(id, {.timeout = kPatience});
  get.Then([&](const absl::StatusOr<Buffer>& got) {
    EXPECT_THAT(got, IsOk());
    ++calls;
  });
  EXPECT_EQ(calls, 0);
  ASSERT_THAT(client(0).Put(id, Pattern(5, 5), {.timeout = kPatience}), IsOk());
  ASSERT_TRUE(get.Wait(absl::Now() + kPatience));
  get.Then([&](const absl::StatusOr<Buffer>&) { ++calls; });
  // The first callback may still be running on another thread.
  while (calls < 2) std::this_thread::yield();
  EXPECT_EQ(calls, 2);
}

TEST_P(ClientContractTest, ACallbackMayStartTheNextCall) {
  StartNode();
  const ObjectId first = NewId();
  const ObjectId second = NewId();
  std::atomic<bool> put = false;
  client(0)
      .GetAsync(first, {.timeout = kPatience})
      .Then([&](const absl::StatusOr<Buffer>& got) {
        ASSERT_THAT(got, IsOk());
        client(0)
            .PutAsync(second, got->bytes(), {.timeout = kPatience})
            .Then([&](const absl::Status& status) {
              EXPECT_THAT(status, IsOk());
              put = true;
            });
      });
  ASSERT_THAT(client(0).Put(first, Pattern(50, 5), {.timeout = kPatience}),
              IsOk());
  EXPECT_THAT(client(0).Get(second, {.timeout = kPatience}), IsOk());
  while (!put) std::this_thread::yield();
}

TEST_P(ClientContractTest, TheFirstKOfNAreNamedInTheOrderTheyCame) {
  StartNode();
  const std::vector<ObjectId> ids = {NewId(), NewId(), NewId(), NewId()};
  std::vector<Future<Buffer>> gets;
  for (const ObjectId& id : ids) gets.push_back(client(0).GetAsync(id));
  const std::span<const Future<Buffer>> all(gets);
  EXPECT_THAT(WaitForFirst(all, 1, absl::Now()), IsEmpty());
  for (const int i : {2, 0, 3}) {
    ASSERT_THAT(client(0).Put(ids[i], Pattern(9, i), {.timeout = kPatience}),
                IsOk());
    ASSERT_TRUE(gets[i].Wait(absl::Now() + kPatience));
  }
  EXPECT_THAT(WaitForFirst(all, 2, absl::Now() + kPatience), ElementsAre(2, 0));
  EXPECT_THAT(WaitForFirst(all, 9, absl::Now() + absl::Milliseconds(20)),
              ElementsAre(2, 0, 3));
  gets[1].Cancel();
  EXPECT_THAT(WaitForFirst(all, 9), ElementsAre(2, 0, 3, 1));
}

// NVIDIA/nccl#585: what was blocked stayed blocked at an abort.
TEST_P(ClientContractTest, ShutdownEndsWhatIsBlocked) {
  StartNode();
  std::vector<ObjectId> ids = {NewId(), NewId()};
  std::thread blocked([&] {
    EXPECT_THAT(client(0).Get(ids[0]), StatusIs(absl::StatusCode::kCancelled));
  });
  const auto reduction = client(0).ReduceAsync(NewId(), ids);
  auto buffer = client(0).Create(ids[1], 1 << 20, {.timeout = kPatience});
  ASSERT_THAT(buffer, IsOk());
  const absl::Time begin = absl::Now();
  client(0).Shutdown();
  EXPECT_THAT(reduction.Get(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(buffer->Seal(), StatusIs(absl::StatusCode::kCancelled));
  blocked.join();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(3));
  EXPECT_THAT(client(0).Get(ids[0]), StatusIs(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace hoplite
