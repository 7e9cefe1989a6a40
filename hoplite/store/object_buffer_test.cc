#include "hoplite/store/object_buffer.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hoplite {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A buffer over memory of its own.
class TestBuffer {
 public:
  explicit TestBuffer(std::size_t size)
      : memory_(size), buffer_(BufferId(1), memory_, 128) {}
  ObjectBuffer* operator->() { return &buffer_; }

 private:
  std::vector<std::byte> memory_;
  ObjectBuffer buffer_;
};

TEST(ObjectBufferTest, ItsWatermarkMovesForwardToItsEnd) {
  TestBuffer buffer(10);
  EXPECT_EQ(buffer->offset(), 128u);
  EXPECT_EQ(buffer->watermark(), 0u);
  EXPECT_FALSE(buffer->complete());
  buffer->Advance(0);
  buffer->Advance(4);
  buffer->Advance(4);
  EXPECT_EQ(buffer->watermark(), 4u);
  buffer->Advance(10);
  EXPECT_TRUE(buffer->complete());
}

TEST(ObjectBufferDeathTest, ItsWatermarkNeverGoesBackOrBeyondTheEnd) {
  TestBuffer buffer(10);
  buffer->Advance(4);
  EXPECT_DEATH(buffer->Advance(3), "CHECK failed");
  EXPECT_DEATH(buffer->Advance(11), "CHECK failed");
  EXPECT_DEATH(buffer->Fail(absl::OkStatus()), "CHECK failed");
}

TEST(ObjectBufferTest, NobodyWaitsForWhatIsThere) {
  TestBuffer buffer(10);
  EXPECT_TRUE(buffer->WaitFor(0, absl::InfinitePast()).ok());
  buffer->Advance(5);
  EXPECT_TRUE(buffer->WaitFor(5, absl::InfinitePast()).ok());
}

TEST(ObjectBufferTest, ADeadlineEndsTheWaitAndSaysHowFarItCame) {
  TestBuffer buffer(10);
  buffer->Advance(3);
  for (const absl::Time deadline :
       {absl::InfinitePast(), absl::UnixEpoch() - absl::Milliseconds(1500),
        absl::Now() + absl::Milliseconds(5)}) {
    const absl::Status status = buffer->WaitFor(7, deadline);
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("byte 7"), HasSubstr("10 bytes"),
                      HasSubstr("3 were there")));
  }
}

TEST(ObjectBufferTest, WaitingUsesNoProcessor) {
  TestBuffer buffer(10);
  const auto processor_time = [] {
    timespec used = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return absl::DurationFromTimespec(used);
  };
  const absl::Duration before = processor_time();
  const absl::Time deadline = absl::Now() + absl::Milliseconds(200);
  EXPECT_FALSE(buffer->WaitFor(1, deadline).ok());
  EXPECT_GE(absl::Now(), deadline);
  EXPECT_LT(processor_time() - before, absl::Milliseconds(50));
}

// Two threads hand a watermark to and fro: a wake-up that is lost is a hang.
TEST(ObjectBufferTest, NoWakeUpIsLost) {
  constexpr std::uint64_t kRounds = 5000;
  TestBuffer ping(kRounds);
  TestBuffer pong(kRounds);
  std::jthread other([&] {
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      EXPECT_TRUE(ping->WaitFor(round, absl::InfiniteFuture()).ok());
      pong->Advance(round);
    }
  });
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    ping->Advance(round);
    EXPECT_TRUE(pong->WaitFor(round, absl::Now() + absl::Seconds(60)).ok());
  }
}

TEST(ObjectBufferTest, ManyReadersFollowOneWriter) {
  const std::uint64_t kSize = 20'000;
  constexpr std::uint64_t kStep = 100;
  TestBuffer buffer(kSize);
  std::vector<std::jthread> readers;
  for (std::uint64_t step : {1u, 7u, 100u, 5000u, 20'000u}) {
    readers.emplace_back([&, step] {
      std::uint64_t read = 0;
      while (read < kSize) {
        const std::uint64_t want = std::min(read + step, kSize);
        ASSERT_TRUE(buffer->WaitFor(want, absl::InfiniteFuture()).ok());
        const std::uint64_t end = buffer->watermark();
        for (; read < end; ++read) {
          ASSERT_EQ(buffer->bytes()[read], static_cast<std::byte>(read % 251));
        }
      }
    });
  }
  for (std::uint64_t begin = 0; begin < kSize; begin += kStep) {
    for (std::uint64_t i = begin; i < begin + kStep; ++i) {
      buffer->data()[i] = static_cast<std::byte>(i % 251);
    }
    buffer->Advance(begin + kStep);
  }
}

TEST(ObjectBufferTest, FailureReachesThoseWhoWaitForMoreThanThereIs) {
  TestBuffer buffer(10);
  buffer->Advance(4);
  std::vector<std::jthread> waiters;
  for (int i = 0; i < 3; ++i) {
    waiters.emplace_back([&] {
      EXPECT_EQ(buffer->WaitFor(5, absl::InfiniteFuture()),
                absl::DataLossError("first"));
    });
  }
  EXPECT_TRUE(buffer->failure().ok());
  buffer->Fail(absl::DataLossError("first"));
  buffer->Fail(absl::CancelledError("second"));
  waiters.clear();
  EXPECT_EQ(buffer->failure(), absl::DataLossError("first"));
  EXPECT_EQ(buffer->WaitFor(10, absl::InfiniteFuture()),
            absl::DataLossError("first"));
  EXPECT_TRUE(buffer->WaitFor(4, absl::InfiniteFuture()).ok());
}

TEST(ObjectBufferTest, ListenersHearOfEachAdvanceAndOfTheFirstFailure) {
  TestBuffer buffer(10);
  std::vector<std::uint64_t> heard;
  const ListenerId id =
      buffer->AddListener([&] { heard.push_back(buffer->watermark()); });
  buffer->Advance(3);
  buffer->Advance(3);
  buffer->Advance(5);
  buffer->Fail(absl::CancelledError("ended"));
  buffer->Fail(absl::CancelledError("again"));
  buffer->RemoveListener(id);
  buffer->Advance(6);
  EXPECT_THAT(heard, ElementsAre(3, 5, 5));
}

TEST(ObjectBufferTest, AListenerMayCallBack) {
  TestBuffer buffer(10);
  int calls = 0;
  buffer->AddListener([&] {
    ++calls;
    EXPECT_TRUE(
        buffer->WaitFor(buffer->watermark(), absl::InfiniteFuture()).ok());
    if (buffer->failure().ok()) buffer->Fail(absl::CancelledError("enough"));
    buffer->RemoveListener(buffer->AddListener([] {}));
  });
  buffer->Advance(1);
  EXPECT_EQ(calls, 2);
}

// Whoever adds a listener and then looks at the watermark misses nothing,
// however close the two threads pass each other.
TEST(ObjectBufferTest, NothingIsLostBetweenAddingAndLooking) {
  constexpr std::uint64_t kRounds = 2'000;
  TestBuffer buffer(kRounds);
  std::atomic<std::uint64_t> begun = 0;
  std::atomic<std::uint64_t> advanced = 0;
  std::jthread writer([&] {
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      while (begun < round) std::this_thread::yield();
      buffer->Advance(round);
      advanced = round;
    }
  });
  int lost = 0;
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    std::atomic<bool> heard = false;
    begun = round;
    const ListenerId id = buffer->AddListener([&] { heard = true; });
    const bool seen = buffer->watermark() == round;
    while (advanced < round) std::this_thread::yield();
    buffer->RemoveListener(id);
    if (!heard && !seen) ++lost;
  }
  EXPECT_EQ(lost, 0);
}

TEST(ObjectBufferTest, NoListenerIsCalledAfterItsRemoval) {
  constexpr std::uint64_t kSize = 100'000;
  TestBuffer buffer(kSize);
  std::jthread writer([&] {
    for (std::uint64_t to = 1; to <= kSize; ++to) buffer->Advance(to);
  });
  while (!buffer->complete()) {
    auto alive = std::make_unique<std::atomic<int>>(0);
    const ListenerId id =
        buffer->AddListener([state = alive.get()] { ++*state; });
    buffer->RemoveListener(id);
    alive.reset();
  }
}

TEST(ObjectBufferTest, FailureMayMeetAnAdvance) {
  for (int round = 0; round < 200; ++round) {
    TestBuffer buffer(2);
    std::atomic<int> calls = 0;
    buffer->AddListener([&] { ++calls; });
    std::jthread writer([&] { buffer->Advance(1); });
    std::jthread reader([&] {
      EXPECT_TRUE(buffer->WaitFor(2, absl::InfiniteFuture()).code() ==
                  absl::StatusCode::kCancelled);
    });
    buffer->Fail(absl::CancelledError("ended"));
    writer.join();
    reader.join();
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(buffer->watermark(), 1u);
  }
}

TEST(ObjectBufferTest, KeepsTheChecksumsOfItsFrames) {
  TestBuffer buffer(10);
  EXPECT_EQ(buffer->frame_bytes(), 0u);
  ASSERT_TRUE(buffer->SetFrameBytes(4));
  EXPECT_FALSE(buffer->SetFrameBytes(5));
  EXPECT_EQ(buffer->frame_bytes(), 4u);
  buffer->SetFrameChecksum(2, 77);
  EXPECT_EQ(buffer->frame_checksum(2), 77u);
  EXPECT_EQ(buffer->frame_checksum(1), std::nullopt);
  EXPECT_EQ(buffer->frame_checksum(3), std::nullopt);
}

}  // namespace
}  // namespace hoplite
