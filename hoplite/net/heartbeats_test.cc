#include "hoplite/net/heartbeats.h"

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/base/mutex.h"
#include "hoplite/base/testing/status_matchers.h"
#include "hoplite/net/control_transport_testing.h"

namespace hoplite {
namespace {

constexpr ClusterId kCluster(0xc1);
constexpr HeartbeatOptions kFast{.interval = absl::Milliseconds(20),
                                 .dead_after = absl::Milliseconds(400)};

// Some free port: that of a control transport would be given.
std::string FreeAddress() {
  for (int port = 21000;; ++port) {
    const std::string address = "127.0.0.1:" + std::to_string(port);
    if (Heartbeats::Listen(address, kFast).ok()) return address;
  }
}

class HeartbeatsTest : public ::testing::Test {
 protected:
  HeartbeatsTest()
      : address_(FreeAddress()), head_(*Heartbeats::Listen(address_, kFast)) {
    head_->Start(kCluster, kHead,
                 [this](Event event) { head_inbox_.Add(std::move(event)); });
  }
  std::unique_ptr<Heartbeats> Member(NodeRef self) {
    auto member = std::make_unique<Heartbeats>(kFast);
    member->Start(kCluster, self,
                  [this](Event event) { inbox_.Add(std::move(event)); });
    return member;
  }
  hoplite::Member Head() const {
    return {.ref = kHead, .control_address = address_, .data_address = ""};
  }

  const NodeRef kHead = Node(1, 1);
  Inbox head_inbox_;
  Inbox inbox_;  // of all members
  const std::string address_;
  std::unique_ptr<Heartbeats> head_;
};

TEST_F(HeartbeatsTest, WhoBeatsLivesAndWhoEndsIsSilent) {
  head_->Expect(Node(2, 2));
  head_->Expect(Node(3, 3));
  auto lives = Member(Node(2, 2));
  lives->Follow(Head());
  // 3 never says anything.
  EXPECT_EQ(head_inbox_.Next<event::PeerDied>().peer, Node(3, 3));
  EXPECT_FALSE(head_inbox_.Has<event::PeerDied>());
  lives.reset();
  EXPECT_EQ(head_inbox_.Next<event::PeerDied>().peer, Node(2, 2));
  EXPECT_FALSE(inbox_.Has<event::PeerLost>());
}

TEST_F(HeartbeatsTest, ASilentHeadIsLost) {
  head_->Expect(Node(2, 2));
  auto member = Member(Node(2, 2));
  member->Follow(Head());
  head_.reset();
  EXPECT_EQ(inbox_.Next<event::PeerLost>().peer, kHead);
}

TEST_F(HeartbeatsTest, WhoeverIsForgottenGetsNoAnswer) {
  head_->Expect(Node(2, 2));
  auto member = Member(Node(2, 2));
  member->Follow(Head());
  head_->Forget(Node(2, 2));
  EXPECT_EQ(inbox_.Next<event::PeerLost>().peer, kHead);
  EXPECT_FALSE(head_inbox_.Has<event::PeerDied>());
}

TEST_F(HeartbeatsTest, AnotherLifeDoesNotBeatForTheEarlierOne) {
  head_->Expect(Node(2, 2));
  auto member = Member(Node(2, 3));
  member->Follow(Head());
  EXPECT_EQ(head_inbox_.Next<event::PeerDied>().peer, Node(2, 2));
}

// A sink that does not return stands for a process that stands still.
TEST_F(HeartbeatsTest, WhoHasStoodStillIsInDoubtUntilTheHeadAnswers) {
  head_->Expect(Node(2, 2));
  Mutex mutex;
  CondVar changed;
  bool stands = true;
  bool in_touch = false;
  Heartbeats member(kFast);
  member.Start(
      kCluster, Node(2, 2), [](const Event&) {},
      [&](bool now_in_touch) {
        MutexLock lock(mutex);
        while (stands) changed.Wait(mutex);
        in_touch = now_in_touch;
        changed.NotifyAll();
      });
  EXPECT_FALSE(member.MayBeGivenUp());
  member.Follow(Head());
  while (!member.MayBeGivenUp()) std::this_thread::yield();
  // Nobody answers: nothing changes however often it runs.
  head_->Forget(Node(2, 2));
  MutexLock lock(mutex);
  stands = false;
  in_touch = true;
  changed.NotifyAll();
  while (in_touch) changed.Wait(mutex);
  EXPECT_TRUE(member.MayBeGivenUp());
  head_->Expect(Node(2, 2));
  while (!in_touch) changed.Wait(mutex);
}

TEST_F(HeartbeatsTest, ATakenPortIsNamed) {
  EXPECT_THAT(
      Heartbeats::Listen(address_, kFast),
      StatusIs(absl::StatusCode::kUnavailable, ::testing::HasSubstr(address_)));
}

}  // namespace
}  // namespace hoplite
