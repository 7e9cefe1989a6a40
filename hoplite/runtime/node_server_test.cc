#include "hoplite/runtime/node_server.h"

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/base/mutex.h"
#include "hoplite/base/testing/status_matchers.h"
#include "hoplite/runtime/clock.h"
#include "hoplite/runtime/membership_observer.h"

namespace hoplite {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr std::uint64_t kStoreBytes = 1 << 20;

std::unique_ptr<NodeServer> StartNode(std::string join = "") {
  auto node =
      NodeServer::Start({.join = std::move(join), .store_bytes = kStoreBytes});
  EXPECT_THAT(node, IsOk());
  return *std::move(node);
}

// Waits, by asking, until the node knows of so many members.
void WaitForMembers(NodeServer& node, std::size_t count) {
  const absl::Time patience = SystemClock::Now() + absl::Seconds(20);
  while (node.Report().status.members.size() != count &&
         SystemClock::Now() < patience) {
    std::this_thread::yield();
  }
  EXPECT_THAT(node.Report().status.members, SizeIs(count));
}

std::string Line(absl::string_view what, NodeRef ref) {
  return absl::StrCat(what, " ", ref.node.value(), ".",
                      ref.incarnation.value());
}

// What it was told, a line for each call.
class Listener final : public MembershipObserver {
 public:
  void OnLifeBegan(const Member& self) override {
    Add(Line("began", self.ref), self);
  }
  void OnMemberJoined(const Member& member) override {
    Add(Line("joined", member.ref), member);
  }
  void OnMemberLost(NodeRef member) override { Add(Line("lost", member), {}); }
  void OnLifeEnded(absl::string_view why) override {
    Add(absl::StrCat("ended ", why), {});
  }

  // Waits for so many calls; the member that the last of them named.
  Member Await(std::size_t count) {
    MutexLock lock(mutex_);
    while (members_.size() < count) changed_.Wait(mutex_);
    return members_[count - 1];
  }
  std::vector<std::string> lines() {
    MutexLock lock(mutex_);
    return lines_;
  }

 private:
  void Add(std::string line, Member member) {
    MutexLock lock(mutex_);
    lines_.push_back(std::move(line));
    members_.push_back(std::move(member));
    changed_.NotifyAll();
  }

  Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);
  std::vector<Member> members_ ABSL_GUARDED_BY(mutex_);
};

TEST(NodeServerTest, TheHeadHostsEveryShardWhileItIsAlone) {
  const auto head = StartNode();
  const NodeReport report = head->Report();
  EXPECT_TRUE(report.status.is_head);
  EXPECT_THAT(report.status.members, SizeIs(1));
  ASSERT_THAT(report.status.shards, SizeIs(kShardCount));
  for (const ShardAssignment& shard : report.status.shards) {
    EXPECT_EQ(shard.host, report.status.self);
  }
  EXPECT_EQ(report.control_address, head->control_address());
  EXPECT_FALSE(absl::EndsWith(head->control_address(), ":0"));
  EXPECT_EQ(head->socket_path(), "");
}

TEST(NodeServerTest, AMemberIsKnownToAllAndIsMissedWhenItLeaves) {
  const auto head = StartNode();
  auto second = StartNode(head->control_address());
  const auto third = StartNode(head->control_address());
  for (NodeServer* node : {head.get(), second.get(), third.get()}) {
    WaitForMembers(*node, 3);
  }
  second.reset();
  WaitForMembers(*head, 2);
  WaitForMembers(*third, 2);
}

TEST(NodeServerTest, AllMembersKnowWhereWhatRunsAboveANodeListens) {
  const auto head = NodeServer::Start(
      {.agent_address = "127.0.0.1:81", .store_bytes = kStoreBytes});
  ASSERT_THAT(head, IsOk());
  const auto second = NodeServer::Start({.agent_address = "0.0.0.0:82",
                                         .join = (*head)->control_address(),
                                         .store_bytes = kStoreBytes});
  ASSERT_THAT(second, IsOk());
  const auto third = StartNode((*head)->control_address());
  for (NodeServer* node : {head->get(), second->get(), third.get()}) {
    WaitForMembers(*node, 3);
    std::vector<std::string> agents;
    for (const Member& member : node->Report().status.members) {
      agents.push_back(member.agent_address);
    }
    EXPECT_THAT(agents, ElementsAre("127.0.0.1:81", "127.0.0.1:82", ""));
  }
  EXPECT_EQ((*second)->Report().agent_address, "127.0.0.1:82");
  EXPECT_THAT(NodeServer::Start({.agent_address = "nonsense"}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(NodeServerTest, ATakenPortIsNamed) {
  const auto head = StartNode();
  const auto again = NodeServer::Start(
      {.listen = head->control_address(), .store_bytes = kStoreBytes});
  EXPECT_THAT(again.status().message(),
              AllOf(HasSubstr("cannot listen"), HasSubstr("address in use"),
                    HasSubstr(head->control_address())));
}

TEST(NodeServerTest, AnAddressThatIsNoneIsRefused) {
  for (const std::string listen : {"", "nonsense", "::1", "127.0.0.1:99999"}) {
    EXPECT_THAT(
        NodeServer::Start({.listen = listen, .store_bytes = kStoreBytes}),
        StatusIs(absl::StatusCode::kInvalidArgument))
        << listen;
  }
}

TEST(NodeServerTest, WhereThereIsNoHeadTheErrorNamesTheAddress) {
  std::string gone;
  {
    const auto head = StartNode();
    gone = head->control_address();
  }
  const auto lost = NodeServer::Start({.join = gone,
                                       .join_timeout = absl::Milliseconds(300),
                                       .store_bytes = kStoreBytes});
  EXPECT_THAT(lost, StatusIs(absl::StatusCode::kUnavailable, HasSubstr(gone)));
}

TEST(NodeServerTest, AHeadThatComesLaterIsJoined) {
  std::string address;
  {
    const auto head = StartNode();
    address = head->control_address();
  }
  std::future<std::unique_ptr<NodeServer>> member =
      std::async(std::launch::async, [&] { return StartNode(address); });
  auto head =
      NodeServer::Start({.listen = address, .store_bytes = kStoreBytes});
  ASSERT_THAT(head, IsOk());
  const std::unique_ptr<NodeServer> joined = member.get();
  WaitForMembers(*joined, 2);
}

TEST(NodeServerTest, AMemberThatIsNoHeadCannotBeJoined) {
  const auto head = StartNode();
  const auto member = StartNode(head->control_address());
  EXPECT_THAT(NodeServer::Start({.join = member->control_address(),
                                 .store_bytes = kStoreBytes}),
              Not(IsOk()));
}

TEST(NodeServerTest, AMemberMayComeBeforeItsHead) {
  std::string address;
  {
    const auto free = StartNode();
    address = free->control_address();
  }
  std::unique_ptr<NodeServer> member;
  std::thread joining([&] { member = StartNode(address); });
  const auto head =
      NodeServer::Start({.listen = address, .store_bytes = kStoreBytes});
  joining.join();
  ASSERT_THAT(head, IsOk());
  WaitForMembers(**head, 2);
}

TEST(NodeServerTest, AHeadThatIsStartedAgainFindsItsMembers) {
  auto head = StartNode();
  const std::string address = head->control_address();
  const auto second = StartNode(address);
  const auto third = StartNode(address);
  WaitForMembers(*second, 3);
  const std::vector<Member> members = second->Report().status.members;
  head.reset();
  head = *NodeServer::Start({.listen = address, .store_bytes = kStoreBytes});
  WaitForMembers(*head, 3);
  EXPECT_EQ(head->control_address(), address);
  const NodeStatus status = head->Report().status;
  EXPECT_EQ(status.members[1], members[1]) << "the life that it had";
  EXPECT_EQ(status.members[2], members[2]);
  EXPECT_GT(status.self.incarnation, members[2].ref.incarnation);
  for (const ShardAssignment& shard : status.shards) {
    EXPECT_NE(shard.host.node, kHeadNode);
  }
  const auto fourth = StartNode(address);
  WaitForMembers(*third, 4);
}

// One that does not beat: it is taken for dead, and is not.
TEST(NodeServerTest, AMemberThatIsTakenForDeadBeginsAnew) {
  const auto head =
      *NodeServer::Start({.heartbeat_interval = absl::Milliseconds(50),
                          .dead_after = absl::Milliseconds(500),
                          .store_bytes = kStoreBytes});
  const auto member = *NodeServer::Start({.join = head->control_address(),
                                          .heartbeat_interval = absl::Hours(1),
                                          .dead_after = absl::Hours(4),
                                          .store_bytes = kStoreBytes});
  const NodeRef first = member->Report().status.self;
  const absl::Time patience = SystemClock::Now() + absl::Seconds(20);
  NodeRef next;
  do {
    next = member->Report().status.self;
  } while ((next == first || !next) && SystemClock::Now() < patience);
  EXPECT_GT(next.node, first.node);
  EXPECT_GT(next.incarnation, first.incarnation);
}

TEST(NodeServerTest, AnObserverIsToldOfMembersThatComeAndGo) {
  Listener listener;
  const auto head = *NodeServer::Start(
      {.store_bytes = kStoreBytes, .membership_observer = &listener});
  auto second = *NodeServer::Start({.agent_address = "10.0.0.2:7",
                                    .join = head->control_address(),
                                    .store_bytes = kStoreBytes});
  const NodeRef member = second->Report().status.self;
  EXPECT_EQ(listener.Await(2).agent_address, "10.0.0.2:7");
  second.reset();
  listener.Await(3);
  EXPECT_THAT(listener.lines(),
              ElementsAre(Line("began", head->Report().status.self),
                          Line("joined", member), Line("lost", member)));
}

// One that does not beat, as above.
TEST(NodeServerTest, AnObserverIsToldThatItsNodeWasDeclaredDead) {
  Listener listener;
  const auto head =
      *NodeServer::Start({.heartbeat_interval = absl::Milliseconds(50),
                          .dead_after = absl::Milliseconds(500),
                          .store_bytes = kStoreBytes});
  const NodeRef leader = head->Report().status.self;
  const auto member = *NodeServer::Start({.join = head->control_address(),
                                          .heartbeat_interval = absl::Hours(1),
                                          .dead_after = absl::Hours(4),
                                          .store_bytes = kStoreBytes,
                                          .membership_observer = &listener});
  listener.Await(5);
  const std::vector<std::string> lines = listener.lines();
  EXPECT_EQ(lines[1], Line("joined", leader));
  EXPECT_THAT(lines[2], HasSubstr("ended this node is not a member any more"));
  EXPECT_THAT(lines[3], HasSubstr("began"));
  EXPECT_NE(lines[3], lines[0]);
  EXPECT_EQ(lines[4], Line("joined", leader));
}

TEST(NodeServerTest, StopIsQuickWhileTheHeadIsAway) {
  auto head = StartNode();
  const auto member = StartNode(head->control_address());
  WaitForMembers(*member, 2);
  head.reset();
  const absl::Time begin = SystemClock::Now();
  member->Stop();
  EXPECT_LT(SystemClock::Now() - begin, absl::Seconds(3));
}

TEST(NodeServerTest, StopIsQuickAndMayBeCalledTwice) {
  const auto head = StartNode();
  const auto member = StartNode(head->control_address());
  const absl::Time begin = SystemClock::Now();
  member->Stop();
  member->Stop();
  head->Stop();
  EXPECT_LT(SystemClock::Now() - begin, absl::Seconds(4));
}

}  // namespace
}  // namespace hoplite
