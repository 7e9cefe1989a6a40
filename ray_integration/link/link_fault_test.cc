// Links whose other side fails, lies, says nothing, or is not there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/base/testing/status_matchers.h"
#include "hoplite/runtime/clock.h"
#include "hoplite/runtime/socket_folder.h"
#include "ray_integration/link/link.h"
#include "ray_integration/link/link_testing.h"
#include "ray_integration/link/poller.h"
#include "ray_integration/link/socket_address.h"

namespace hoplite::task {
namespace {

using ::testing::HasSubstr;

// A poller that listens, for one handler.
class LinkFaultTest : public testing::Test {
 protected:
  LinkFaultTest() {
    EXPECT_THAT(poller_->Listen(place_.address(),
                                [this](const LinkPtr& link) {
                                  link_ = link;
                                  ++accepted_;
                                  return handler_;
                                }),
                IsOk());
  }
  ~LinkFaultTest() override { poller_->Stop(); }

  bool Await(absl::FunctionRef<bool()> done) {
    return poller_->Wait(done, Soon());
  }
  absl::Status AwaitEnd() {
    EXPECT_TRUE(Await([&] { return handler_->is_closed(); }));
    return handler_->why().value_or(absl::OkStatus());
  }

  SocketPlace place_;
  std::unique_ptr<Poller> poller_ = MakePoller();
  std::shared_ptr<RecordingHandler> handler_ =
      std::make_shared<RecordingHandler>();
  std::atomic<int> accepted_ = 0;
  LinkPtr link_;  // the last accepted; written before accepted_
};

TEST_F(LinkFaultTest, WhatAPeerSentBeforeItsEndIsHandedOver) {
  RawPeer peer(place_.path());
  peer.Write(std::string("\4\0\0\0last", 8));
  peer.Close();
  EXPECT_THAT(AwaitEnd(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(handler_->frames(), std::vector<std::string>{"last"});
}

TEST_F(LinkFaultTest, WhatCameIsHandedOverThoughNothingCanBeSent) {
  RawPeer peer(place_.path());
  ASSERT_TRUE(Await([&] { return accepted_ == 1; }));
  peer.Write(std::string("\4\0\0\0last", 8));
  peer.Close();
  link_->Send("to nobody");
  EXPECT_THAT(AwaitEnd(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(handler_->frames(), std::vector<std::string>{"last"});
  EXPECT_EQ(link_->unsent_bytes(), 0u);
}

TEST_F(LinkFaultTest, AGarbageLengthEndsTheLink) {
  RawPeer peer(place_.path());
  peer.Write("GET / HTTP/1.1\r\n");
  EXPECT_THAT(AwaitEnd(), StatusIs(absl::StatusCode::kInvalidArgument,
                                   HasSubstr("542393671")));
  EXPECT_TRUE(handler_->frames().empty());
  EXPECT_EQ(peer.Read(), 0u);
}

TEST_F(LinkFaultTest, HalfAHeaderIsNoFrame) {
  RawPeer peer(place_.path());
  peer.Write("\1");
  peer.Close();
  EXPECT_THAT(AwaitEnd(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(handler_->frames().empty());
}

TEST_F(LinkFaultTest, AFrameThatComesByteByByteArrives) {
  RawPeer peer(place_.path());
  for (const char byte : std::string("\3\0\0\0abc", 7)) {
    peer.Write(absl::string_view(&byte, 1));
    EXPECT_FALSE(poller_->Wait([] { return false; }, absl::InfinitePast()));
  }
  ASSERT_TRUE(Await([&] { return handler_->frame_count() == 1; }));
  EXPECT_EQ(handler_->frames(), std::vector<std::string>{"abc"});
}

TEST_F(LinkFaultTest, WhoSaysNothingHindersNobody) {
  const SocketPlace place;
  std::array<std::shared_ptr<RecordingHandler>, 4> handlers;
  for (auto& handler : handlers) handler = std::make_shared<RecordingHandler>();
  const auto accept = [&, next = std::size_t{0}](const LinkPtr&) mutable {
    return handlers[next++];  // connections are taken in their order
  };
  ASSERT_THAT(poller_->Listen(place.address(), accept), IsOk());
  RawPeer silent(place.path());
  RawPeer half(place.path());
  half.Write(std::string("\x10\0", 2));
  RawPeer announcing(place.path());
  announcing.Write(std::string("\0\0\0\4 and no more", 16));  // 64 MiB
  RawPeer peer(place.path());
  peer.Write(std::string("\2\0\0\0ok", 6));
  ASSERT_TRUE(Await([&] { return handlers[3]->frame_count() == 1; }));
  for (const auto& handler : handlers) EXPECT_FALSE(handler->is_closed());
  poller_->Stop();
  for (const auto& handler : handlers) EXPECT_TRUE(handler->is_closed());
}

TEST_F(LinkFaultTest, UnsentBytesGrowWhereNobodyReadsAndDrainWhereOneDoes) {
  RawPeer peer(place_.path());
  ASSERT_TRUE(Await([&] { return accepted_ == 1; }));
  constexpr std::size_t kFrames = 16;
  const std::string frame(1 << 20, 'x');
  for (std::size_t i = 0; i < kFrames; ++i) link_->Send(frame);
  EXPECT_GT(link_->unsent_bytes(), 8u << 20);
  EXPECT_LE(link_->unsent_bytes(), kFrames * (4 + frame.size()));
  std::thread reader([&] {
    std::size_t left = kFrames * (4 + frame.size());
    while (left > 0) {
      const std::size_t count = peer.Read();
      if (count == 0) break;
      left -= count;
    }
    EXPECT_EQ(left, 0u);
    poller_->Notify();
  });
  EXPECT_TRUE(Await([&] { return link_->unsent_bytes() == 0; }));
  reader.join();
}

TEST_F(LinkFaultTest, AConnectionToNobodyEndsWithItsReason) {
  const SocketPlace nothing;
  const auto other = MakePoller();
  const auto free_port = other->Listen("127.0.0.1:0", AcceptFor(handler_));
  ASSERT_THAT(free_port, IsOk());
  other->Stop();
  for (const std::string& address : {nothing.address(), *free_port}) {
    const auto handler = std::make_shared<RecordingHandler>();
    const LinkPtr link = poller_->Connect(address, handler);
    link->Send("lost");
    ASSERT_TRUE(Await([&] { return handler->is_closed(); }));
    EXPECT_THAT(*handler->why(),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr(address)));
    EXPECT_EQ(link->unsent_bytes(), 0u);
  }
}

TEST_F(LinkFaultTest, AConnectionToWhatIsNoAddressEndsWithItsReason) {
  const std::string long_path = absl::StrCat("unix:/", std::string(200, 'x'));
  for (const std::string& address :
       {std::string("nonsense"), std::string("unix:"), long_path,
        std::string("127.0.0.1:0"), std::string("127.0.0.1:99999")}) {
    const auto handler = std::make_shared<RecordingHandler>();
    poller_->Connect(address, handler);
    ASSERT_TRUE(Await([&] { return handler->is_closed(); })) << address;
    EXPECT_THAT(*handler->why(), StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

// localhost is ::1 first, and nobody listens there.
TEST_F(LinkFaultTest, EveryAddressOfAHostIsTried) {
  const auto address = poller_->Listen("127.0.0.1:0", AcceptFor(handler_));
  ASSERT_THAT(address, IsOk());
  const std::string port = address->substr(address->rfind(':'));
  const auto handler = std::make_shared<RecordingHandler>();
  poller_->Connect("localhost" + port, handler)->Send("hello");
  EXPECT_TRUE(Await([&] { return handler_->frame_count() == 1; }));
}

TEST_F(LinkFaultTest, ALinkThatIsClosedAtOnceEndsOnce) {
  for (int i = 0; i < 50; ++i) {
    const auto handler = std::make_shared<RecordingHandler>();
    poller_->Connect(i % 2 == 0 ? "127.0.0.1:1" : "nonsense", handler)->Close();
    ASSERT_TRUE(Await([&] { return handler->is_closed(); }));
  }
}

TEST_F(LinkFaultTest, WhereOneListensNoOtherDoes) {
  EXPECT_THAT(poller_->Listen(place_.address(), AcceptFor(handler_)),
              StatusIs(absl::StatusCode::kAlreadyExists));
  const auto port = poller_->Listen("127.0.0.1:0", AcceptFor(handler_));
  ASSERT_THAT(port, IsOk());
  EXPECT_THAT(poller_->Listen(*port, AcceptFor(handler_)),
              StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(poller_->Listen("192.0.2.1:0", AcceptFor(handler_)),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(poller_->Listen("nonsense", AcceptFor(handler_)),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(LinkFaultTest, APathIsFreeAgainAfterStop) {
  poller_->Stop();
  EXPECT_NE(access(place_.path().c_str(), F_OK), 0);
  const auto other = MakePoller();
  EXPECT_THAT(other->Listen(place_.address(), AcceptFor(handler_)), IsOk());
}

// No more descriptors than there are, as long as it lives.
class NoFreeDescriptors {
 public:
  NoFreeDescriptors() {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const FileDescriptor next(dup(STDERR_FILENO));
    Set(static_cast<rlim_t>(next.get()));
  }
  ~NoFreeDescriptors() { Set(before_.rlim_cur); }

 private:
  void Set(rlim_t most) {
    const rlimit limit{.rlim_cur = most, .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  rlimit before_{};
};

absl::Duration ProcessorTime() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return absl::DurationFromTimeval(usage.ru_utime) +
         absl::DurationFromTimeval(usage.ru_stime);
}

TEST_F(LinkFaultTest, WithoutFreeDescriptorsAConnectionWaitsAndNobodySpins) {
  constexpr absl::Duration kSpan = absl::Milliseconds(60);
  const auto other = MakePoller();
  const auto address = ResolveAddress(place_.address(), Purpose::kConnect);
  ASSERT_THAT(address, IsOk());
  const auto socket = MakeSocket(address->front());
  ASSERT_THAT(socket, IsOk());
  {
    const NoFreeDescriptors none;
    ASSERT_EQ(connect(socket->get(), address->front().generic(),
                      address->front().length),
              0);
    const absl::Duration before = ProcessorTime();
    EXPECT_FALSE(other->Wait([] { return false; }, SystemClock::Now() + kSpan));
    EXPECT_LT(ProcessorTime() - before, kSpan / 2);
    EXPECT_EQ(accepted_, 0);
  }
  EXPECT_TRUE(Await([&] { return accepted_ == 1; }));
}

// Says hello over a link, once a byte has come through the pipe, and waits for
// the link's end. The parent must have no threads yet.
pid_t StartChild(int pipe, const std::string& address) {
  const pid_t child = fork();
  if (child != 0) return child;
  char byte = 0;
  if (read(pipe, &byte, 1) == 1) {
    const auto poller = MakePoller();
    const auto handler = std::make_shared<RecordingHandler>();
    poller->Connect(address, handler)->Send("hello");
    poller->Wait([&] { return handler->is_closed(); }, Soon());
  }
  _exit(0);
}

TEST(LinkProcessTest, AKilledProcessEndsItsLink) {
  const SocketPlace place;
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const FileDescriptor read_end(ends[0]);
  const FileDescriptor write_end(ends[1]);
  const pid_t child = StartChild(read_end.get(), place.address());
  ASSERT_GT(child, 0);
  const auto poller = MakePoller();
  const auto handler = std::make_shared<RecordingHandler>();
  ASSERT_THAT(poller->Listen(place.address(), AcceptFor(handler)), IsOk());
  ASSERT_EQ(write(write_end.get(), "x", 1), 1);
  EXPECT_TRUE(
      poller->Wait([&] { return handler->frame_count() == 1; }, Soon()));
  EXPECT_FALSE(handler->is_closed());
  kill(child, SIGKILL);
  EXPECT_TRUE(poller->Wait([&] { return handler->is_closed(); }, Soon()));
  EXPECT_THAT(*handler->why(), StatusIs(absl::StatusCode::kUnavailable));
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
}

}  // namespace
}  // namespace hoplite::task
