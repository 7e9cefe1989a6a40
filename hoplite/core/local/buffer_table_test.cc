#include "hoplite/core/local/buffer_table.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "hoplite/core/testing/commands.h"
#include "hoplite/core/testing/values.h"

namespace hoplite {
namespace {

using testing::All;
using testing::Id;
using testing::Only;

class BufferTableTest : public ::testing::Test {
 protected:
  BufferId Create(std::uint64_t size = 10) {
    return table_.Create(FetchOwner{Id(1)}, size, nullptr, out_);
  }
  BufferId Created(std::uint64_t size = 10) {
    const BufferId id = Create(size);
    EXPECT_NE(table_.OnCreated(id, out_), nullptr);
    out_.clear();
    return id;
  }
  std::vector<command::ReleaseBuffer> Releases() const {
    return All<command::ReleaseBuffer>(out_);
  }

  BufferTable table_;
  Commands out_;
};

TEST_F(BufferTableTest, OrdersABufferForItsOwner) {
  const Payload payload = MakePayload("ten bytes!");
  const BufferId id =
      table_.Create(PutOwner{RequestId(3), Id(1)}, 10, payload, out_);
  const auto create = Only<command::CreateBuffer>(out_);
  ASSERT_TRUE(create.has_value());
  EXPECT_EQ(create->buffer, id);
  EXPECT_EQ(create->size, 10u);
  EXPECT_EQ(create->payload, payload);
  ASSERT_NE(table_.Find(id), nullptr);
  EXPECT_EQ(table_.Find(id)->owner, BufferOwner(PutOwner{RequestId(3), Id(1)}));
  EXPECT_EQ(table_.Find(id)->holds, 1u);
}

TEST_F(BufferTableTest, NamesAreNeverUsedTwice) {
  const BufferId first = Create();
  const BufferId second = Create();
  EXPECT_NE(first, second);
  table_.TakeRefused(second);
  EXPECT_NE(Create(), second);
}

TEST_F(BufferTableTest, TheLastHoldToGoReleases) {
  const BufferId id = Created();
  table_.Hold(id);
  table_.Release(id, out_);
  EXPECT_TRUE(Releases().empty());
  table_.Release(id, out_);
  ASSERT_EQ(Releases().size(), 1u);
  EXPECT_EQ(Releases()[0].buffer, id);
  EXPECT_FALSE(Releases()[0].failed);
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(BufferTableTest, OneWhoSaysThatItFailedIsHeard) {
  const BufferId id = Created();
  table_.Hold(id);
  table_.Release(id, out_, /*failed=*/true);
  table_.Release(id, out_);
  ASSERT_EQ(Releases().size(), 1u);
  EXPECT_TRUE(Releases()[0].failed);
}

TEST_F(BufferTableTest, ReleasingNoneIsHarmless) {
  table_.Release(BufferId(), out_);
  EXPECT_TRUE(out_.empty());
}

// Symptom: the driver was told to release a buffer that the store had just
// refused, and stopped. Cause: the refusal was still on its way.
TEST_F(BufferTableTest, WhatIsLetGoBeforeTheStoreAnswersIsReleasedAfterwards) {
  const BufferId id = Create();
  out_.clear();
  table_.Release(id, out_, /*failed=*/true);
  EXPECT_TRUE(out_.empty()) << "whether there is a buffer is not known yet";
  EXPECT_EQ(table_.OnCreated(id, out_), nullptr);
  ASSERT_EQ(Releases().size(), 1u);
  EXPECT_TRUE(Releases()[0].failed);
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(BufferTableTest, WhatIsLetGoBeforeTheStoreRefusesIsForgotten) {
  const BufferId id = Create();
  out_.clear();
  table_.Release(id, out_);
  EXPECT_EQ(table_.TakeRefused(id), std::nullopt);
  EXPECT_TRUE(out_.empty());
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(BufferTableTest, ARefusedBufferIsForgottenAndItsOwnerTold) {
  const BufferId id = Create(77);
  out_.clear();
  const auto entry = table_.TakeRefused(id);
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->size, 77u);
  EXPECT_EQ(entry->owner, BufferOwner(FetchOwner{Id(1)}));
  EXPECT_EQ(table_.Find(id), nullptr);
  EXPECT_TRUE(out_.empty());
  EXPECT_EQ(table_.TakeRefused(id), std::nullopt);
}

TEST_F(BufferTableTest, AnswersOfStrangeBuffersAreIgnored) {
  EXPECT_EQ(table_.OnCreated(BufferId(9), out_), nullptr);
  EXPECT_EQ(table_.TakeRefused(BufferId(9)), std::nullopt);
  const BufferId id = Created();
  EXPECT_EQ(table_.OnCreated(id, out_), nullptr) << "answered before";
  EXPECT_EQ(table_.TakeRefused(id), std::nullopt) << "created before";
  EXPECT_NE(table_.Find(id), nullptr);
}

TEST_F(BufferTableTest, WhoeverWaitsIsNamedInTheOrderInWhichTheyCame) {
  const BufferOwner put = PutOwner{RequestId(1), Id(1)};
  const BufferOwner fetch = FetchOwner{Id(2)};
  const BufferOwner output = OutputOwner{{Id(3), 4}, testing::TargetNumber(1)};
  EXPECT_FALSE(table_.anyone_waits());
  for (const BufferOwner& owner : {put, fetch, output}) {
    table_.WaitForRoom(owner);
  }
  EXPECT_TRUE(table_.anyone_waits());
  table_.StopWaiting(fetch);
  EXPECT_EQ(table_.TakeWaiting(), (std::vector<BufferOwner>{put, output}));
  EXPECT_FALSE(table_.anyone_waits());
  EXPECT_TRUE(table_.TakeWaiting().empty());
}

TEST_F(BufferTableTest, WhoeverIsRefusedAgainKeepsItsPlace) {
  const BufferOwner first = FetchOwner{Id(1)};
  const BufferOwner second = FetchOwner{Id(2)};
  table_.WaitForRoom(first);
  table_.WaitForRoom(second);
  for (int round = 0; round < 3; ++round) {
    const std::vector<BufferOwner> waiting = table_.TakeWaiting();
    ASSERT_EQ(waiting, (std::vector<BufferOwner>{first, second}));
    for (const BufferOwner& owner : waiting) table_.WaitForRoom(owner);
  }
}

TEST_F(BufferTableTest, ARetryGoesRoundAndNobodyLosesItsPlace) {
  const BufferOwner first = FetchOwner{Id(1)};
  const BufferOwner second = FetchOwner{Id(2)};
  table_.WaitForRoom(first);
  table_.WaitForRoom(second);
  std::vector<BufferOwner> retried;
  for (int i = 0; i < 4; ++i) {
    retried.push_back(table_.NextToRetry());
    table_.WaitForRoom(retried.back());  // refused again
  }
  EXPECT_EQ(retried, (std::vector<BufferOwner>{first, second, first, second}));
  EXPECT_EQ(table_.TakeWaiting(), (std::vector<BufferOwner>{first, second}));
}

TEST(OwnerObjectTest, EveryOwnerIsOfAnObject) {
  EXPECT_EQ(OwnerObject(PutOwner{RequestId(1), Id(4)}), Id(4));
  EXPECT_EQ(OwnerObject(FetchOwner{Id(5)}), Id(5));
  EXPECT_EQ(OwnerObject(OutputOwner{{Id(6), 2}, testing::TargetNumber(1)}),
            Id(6));
}

TEST_F(BufferTableTest, HoldingWhatIsNotThereIsAMistake) {
  EXPECT_DEATH(table_.Hold(BufferId(3)), "CHECK failed");
  EXPECT_DEATH(table_.Release(BufferId(3), out_), "CHECK failed");
}

}  // namespace
}  // namespace hoplite
