// What buffers and the room for them promise, in both forms of a client.

#include <cstdint>
#include <cstring>
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
using ::testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(Forms, ClientContractTest, ::testing::ValuesIn(kForms),
                         NameOfForm);

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

// ray-project/ray#7802: a wait for an object larger than the store hung.
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

// ray-project/ray#4878: puts into a full store hung.
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

// ray-project/ray#62093: copies that nobody read kept their room for ever.
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

}  // namespace
}  // namespace hoplite
