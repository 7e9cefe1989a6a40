#include "ray_integration/link/link.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/base/testing/status_matchers.h"
#include "hoplite/runtime/clock.h"
#include "ray_integration/link/link_testing.h"
#include "ray_integration/link/poller.h"

namespace hoplite::task {
namespace {

// Two pollers with a link between them. The far one answers on its background
// thread; the near one is polled by the test's Wait.
class LinkTest : public testing::TestWithParam<const char*> {
 protected:
  std::string ListenAddress() const {
    return GetParam() == std::string("unix") ? place_.address()
                                             : std::string(GetParam());
  }
  void Connect() {
    const auto address = far_->Listen(ListenAddress(), AcceptFor(far_handler_));
    ASSERT_THAT(address, IsOk());
    link_ = near_->Connect(*address, near_handler_);
  }
  bool Await(absl::FunctionRef<bool()> done) {
    return near_->Wait(done, Soon());
  }
  // The far side does not tell the near one: it sends back.
  bool AwaitFrames(std::size_t count) {
    return Await([&] { return near_handler_->frame_count() >= count; });
  }

  SocketPlace place_;
  std::unique_ptr<Poller> far_ = MakePoller();
  std::unique_ptr<Poller> near_ = MakePoller();
  std::shared_ptr<RecordingHandler> far_handler_ =
      std::make_shared<RecordingHandler>(SendBack());
  std::shared_ptr<RecordingHandler> near_handler_ =
      std::make_shared<RecordingHandler>();
  LinkPtr link_;
};

INSTANTIATE_TEST_SUITE_P(Sockets, LinkTest,
                         testing::Values("unix", "127.0.0.1:0", "[::1]:0"),
                         [](const auto& info) {
                           const std::string name = info.param;
                           return name == "unix"   ? "Unix"
                                  : name[0] == '[' ? "Tcp6"
                                                   : "Tcp4";
                         });

TEST_P(LinkTest, FramesArriveInOrderAndWhole) {
  Connect();
  std::vector<std::string> sent;
  for (std::size_t i = 0; i < 2000; ++i) {
    sent.emplace_back(i * i % 3001, static_cast<char>('a' + i % 26));
    link_->Send(sent.back());
  }
  ASSERT_TRUE(AwaitFrames(sent.size()));
  EXPECT_EQ(near_handler_->frames(), sent);
  EXPECT_GE(near_handler_->batches(), 1);
}

TEST_P(LinkTest, PiecesMakeOneFrameHoweverManyThereAre) {
  Connect();
  link_->Send(std::array<absl::string_view, 3>{"one ", "", "frame"});
  const std::vector<absl::string_view> many(3000, "x");
  link_->Send(many);
  link_->Send(std::span<const absl::string_view>());
  ASSERT_TRUE(AwaitFrames(3));
  EXPECT_EQ(
      near_handler_->frames(),
      (std::vector<std::string>{"one frame", std::string(3000, 'x'), ""}));
}

TEST_P(LinkTest, ThreadsThatSendAtOnceMixNoFrames) {
  constexpr int kThreads = 6;
  constexpr int kFrames = 500;
  Connect();
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < kFrames; ++k) {
        const std::string body(static_cast<std::size_t>(k), 'a');
        link_->Send(std::array<absl::string_view, 2>{absl::StrCat(i), body});
      }
    });
  }
  ASSERT_TRUE(AwaitFrames(kThreads * kFrames));
  for (std::thread& thread : threads) thread.join();
  std::vector<std::size_t> next(kThreads);
  for (const std::string& frame : near_handler_->frames()) {
    const auto sender = static_cast<std::size_t>(frame[0] - '0');
    ASSERT_LT(sender, next.size());
    EXPECT_EQ(frame.size(), 1 + next[sender]++);
  }
}

TEST_P(LinkTest, TheLargestFrameArrives) {
  Connect();
  std::string large(kFrameBytesMax, 'x');
  for (std::size_t i = 0; i < large.size(); i += 4099) {
    large[i] = static_cast<char>(i % 251);
  }
  link_->Send("before");
  link_->Send(large);
  link_->Send("after");
  ASSERT_TRUE(AwaitFrames(3));
  const auto frames = near_handler_->frames();
  EXPECT_EQ(frames[0], "before");
  EXPECT_TRUE(frames[1] == large);
  EXPECT_EQ(frames[2], "after");
}

TEST_P(LinkTest, ALargerFrameIsAMistakeOfOurs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Connect();
  EXPECT_DEATH(link_->Send(std::string(kFrameBytesMax + 1, 'x')),
               "CHECK failed");
}

TEST_P(LinkTest, CloseEndsBothSidesOnce) {
  Connect();
  link_->Send("hello");
  ASSERT_TRUE(AwaitFrames(1));
  link_->Close();
  link_->Close();
  link_->Send("nothing");
  EXPECT_EQ(link_->unsent_bytes(), 0u);
  ASSERT_TRUE(Await([&] { return near_handler_->is_closed(); }));
  EXPECT_THAT(*near_handler_->why(), StatusIs(absl::StatusCode::kCancelled));
  ASSERT_TRUE(far_->Wait([&] { return far_handler_->is_closed(); }, Soon()));
  EXPECT_THAT(*far_handler_->why(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(far_handler_->frames(), std::vector<std::string>{"hello"});
}

TEST_P(LinkTest, WhatAHandlerSendsBeforeItClosesArrives) {
  far_handler_ =
      std::make_shared<RecordingHandler>([](Link& link, absl::string_view) {
        link.Send("goodbye");
        link.Close();
      });
  Connect();
  link_->Send("one");
  ASSERT_TRUE(Await([&] { return near_handler_->is_closed(); }));
  EXPECT_EQ(near_handler_->frames(), std::vector<std::string>{"goodbye"});
}

TEST_P(LinkTest, AHandlerThatClosesGetsNoFurtherFrame) {
  const auto closing = std::make_shared<RecordingHandler>(
      [](Link& link, absl::string_view) { link.Close(); });
  const SocketPlace place;
  ASSERT_THAT(near_->Listen(place.address(), AcceptFor(closing)), IsOk());
  RawPeer peer(place.path());
  peer.Write(std::string("\1\0\0\0a\1\0\0\0b", 10));
  ASSERT_TRUE(Await([&] { return closing->is_closed(); }));
  EXPECT_EQ(closing->frames(), std::vector<std::string>{"a"});
}

TEST_P(LinkTest, FramesThatCameTogetherAreOneBatch) {
  constexpr std::size_t kFrames = 1000;
  const SocketPlace place;
  ASSERT_THAT(far_->Listen(place.address(), AcceptFor(far_handler_)), IsOk());
  RawPeer peer(place.path());
  std::string stream;
  for (std::size_t i = 0; i < kFrames; ++i) {
    stream += std::string("\1\0\0\0x", 5);
  }
  peer.Write(stream);
  std::size_t answered = 0;
  while (answered < stream.size()) {
    const std::size_t count = peer.Read();
    ASSERT_GT(count, 0u);
    answered += count;
  }
  EXPECT_EQ(far_handler_->frame_count(), kFrames);
  EXPECT_LE(far_handler_->batches(), 5);
}

TEST_P(LinkTest, TheBackgroundThreadAnswersWhereNobodyWaits) {
  const auto other = MakePoller();
  near_handler_ = std::make_shared<RecordingHandler>(
      [&](Link&, absl::string_view) { other->Notify(); });
  Connect();
  link_->Send("hello");
  EXPECT_TRUE(
      other->Wait([&] { return near_handler_->frame_count() > 0; }, Soon()));
  near_->Stop();
}

TEST_P(LinkTest, StopEndsLinksAndTheOtherSideHearsOfIt) {
  Connect();
  link_->Send("hello");
  ASSERT_TRUE(AwaitFrames(1));
  far_->Stop();
  EXPECT_THAT(*far_handler_->why(), StatusIs(absl::StatusCode::kCancelled));
  ASSERT_TRUE(Await([&] { return near_handler_->is_closed(); }));
  EXPECT_THAT(*near_handler_->why(), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_P(LinkTest, ALinkMayOutliveItsPoller) {
  Connect();
  near_ = nullptr;
  EXPECT_TRUE(near_handler_->is_closed());
  link_->Send("nothing");
  link_->Close();
  EXPECT_EQ(link_->unsent_bytes(), 0u);
}

TEST_P(LinkTest, AfterStopNothingConnectsOrListens) {
  Connect();
  near_->Stop();
  const auto late = std::make_shared<RecordingHandler>();
  near_->Connect("127.0.0.1:1", late);
  ASSERT_TRUE(late->is_closed());
  EXPECT_THAT(*late->why(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(near_->Listen("127.0.0.1:0", AcceptFor(late)),
              StatusIs(absl::StatusCode::kCancelled));
}

TEST_P(LinkTest, WhoIsNotAcceptedIsClosed) {
  const auto address =
      far_->Listen(ListenAddress(), [](const LinkPtr&) { return nullptr; });
  ASSERT_THAT(address, IsOk());
  near_->Connect(*address, near_handler_);
  ASSERT_TRUE(Await([&] { return near_handler_->is_closed(); }));
}

TEST_P(LinkTest, FramesSentOnAcceptanceArriveFirst) {
  const auto address = far_->Listen(ListenAddress(), [&](const LinkPtr& link) {
    link->Send("welcome");
    return far_handler_;
  });
  ASSERT_THAT(address, IsOk());
  link_ = near_->Connect(*address, near_handler_);
  link_->Send("hello");
  ASSERT_TRUE(AwaitFrames(2));
  EXPECT_EQ(near_handler_->frames(),
            (std::vector<std::string>{"welcome", "hello"}));
}

}  // namespace
}  // namespace hoplite::task
