// What every control transport promises, tried on each of them.

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "hoplite/core/config.h"
#include "hoplite/core/membership/cluster_view.h"
#include "hoplite/net/control_transport.h"
#include "hoplite/net/control_transport_testing.h"
#include "hoplite/net/grpc_control.h"
#include "hoplite/net/in_process_control.h"

namespace hoplite {
namespace {

constexpr ClusterId kCluster(0xc1);
constexpr ClusterId kOtherCluster(0xc2);

using TransportPtr = std::unique_ptr<ControlTransport>;
// Listens at this address, or, where it is empty, at one of its own.
using Listener = std::function<TransportPtr(const std::string& address)>;

struct Kind {
  std::string name;
  std::function<Listener()> make_network;
  std::string nobody;  // an address where nobody listens
};

Listener GrpcNetwork(const std::string& listen) {
  return [listen](const std::string& address) -> TransportPtr {
    auto transport = GrpcControl::Listen(
        {.listen = address.empty() ? listen : address, .advertise = ""});
    if (transport.ok()) return *std::move(transport);
    ADD_FAILURE() << transport.status();
    return nullptr;
  };
}

Listener InProcess() {
  return [network = InProcessNetwork::Create()](const std::string& address) {
    return address.empty() ? network->Listen() : network->ListenAt(address);
  };
}

class ControlTransportTest : public testing::TestWithParam<Kind> {
 protected:
  TransportPtr Listen(const std::string& address = "") {
    return listen_(address);
  }
  TestNode StartedNode(std::uint32_t node, std::uint64_t incarnation = 1) {
    return StartNode(Listen(), kCluster, Node(node, incarnation));
  }

  Listener listen_ = GetParam().make_network();
};

TEST_P(ControlTransportTest, JoinGivesTheWelcomeOfTheHead) {
  TestNode head = StartedNode(1);
  TransportPtr joiner = Listen();
  Welcome sent;
  std::thread admitting([&] { sent = AdmitNext(head, kCluster, Node(2, 5)); });
  const auto welcome =
      joiner->Join(head->address(), "127.0.0.1:9", "host:8", TestDeadline());
  admitting.join();
  ASSERT_TRUE(welcome.ok()) << welcome.status();
  EXPECT_EQ(welcome->cluster, kCluster);
  EXPECT_EQ(welcome->self, sent.self);
  EXPECT_EQ(welcome->self.control_address, joiner->address());
  EXPECT_EQ(welcome->self.data_address, "127.0.0.1:9");
  EXPECT_EQ(welcome->self.agent_address, "host:8");
  EXPECT_EQ(welcome->members, sent.members);
  EXPECT_EQ(welcome->shard_map, sent.shard_map);
}

TEST_P(ControlTransportTest, JoinWaitsForAHeadThatHasYetToStart) {
  TransportPtr listening = Listen();
  const std::string address = listening->address();
  TransportPtr joiner = Listen();
  std::thread joining([&] {
    const auto welcome =
        joiner->Join(address, "127.0.0.1:9", "", TestDeadline());
    EXPECT_TRUE(welcome.ok()) << welcome.status();
  });
  TestNode head = StartNode(std::move(listening), kCluster, Node(1, 1));
  AdmitNext(head, kCluster, Node(2, 2));
  joining.join();
}

TEST_P(ControlTransportTest, JoinIsRefusedByWhoIsNotTheHead) {
  TestNode node = StartedNode(3);
  const auto welcome =
      Listen()->Join(node->address(), "127.0.0.1:9", "", TestDeadline());
  EXPECT_EQ(welcome.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(welcome.status().message().find(node->address()),
            absl::string_view::npos)
      << welcome.status();
}

TEST_P(ControlTransportTest, JoinNamesTheAddressWhereNobodyListens) {
  const auto welcome =
      Listen()->Join(GetParam().nobody, "127.0.0.1:9", "", TestDeadline());
  EXPECT_EQ(welcome.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(welcome.status().message().find(GetParam().nobody),
            absl::string_view::npos)
      << welcome.status();
}

TEST_P(ControlTransportTest, JoinEndsAtItsDeadline) {
  TestNode head = StartedNode(1);
  const auto welcome = Listen()->Join(head->address(), "127.0.0.1:9", "",
                                      absl::Now() + absl::Milliseconds(50));
  EXPECT_EQ(welcome.status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_P(ControlTransportTest, ShutdownEndsAJoinThatIsBlocked) {
  TestNode head = StartedNode(1);
  TransportPtr joiner = Listen();
  std::thread joining([&] {
    const auto welcome = joiner->Join(head->address(), "127.0.0.1:9", "",
                                      absl::InfiniteFuture());
    EXPECT_EQ(welcome.status().code(), absl::StatusCode::kCancelled);
  });
  head.inbox->Next<event::JoinRequested>();
  joiner->Shutdown();
  joining.join();
}

TEST_P(ControlTransportTest, ShutdownOfTheHeadEndsAJoin) {
  TestNode head = StartedNode(1);
  TransportPtr joiner = Listen();
  std::thread joining([&] {
    const auto welcome = joiner->Join(head->address(), "127.0.0.1:9", "",
                                      absl::InfiniteFuture());
    EXPECT_EQ(welcome.status().code(), absl::StatusCode::kUnavailable);
  });
  head.inbox->Next<event::JoinRequested>();
  head->Shutdown();
  joining.join();
}

// pytorch/gloo#33, open-mpi/ompi#11508: storms of connections were refused.
TEST_P(ControlTransportTest, SixtyFourJoinAtOnce) {
  constexpr int kJoiners = 64;
  TestNode head = StartedNode(1);
  std::vector<TransportPtr> joiners;
  for (int i = 0; i < kJoiners; ++i) joiners.push_back(Listen());
  std::vector<std::thread> threads;
  for (TransportPtr& joiner : joiners) {
    threads.emplace_back([&head, &joiner] {
      const auto welcome =
          joiner->Join(head->address(), "127.0.0.1:9", "", TestDeadline());
      ASSERT_TRUE(welcome.ok()) << welcome.status();
      joiner->Start(welcome->cluster, welcome->self.ref, [](Event) {});
      joiner->Learn(head.member);
      joiner->Send(head.ref(), Numbered(welcome->self.ref.node.value()));
    });
  }
  for (int i = 0; i < kJoiners; ++i) {
    AdmitNext(head, kCluster, Node(2 + i, 2 + i));
  }
  std::set<std::uint64_t> heard;
  for (int i = 0; i < kJoiners; ++i) {
    heard.insert(NumberOf(head.inbox->NextMessage()));
  }
  EXPECT_EQ(heard.size(), kJoiners);
  for (std::thread& thread : threads) thread.join();
}

// ray#8749, ray#10154: parallel starts took each other's ports.
TEST_P(ControlTransportTest, SixteenListenAtOnceAtAddressesOfTheirOwn) {
  std::array<TransportPtr, 16> transports;
  std::vector<std::thread> threads;
  for (TransportPtr& transport : transports) {
    threads.emplace_back([&] { transport = Listen(); });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> addresses;
  for (const TransportPtr& transport : transports) {
    addresses.insert(transport->address());
  }
  EXPECT_EQ(addresses.size(), transports.size());
}

TEST_P(ControlTransportTest, TenThousandMessagesArriveInOrderBothWays) {
  constexpr std::uint64_t kMessages = 10000;
  TestNode first = StartedNode(1);
  TestNode second = StartedNode(2);
  first->Learn(second.member);
  second->Learn(first.member);
  std::thread back([&] {
    for (std::uint64_t i = 1; i <= kMessages; ++i) {
      second->Send(first.ref(), Numbered(i));
    }
  });
  for (std::uint64_t i = 1; i <= kMessages; ++i) {
    first->Send(second.ref(), Numbered(i));
  }
  back.join();
  for (std::uint64_t i = 1; i <= kMessages; ++i) {
    ASSERT_EQ(NumberOf(first.inbox->NextMessage()), i);
    const auto heard = second.inbox->Next<event::MessageReceived>();
    ASSERT_EQ(NumberOf(heard.message), i);
    ASSERT_EQ(heard.from, first.ref());
  }
}

TEST_P(ControlTransportTest, WhatIsSentBeforeThePeerIsKnownGoesOutThen) {
  TestNode first = StartedNode(1);
  TestNode second = StartedNode(2);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    first->Send(second.ref(), Numbered(i));
  }
  first->Learn(second.member);
  first->Send(second.ref(), Numbered(4));
  for (std::uint64_t i = 1; i <= 4; ++i) {
    EXPECT_EQ(NumberOf(second.inbox->NextMessage()), i);
  }
}

TEST_P(ControlTransportTest, WhoSpeaksFirstIsAnsweredWithoutBeingLearned) {
  TestNode first = StartedNode(1);
  TestNode second = StartedNode(2);
  second->Learn(first.member);
  second->Send(first.ref(), Numbered(1));
  const auto heard = first.inbox->Next<event::MessageReceived>();
  first->Send(heard.from, Numbered(2));
  EXPECT_EQ(NumberOf(second.inbox->NextMessage()), 2);
}

TEST_P(ControlTransportTest, MessagesThatComeBeforeStartWaitForIt) {
  TestNode first = StartedNode(1);
  TransportPtr listening = Listen();
  first->Learn({.ref = Node(2, 2),
                .control_address = listening->address(),
                .data_address = ""});
  first->Send(Node(2, 2), Numbered(1));
  TestNode second = StartNode(std::move(listening), kCluster, Node(2, 2));
  first->Send(Node(2, 2), Numbered(2));
  EXPECT_EQ(NumberOf(second.inbox->NextMessage()), 1);
  EXPECT_EQ(NumberOf(second.inbox->NextMessage()), 2);
}

TEST_P(ControlTransportTest, ACallbackMaySend) {
  constexpr std::uint64_t kRounds = 100;
  TestNode first = StartedNode(1);
  TransportPtr second = Listen();
  second->Start(kCluster, Node(2, 2), [&](Event event) {
    const auto* heard = std::get_if<event::MessageReceived>(&event);
    if (heard == nullptr) return;
    second->Send(heard->from, Numbered(NumberOf(heard->message) + 1));
  });
  first->Learn({.ref = Node(2, 2),
                .control_address = second->address(),
                .data_address = ""});
  std::uint64_t number = 1;
  while (number < kRounds) {
    first->Send(Node(2, 2), Numbered(number));
    const std::uint64_t answer = NumberOf(first.inbox->NextMessage());
    ASSERT_EQ(answer, number + 1);
    number = answer;
  }
  second->Shutdown();
}

TEST_P(ControlTransportTest, TheLatencyIsMeasuredAtBothEnds) {
  TestNode first = StartedNode(1);
  TestNode second = StartedNode(2);
  first->Learn(second.member);
  first->Send(second.ref(), Numbered(1));
  for (TestNode* node : {&first, &second}) {
    const auto measured = node->inbox->Next<event::LatencyMeasured>();
    EXPECT_GT(measured.latency, absl::ZeroDuration());
    EXPECT_LT(measured.latency, absl::Seconds(5));
  }
}

TEST_P(ControlTransportTest, TheLargestMessagesPass) {
  TestNode first = StartedNode(1);
  TestNode second = StartedNode(2);
  first->Learn(second.member);
  const Message request =
      message::ReduceAsk{.at = {},
                         .target = {},
                         .request = RequestId(1),
                         .sources = std::vector<ObjectId>(kReduceSourcesMax),
                         .count = kReduceSourcesMax};
  message::GrantInline grant;
  grant.payload = MakePayload(std::string(kInlineBytesMax, 'x'));
  const Message answer = grant;
  for (int i = 0; i < 4; ++i) {
    first->Send(second.ref(), request);
    first->Send(second.ref(), answer);
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(second.inbox->NextMessage() == request);
    EXPECT_TRUE(second.inbox->NextMessage() == answer);
  }
}

// grpc/grpc#19221, protobuf#11729: unbounded control messages.
TEST_P(ControlTransportTest, AMessageThatFitsInNoBatchIsDroppedAlone) {
  TestNode first = StartedNode(1);
  TestNode second = StartedNode(2);
  first->Learn(second.member);
  message::SourceNews news;
  news.entries.resize(20);
  for (message::SourceEntry& entry : news.entries) {
    entry.payload = MakePayload(std::string(kInlineBytesMax, 'x'));
  }
  first->Send(second.ref(), Numbered(1));
  first->Send(second.ref(), news);
  first->Send(second.ref(), Numbered(2));
  EXPECT_EQ(NumberOf(second.inbox->NextMessage()), 1);
  EXPECT_EQ(NumberOf(second.inbox->NextMessage()), 2);
}

TEST_P(ControlTransportTest, ForgettingAPeerCutsItsStreams) {
  TestNode first = StartedNode(1);
  TestNode second = StartedNode(2);
  first->Learn(second.member);
  first->Send(second.ref(), Numbered(1));
  second.inbox->NextMessage();
  second->Forget(first.ref());
  EXPECT_EQ(first.inbox->Next<event::PeerLost>().peer, second.ref());
}

TEST_P(ControlTransportTest, AForgottenIncarnationIsRefusedAndTheNextOneNot) {
  TestNode node = StartedNode(1);
  TestNode old = StartedNode(2, 2);
  TestNode young = StartedNode(2, 3);
  node->Forget(old.ref());
  old->Learn(node.member);
  old->Send(node.ref(), Numbered(1));
  EXPECT_EQ(old.inbox->Next<event::PeerLost>().peer, node.ref());
  young->Learn(node.member);
  young->Send(node.ref(), Numbered(2));
  const auto heard = node.inbox->Next<event::MessageReceived>();
  EXPECT_EQ(heard.from, young.ref());
  EXPECT_EQ(NumberOf(heard.message), 2);
}

TEST_P(ControlTransportTest, TheDeathOfAPeerIsHeard) {
  TestNode first = StartedNode(1);
  TestNode second = StartedNode(2);
  TestNode third = StartedNode(3);
  second->Learn(first.member);
  first->Learn(third.member);
  second->Send(first.ref(), Numbered(1));
  first.inbox->NextMessage();
  first->Send(third.ref(), Numbered(2));
  third.inbox->NextMessage();
  second.transport.reset();
  EXPECT_EQ(first.inbox->Next<event::PeerLost>().peer, second.ref());
  third.transport.reset();
  EXPECT_EQ(first.inbox->Next<event::PeerLost>().peer, third.ref());
}

TEST_P(ControlTransportTest, AnUnreachablePeerIsLost) {
  TestNode node = StartedNode(1);
  node->Learn({.ref = Node(2, 2),
               .control_address = GetParam().nobody,
               .data_address = ""});
  node->Send(Node(2, 2), Numbered(1));
  EXPECT_EQ(node.inbox->Next<event::PeerLost>().peer, Node(2, 2));
  // And again, after a pause, for what is sent then.
  node->Send(Node(2, 2), Numbered(2));
  EXPECT_EQ(node.inbox->Next<event::PeerLost>().peer, Node(2, 2));
}

TEST_P(ControlTransportTest, WhereNobodyAnswersAnyMoreThePeerIsDead) {
  TestNode first = StartedNode(1);
  TestNode second = StartedNode(2);
  first->Learn(second.member);
  first->Send(second.ref(), Numbered(1));
  second.inbox->NextMessage();
  second.transport.reset();
  EXPECT_EQ(first.inbox->Next<event::PeerLost>().peer, second.ref());
  EXPECT_EQ(first.inbox->Next<event::PeerDied>().peer, second.ref());
}

TEST_P(ControlTransportTest, WhereAnotherLifeAnswersTheEarlierOneIsDead) {
  TestNode first = StartedNode(1);
  TestNode second = StartedNode(2, 6);
  const std::string address = second->address();
  first->Learn(second.member);
  first->Send(second.ref(), Numbered(1));
  second.inbox->NextMessage();
  second.transport.reset();
  TestNode next = StartNode(Listen(address), kCluster, Node(2, 7));
  EXPECT_EQ(first.inbox->Next<event::PeerDied>().peer, Node(2, 6));
  first->Learn(next.member);
  first->Send(next.ref(), Numbered(2));
  EXPECT_EQ(NumberOf(next.inbox->NextMessage()), 2);
}

TEST_P(ControlTransportTest, AMemberThatIsForgottenIsNotDead) {
  TestNode head = StartedNode(1);
  TestNode member = StartedNode(2);
  member->Learn(head.member);
  member->Send(head.ref(), Numbered(1));
  head.inbox->NextMessage();
  head->Forget(member.ref());
  EXPECT_EQ(member.inbox->Next<event::PeerLost>().peer, head.ref());
  EXPECT_FALSE(member.inbox->Has<event::PeerDied>());
}

// What a member of 1 and these knows.
ClusterView ViewOf(const TestNode& head, const TestNode& member) {
  ClusterView view{.cluster = kCluster,
                   .self = member.member,
                   .members = {head.member, member.member},
                   .lost = {Node(9, 9)},
                   .shard_map = {}};
  view.shard_map.Apply(
      {.at = {.shard = ShardId(7), .epoch = Epoch(3)}, .host = member.ref()});
  return view;
}

TEST_P(ControlTransportTest, AMemberThatReturnsIsTakenBack) {
  TestNode head = StartedNode(1);
  TestNode member = StartedNode(2);
  const ClusterView view = ViewOf(head, member);
  const Welcome sent{.cluster = kCluster,
                     .self = member.member,
                     .members = {head.member, member.member},
                     .shard_map = view.shard_map};
  std::thread admitting([&] {
    const auto request = head.inbox->Next<event::ReturnRequested>();
    EXPECT_EQ(request.view, view);
    head->Admit(request.token, sent);
  });
  const auto welcome = member->Return(head->address(), view, TestDeadline());
  admitting.join();
  ASSERT_TRUE(welcome.ok()) << welcome.status();
  EXPECT_EQ(welcome->members, sent.members);
  EXPECT_EQ(welcome->shard_map, sent.shard_map);
}

TEST_P(ControlTransportTest, AMemberThatIsNoneHearsWhy) {
  TestNode head = StartedNode(1);
  TestNode member = StartedNode(2);
  std::thread refusing([&] {
    const auto request = head.inbox->Next<event::ReturnRequested>();
    head->RefuseReturn(request.token, "it was silent");
  });
  const auto welcome =
      member->Return(head->address(), ViewOf(head, member), TestDeadline());
  refusing.join();
  EXPECT_EQ(welcome.status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(welcome.status().message(), "it was silent");
}

TEST_P(ControlTransportTest, AMessageIsNotTakenForAnotherLifeOfTheNode) {
  TestNode first = StartedNode(1);
  TestNode second = StartedNode(2, 7);
  first->Learn({.ref = Node(2, 6),
                .control_address = second->address(),
                .data_address = ""});
  first->Send(Node(2, 6), Numbered(1));
  EXPECT_EQ(first.inbox->Next<event::PeerLost>().peer, Node(2, 6));
  first->Learn(second.member);
  first->Send(second.ref(), Numbered(2));
  EXPECT_EQ(NumberOf(second.inbox->NextMessage()), 2);
}

TEST_P(ControlTransportTest, TwoClustersOnOneHostDoNotHearEachOther) {
  TestNode first = StartedNode(1);
  TestNode second = StartedNode(2);
  TestNode stranger = StartNode(Listen(), kOtherCluster, Node(2, 2));
  stranger->Learn(first.member);
  stranger->Send(first.ref(), Numbered(1));
  EXPECT_EQ(stranger.inbox->Next<event::PeerLost>().peer, first.ref());
  second->Learn(first.member);
  second->Send(first.ref(), Numbered(2));
  const auto heard = first.inbox->Next<event::MessageReceived>();
  EXPECT_EQ(heard.from, second.ref());
  EXPECT_EQ(NumberOf(heard.message), 2);
}

TEST_P(ControlTransportTest, ShutdownIsBoundedWhileOthersSend) {
  TestNode first = StartedNode(1);
  TestNode second = StartedNode(2);
  first->Learn(second.member);
  second->Learn(first.member);
  std::atomic<bool> stop = false;
  std::vector<std::thread> senders;
  for (int i = 0; i < 2; ++i) {
    senders.emplace_back([&] {
      while (!stop) first->Send(second.ref(), Numbered(1));
    });
    senders.emplace_back([&] {
      while (!stop) second->Send(first.ref(), Numbered(1));
    });
  }
  second.inbox->NextMessage();
  first.inbox->NextMessage();
  const auto start = std::chrono::steady_clock::now();
  first->Shutdown();
  second->Shutdown();
  // Each within a second, with room for a machine that is busy elsewhere.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(8));
  stop = true;
  for (std::thread& sender : senders) sender.join();
}

TEST_P(ControlTransportTest, NothingIsHeardAfterShutdown) {
  TestNode first = StartedNode(1);
  std::atomic<bool> shut_down = false;
  std::atomic<bool> heard_late = false;
  Inbox inbox;
  TransportPtr second = Listen();
  second->Start(kCluster, Node(2, 2), [&](Event event) {
    if (shut_down) heard_late = true;
    inbox.Add(std::move(event));
  });
  first->Learn({.ref = Node(2, 2),
                .control_address = second->address(),
                .data_address = ""});
  for (int i = 1; i <= 1000; ++i) first->Send(Node(2, 2), Numbered(i));
  inbox.NextMessage();
  second->Shutdown();
  shut_down = true;
  first->Shutdown();
  EXPECT_FALSE(heard_late);
}

std::vector<Kind> Kinds() {
  return {
      {.name = "Grpc",
       .make_network = [] { return GrpcNetwork("127.0.0.1:0"); },
       .nobody = "127.0.0.1:1"},
      // pytorch/gloo#268: "address family mismatch".
      {.name = "GrpcIpv6",
       .make_network = [] { return GrpcNetwork("[::1]:0"); },
       .nobody = "[::1]:1"},
      {.name = "InProcess", .make_network = InProcess, .nobody = "nobody:1"},
  };
}

INSTANTIATE_TEST_SUITE_P(All, ControlTransportTest, testing::ValuesIn(Kinds()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace hoplite
