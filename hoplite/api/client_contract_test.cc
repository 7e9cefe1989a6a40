// What the four calls promise, in both forms of a client.

#include "hoplite/api/client_contract.h"

#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/digest.h"
#include "hoplite/base/testing/status_matchers.h"
#include "hoplite/core/config.h"

namespace hoplite {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

std::vector<float> Floats(std::size_t count, float value) {
  std::vector<float> floats(count);
  for (std::size_t i = 0; i < count; ++i) {
    floats[i] = value + static_cast<float>(i % 1000);
  }
  return floats;
}

INSTANTIATE_TEST_SUITE_P(Forms, ClientContractTest, ::testing::ValuesIn(kForms),
                         NameOfForm);

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

// ray-project/ray#25741: freed objects kept their memory while they were held.
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

// ray-project/ray#3273: 100 actors on 4 nodes caused 214 transfers of one
// object.
TEST_P(ClientContractTest, ManyGetsOfOneNodeAreOneTransfer) {
  constexpr int kNodes = 5;
  constexpr int kGets = 25;
  constexpr std::uint64_t kSize = 1 << 20;
  StartNodes(kNodes);
  const ObjectId id = NewId();
  const std::vector<std::byte> bytes = Pattern(kSize, 8);
  std::vector<Future<Buffer>> gets;
  for (int i = 0; i < kGets * (kNodes - 1); ++i) {
    gets.push_back(
        client(1 + i % (kNodes - 1)).GetAsync(id, {.timeout = kPatience}));
  }
  ASSERT_THAT(client(0).Put(id, bytes, {.timeout = kPatience}), IsOk());
  for (const Future<Buffer>& get : gets) {
    const auto got = get.Get();
    ASSERT_THAT(got, IsOk());
    EXPECT_TRUE(Equal(got->bytes(), bytes));
  }
  for (int i = 1; i < kNodes; ++i) {
    const auto report = client(i).Report();
    ASSERT_THAT(report, IsOk());
    EXPECT_EQ(report->counters.transfers_started, 1U);
    EXPECT_EQ(report->counters.payload_bytes_received, kSize);
  }
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
