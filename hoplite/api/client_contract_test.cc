// What Client promises, asked of a node in the client's own process and of one
// behind its Unix socket alike.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/digest.h"
#include "hoplite/base/testing/status_matchers.h"
#include "hoplite/core/config.h"
#include "hoplite/runtime/node_server.h"

namespace hoplite {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr std::uint64_t kStoreBytes = 64 << 20;
// No call here takes longer, unless it hangs.
constexpr absl::Duration kPatience = absl::Seconds(30);

enum class Form { kEmbedded, kSocket };

std::vector<std::byte> Pattern(std::uint64_t size, std::uint8_t seed) {
  std::vector<std::byte> bytes(size);
  for (std::uint64_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>((i * 131 + (i >> 8) + seed) & 0xff);
  }
  return bytes;
}

std::vector<float> Floats(std::size_t count, float value) {
  std::vector<float> floats(count);
  for (std::size_t i = 0; i < count; ++i) {
    floats[i] = value + static_cast<float>(i % 1000);
  }
  return floats;
}

bool Equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::ranges::equal(a, b);
}

// A folder for sockets, gone with this.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string path = absl::StrCat(
        std::filesystem::temp_directory_path().string(), "/hopliteXXXXXX");
    path_ = mkdtemp(path.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A cluster in this process, and a client for each node.
class ClientContractTest : public ::testing::TestWithParam<Form> {
 protected:
  // Node 0 is the head.
  Client& StartNode(std::uint64_t store_bytes = kStoreBytes) {
    NodeOptions options{.join = head_address_, .store_bytes = store_bytes};
    if (GetParam() == Form::kEmbedded) {
      auto client = Client::Embed(options);
      EXPECT_THAT(client, IsOk());
      clients_.push_back(*std::move(client));
    } else {
      options.serve_clients = true;
      options.socket_path =
          absl::StrCat(sockets_.path(), "/", nodes_.size(), ".sock");
      auto node = NodeServer::Start(options);
      EXPECT_THAT(node, IsOk());
      nodes_.push_back(*std::move(node));
      auto client = Client::Connect(options.socket_path);
      EXPECT_THAT(client, IsOk());
      clients_.push_back(*std::move(client));
    }
    if (head_address_.empty()) {
      head_address_ = clients_.back()->Report()->control_address;
    }
    return *clients_.back();
  }
  void StartNodes(int count) {
    for (int i = 0; i < count; ++i) StartNode();
  }
  Client& client(int i) { return *clients_[i]; }
  ObjectId NewId() { return IdFromName(absl::StrCat("object ", ++last_id_)); }
  // Ends node `i` and its client.
  void StopNode(int i) {
    clients_[i].reset();
    if (GetParam() == Form::kSocket) nodes_[i].reset();
  }

 private:
  TemporaryFolder sockets_;
  std::string head_address_;
  std::vector<std::unique_ptr<NodeServer>> nodes_;
  std::vector<std::unique_ptr<Client>> clients_;
  int last_id_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Forms, ClientContractTest,
                         ::testing::Values(Form::kEmbedded, Form::kSocket),
                         [](const ::testing::TestParamInfo<Form>& form) {
                           return form.param == Form::kEmbedded ? "Embedded"
                                                                : "Socket";
                         });

constexpr std::uint64_t kSizes[] = {0,     1,      65535,   65536,
                                    65537, 100000, 3 << 20, (5 << 20) + 13};

TEST_P(ClientContractTest, WhatIsPutOnOneNodeIsGotOnTheSameAndOnAnother) {
  StartNodes(2);
  for (const std::uint64_t size : kSizes) {
    SCOPED_TRACE(size);
    const ObjectId id = NewId();
    const std::vector<std::byte> bytes = Pattern(size, 7);
    ASSERT_THAT(client(0).Put(id, bytes, {.timeout = kPatience}), IsOk());
    for (int i = 0; i < 2; ++i) {
      const auto got = client(i).Get(id, {.timeout = kPatience});
      ASSERT_THAT(got, IsOk());
      EXPECT_EQ(got->size(), size);
      EXPECT_TRUE(Equal(got->bytes(), bytes));
    }
  }
}

TEST_P(ClientContractTest, AGetWaitsForThePut) {
  StartNodes(2);
  const ObjectId id = NewId();
  const auto early = client(1).GetAsync(id, {.timeout = kPatience});
  EXPECT_FALSE(early.Ready());
  const std::vector<std::byte> bytes = Pattern(1 << 20, 3);
  ASSERT_THAT(client(0).PutAsync(id, bytes, {.timeout = kPatience}).Get(),
              IsOk());
  const auto got = early.Get();
  ASSERT_THAT(got, IsOk());
  EXPECT_TRUE(Equal(got->bytes(), bytes));
}

TEST_P(ClientContractTest, TwoGetsOnOneNodeReadTheSameMemory) {
  StartNodes(2);
  const ObjectId id = NewId();
  ASSERT_THAT(client(0).Put(id, Pattern(300000, 1), {.timeout = kPatience}),
              IsOk());
  const auto first = client(1).Get(id, {.timeout = kPatience});
  const auto second = client(1).Get(id, {.timeout = kPatience});
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ(first->data(), second->data());
}

TEST_P(ClientContractTest, ASecondPutOfAnIdIsRefused) {
  StartNodes(2);
  for (const std::uint64_t size : {10, 200000}) {
    SCOPED_TRACE(size);
    const ObjectId id = NewId();
    ASSERT_THAT(client(0).Put(id, Pattern(size, 1), {.timeout = kPatience}),
                IsOk());
    const absl::Status again =
        client(1).Put(id, Pattern(size, 2), {.timeout = kPatience});
    EXPECT_THAT(again, StatusIs(absl::StatusCode::kAlreadyExists,
                                HasSubstr(id.ToHex())));
    EXPECT_TRUE(Equal(client(1).Get(id, {.timeout = kPatience})->bytes(),
                      Pattern(size, 1)));
  }
}

TEST_P(ClientContractTest, ADeletedObjectIsNotFoundButStaysReadable) {
  StartNodes(2);
  for (const std::uint64_t size : {10, 200000}) {
    SCOPED_TRACE(size);
    const ObjectId id = NewId();
    const std::vector<std::byte> bytes = Pattern(size, 5);
    ASSERT_THAT(client(0).Put(id, bytes, {.timeout = kPatience}), IsOk());
    const auto held = client(1).Get(id, {.timeout = kPatience});
    ASSERT_THAT(held, IsOk());
    ASSERT_THAT(client(0).Delete(id, {.timeout = kPatience}), IsOk());
    EXPECT_THAT(client(0).Get(id, {.timeout = kPatience}),
                StatusIs(absl::StatusCode::kNotFound));
    EXPECT_THAT(client(1).Get(id, {.timeout = kPatience}),
                StatusIs(absl::StatusCode::kNotFound));
    EXPECT_TRUE(Equal(held->bytes(), bytes));
  }
}

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

TEST_P(ClientContractTest, ABufferIsFilledInPlaceWhileReadersFollow) {
  StartNodes(2);
  const ObjectId id = NewId();
  const std::vector<std::byte> bytes = Pattern(4 << 20, 9);
  auto buffer = client(0).Create(id, bytes.size(), {.timeout = kPatience});
  ASSERT_THAT(buffer, IsOk());
  ASSERT_EQ(buffer->size(), bytes.size());
  const auto follows = client(1).GetAsync(id, {.timeout = kPatience});
  std::memcpy(buffer->data().data(), bytes.data(), 1 << 20);
  buffer->Advance(1 << 20);
  const absl::Time patience = absl::Now() + kPatience;
  while (client(1).Report()->counters.payload_bytes_received < (1 << 20) &&
         absl::Now() < patience) {
    std::this_thread::yield();
  }
  EXPECT_EQ(client(1).Report()->counters.payload_bytes_received, 1 << 20);
  EXPECT_FALSE(follows.Ready());
  std::memcpy(buffer->data().data() + (1 << 20), bytes.data() + (1 << 20),
              bytes.size() - (1 << 20));
  ASSERT_THAT(buffer->Seal(), IsOk());
  const auto got = follows.Get();
  ASSERT_THAT(got, IsOk());
  EXPECT_TRUE(Equal(got->bytes(), bytes));
}

TEST_P(ClientContractTest, ABufferThatIsNeverSealedNeverWas) {
  StartNodes(2);
  const ObjectId id = NewId();
  const auto waits = client(1).GetAsync(id, {.timeout = kPatience});
  {
    auto buffer = client(0).Create(id, 1 << 20, {.timeout = kPatience});
    ASSERT_THAT(buffer, IsOk());
    buffer->Advance(1 << 19);
  }
  const std::vector<std::byte> bytes = Pattern(77, 4);
  ASSERT_THAT(client(0).Put(id, bytes, {.timeout = kPatience}), IsOk());
  const auto got = waits.Get();
  ASSERT_THAT(got, IsOk());
  EXPECT_TRUE(Equal(got->bytes(), bytes));
}

TEST_P(ClientContractTest, AnEmptyBufferCanBeSealed) {
  StartNode();
  const ObjectId id = NewId();
  auto buffer = client(0).Create(id, 0, {.timeout = kPatience});
  ASSERT_THAT(buffer, IsOk());
  ASSERT_THAT(buffer->Seal(), IsOk());
  EXPECT_EQ(client(0).Get(id, {.timeout = kPatience})->size(), 0U);
}

TEST_P(ClientContractTest, AReductionAddsItsSourcesWhereverTheyAre) {
  StartNodes(4);
  for (const std::size_t count : {10, 200000}) {
    SCOPED_TRACE(count);
    std::vector<ObjectId> sources;
    for (int i = 0; i < 5; ++i) {
      sources.push_back(NewId());
      const std::vector<float> floats =
          Floats(count, static_cast<float>(i + 1));
      ASSERT_THAT(
          client(i % 4).Put(sources.back(), std::as_bytes(std::span(floats)),
                            {.timeout = kPatience}),
          IsOk());
    }
    const ObjectId target = NewId();
    const auto result =
        client(3).Reduce(target, sources, {.timeout = kPatience});
    ASSERT_THAT(result, IsOk());
    EXPECT_THAT(result->sources, ::testing::UnorderedElementsAreArray(sources));
    std::vector<float> sum(count);
    for (std::size_t i = 0; i < count; ++i) {
      sum[i] = 15 + 5 * static_cast<float>(i % 1000);
    }
    for (int i = 0; i < 4; ++i) {
      const auto got = client(i).Get(target, {.timeout = kPatience});
      ASSERT_THAT(got, IsOk());
      EXPECT_TRUE(Equal(got->bytes(), std::as_bytes(std::span(sum))));
    }
  }
}

TEST_P(ClientContractTest, AReductionTakesTheFirstSourcesToBeReady) {
  StartNodes(2);
  const std::vector<ObjectId> sources = {NewId(), NewId(), NewId()};
  const ObjectId target = NewId();
  const auto reduction = client(0).ReduceAsync(
      target, sources, {.count = 2, .timeout = kPatience});
  const std::vector<float> floats = Floats(50000, 2);
  for (const int i : {2, 0}) {
    ASSERT_THAT(client(1).Put(sources[i], std::as_bytes(std::span(floats)),
                              {.timeout = kPatience}),
                IsOk());
  }
  const auto result = reduction.Get();
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(result->sources, UnorderedElementsAre(sources[0], sources[2]));
}

TEST_P(ClientContractTest, WhatCannotBeIsRefusedAtOnce) {
  StartNode();
  const ObjectId a = NewId();
  const ObjectId b = NewId();
  const ObjectId target = NewId();
  const auto reduce = [&](const std::vector<ObjectId>& sources,
                          ReduceOptions options) {
    return client(0).Reduce(target, sources, options).status().code();
  };
  using enum absl::StatusCode;
  EXPECT_EQ(client(0).Put(ObjectId(), {}).code(), kInvalidArgument);
  EXPECT_EQ(client(0).Put(ObjectId(), Pattern(1 << 20, 1)).code(),
            kInvalidArgument);
  EXPECT_EQ(client(0).Get(ObjectId()).status().code(), kInvalidArgument);
  EXPECT_EQ(client(0).Delete(ObjectId()).code(), kInvalidArgument);
  EXPECT_EQ(client(0).Create(ObjectId(), 5).status().code(), kInvalidArgument);
  EXPECT_EQ(reduce({}, {}), kInvalidArgument);
  EXPECT_EQ(reduce({a, a}, {}), kInvalidArgument);
  EXPECT_EQ(reduce({a, target}, {}), kInvalidArgument);
  EXPECT_EQ(reduce({a, b}, {.count = 0}), kInvalidArgument);
  EXPECT_EQ(reduce({a, b}, {.count = 3}), kInvalidArgument);
  EXPECT_EQ(reduce({a, b}, {.op = ReduceOp::kBitXor}), kInvalidArgument);
  std::vector<ObjectId> many;
  for (std::uint32_t i = 0; i <= kReduceSourcesMax; ++i) {
    many.push_back(NewId());
  }
  EXPECT_EQ(reduce(many, {}), kResourceExhausted);
}

TEST_P(ClientContractTest, AnObjectLargerThanTheStoreIsRefusedNamingBoth) {
  StartNode(8 << 20);
  StartNode(kStoreBytes);
  const ObjectId id = NewId();
  const std::vector<std::byte> bytes = Pattern((8 << 20) + 1, 1);
  EXPECT_THAT(client(0).Put(id, bytes, {.timeout = kPatience}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("8388609"), HasSubstr("8388608"))));
  ASSERT_THAT(client(1).Put(id, bytes, {.timeout = kPatience}), IsOk());
  EXPECT_THAT(client(0).Get(id, {.timeout = kPatience}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("8388609"), HasSubstr("8388608"))));
}

TEST_P(ClientContractTest, APutWaitsForRoomUntilItsDeadline) {
  StartNode(8 << 20);
  const ObjectId first = NewId();
  const std::vector<std::byte> bytes = Pattern(5 << 20, 1);
  ASSERT_THAT(client(0).Put(first, bytes, {.timeout = kPatience}), IsOk());
  // The only copy cannot be evicted.
  EXPECT_THAT(
      client(0).Put(NewId(), bytes, {.timeout = absl::Milliseconds(50)}),
      StatusIs(absl::StatusCode::kResourceExhausted));
  const auto waits = client(0).PutAsync(NewId(), bytes, {.timeout = kPatience});
  EXPECT_FALSE(waits.Wait(absl::Now() + absl::Milliseconds(20)));
  ASSERT_THAT(client(0).Delete(first, {.timeout = kPatience}), IsOk());
  EXPECT_THAT(waits.Get(), IsOk());
}

TEST_P(ClientContractTest, CopiesThatNobodyReadsMakeRoom) {
  StartNode(64 << 20);
  StartNode(8 << 20);
  const std::vector<std::byte> bytes = Pattern(3 << 20, 1);
  for (int i = 0; i < 6; ++i) {
    SCOPED_TRACE(i);
    const ObjectId id = NewId();
    ASSERT_THAT(client(0).Put(id, bytes, {.timeout = kPatience}), IsOk());
    ASSERT_THAT(client(1).Get(id, {.timeout = kPatience}), IsOk());
  }
}

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

TEST_P(ClientContractTest, ABufferOutlivesItsClient) {
  StartNode();
  const ObjectId id = NewId();
  const std::vector<std::byte> bytes = Pattern(1 << 20, 8);
  ASSERT_THAT(client(0).Put(id, bytes, {.timeout = kPatience}), IsOk());
  const auto got = client(0).Get(id, {.timeout = kPatience});
  ASSERT_THAT(got, IsOk());
  StopNode(0);
  EXPECT_TRUE(Equal(got->bytes(), bytes));
}

TEST_P(ClientContractTest, AReportSaysWhatTheNodeHolds) {
  StartNodes(2);
  const ObjectId id = NewId();
  ASSERT_THAT(client(0).Put(id, Pattern(1 << 20, 8), {.timeout = kPatience}),
              IsOk());
  ASSERT_THAT(client(1).Get(id, {.timeout = kPatience}), IsOk());
  const auto report = client(1).Report();
  ASSERT_THAT(report, IsOk());
  EXPECT_FALSE(report->status.is_head);
  EXPECT_THAT(report->status.members, SizeIs(2));
  EXPECT_THAT(report->status.shards, SizeIs(kShardCount));
  ASSERT_THAT(report->status.objects, SizeIs(1));
  EXPECT_EQ(report->status.objects[0].object, id);
  EXPECT_EQ(report->status.objects[0].size, 1U << 20);
  EXPECT_EQ(report->counters.payload_bytes_received, 1U << 20);
  EXPECT_EQ(report->counters.transfers_started, 1U);
  EXPECT_EQ(report->counters.store_bytes_capacity, kStoreBytes);
}

TEST_P(ClientContractTest, ManyThreadsUseOneClient) {
  StartNodes(2);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 40; ++i) {
        const ObjectId id = IdFromName(absl::StrCat("thread ", t, " ", i));
        const std::vector<std::byte> bytes = Pattern(100 + 7000 * i, t);
        ASSERT_THAT(client(t % 2).Put(id, bytes, {.timeout = kPatience}),
                    IsOk());
        const auto got = client((t + 1) % 2).Get(id, {.timeout = kPatience});
        ASSERT_THAT(got, IsOk());
        ASSERT_TRUE(Equal(got->bytes(), bytes));
        ASSERT_THAT(client(t % 2).Delete(id, {.timeout = kPatience}), IsOk());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hoplite
