// What only the transport with real sockets can show; the rest is in
// control_transport_contract_test.cc.

#include "hoplite/net/grpc_control.h"

#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "hoplite/base/random.h"
#include "hoplite/net/control_transport_testing.h"
#include "hoplite/net/grpc_settings.h"
#include "hoplite/net/host_port.h"
#include "hoplite/wire/codec.h"
#include "hoplite/wire/hoplite.grpc.pb.h"

namespace hoplite {
namespace {

constexpr ClusterId kCluster(0xc1);

std::unique_ptr<ControlTransport> Listen(
    const std::string& listen = "127.0.0.1:0",
    const std::string& advertise = "") {
  auto transport =
      GrpcControl::Listen({.listen = listen, .advertise = advertise});
  if (transport.ok()) return *std::move(transport);
  ADD_FAILURE() << transport.status();
  return nullptr;
}

std::string HostOf(const std::string& address) {
  return HostPort::Parse(address)->host;
}

// A connected plain socket to a transport. It ends with this object.
class RawSocket {
 public:
  explicit RawSocket(const std::string& address)
      : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in remote{};
    remote.sin_family = AF_INET;
    remote.sin_port = htons(HostPort::Parse(address)->port);
    remote.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&remote),
                           sizeof(remote)) == 0;
  }
  ~RawSocket() { ::close(socket_); }
  bool connected() const { return connected_; }
  void Write(const std::string& bytes) {
    // The peer may close at any byte; that is its right.
    (void)::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

 private:
  const int socket_;
  bool connected_ = false;
};

// A port at which somebody listens who resets the first that connects.
class ResettingPort {
 public:
  ResettingPort() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in local{};
    local.sin_family = AF_INET;
    local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(local);
    auto* const address = reinterpret_cast<sockaddr*>(&local);
    EXPECT_EQ(::bind(socket_, address, size), 0);
    EXPECT_EQ(::listen(socket_, 1), 0);
    EXPECT_EQ(::getsockname(socket_, address, &size), 0);
    port_ = ntohs(local.sin_port);
  }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }
  // Waits for it; afterwards nobody listens.
  void ResetOne() {
    const int connection = ::accept(socket_, nullptr, nullptr);
    EXPECT_GE(connection, 0);
    const linger reset{.l_onoff = 1, .l_linger = 0};
    EXPECT_EQ(
        ::setsockopt(connection, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)),
        0);
    ::close(socket_);
    ::close(connection);
  }

 private:
  const int socket_;
  int port_ = 0;
};

// A stream to a transport whose other end says what a test wants.
class RawStream {
 public:
  explicit RawStream(const std::string& address)
      : channel_(MakeChannel(*HostPort::Parse(address))),
        stub_(wire::Control::NewStub(channel_)),
        stream_(stub_->Exchange(&context_)) {}

  static wire::Batch Hello(NodeRef from, NodeRef to) {
    wire::Batch batch;
    batch.mutable_hello()->set_protocol_version(wire::kProtocolVersion);
    batch.mutable_hello()->set_cluster(kCluster.value());
    *batch.mutable_hello()->mutable_from() = wire::EncodeNodeRef(from);
    *batch.mutable_hello()->mutable_to() = wire::EncodeNodeRef(to);
    return batch;
  }
  void Write(const wire::Batch& batch) { stream_->Write(batch); }
  bool Read(wire::Batch& batch) { return stream_->Read(&batch); }
  void Break() {
    context_.TryCancel();
    AwaitEnd();
  }
  // How the peer ends the stream.
  grpc::Status AwaitEnd() {
    wire::Batch batch;
    while (stream_->Read(&batch)) {
    }
    return stream_->Finish();
  }

 private:
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<wire::Control::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<wire::Batch, wire::Batch>> stream_;
};

// The node still takes and answers messages.
void ExpectAlive(TestNode& node) {
  TestNode other = StartNode(Listen(), kCluster, Node(99, 99));
  other->Learn(node.member);
  other->Send(node.ref(), Numbered(42));
  const auto heard = node.inbox->Next<event::MessageReceived>();
  EXPECT_EQ(heard.from, other.ref());
  EXPECT_EQ(NumberOf(heard.message), 42);
}

TEST(GrpcControlTest, PortZeroGivesTheRealPort) {
  const auto transport = Listen();
  EXPECT_NE(HostPort::Parse(transport->address())->port, 0);
}

// ray#14098: a start that could not bind said that it had succeeded.
TEST(GrpcControlTest, AnOccupiedPortIsAnErrorThatNamesIt) {
  const auto first = Listen();
  const auto second =
      GrpcControl::Listen({.listen = first->address(), .advertise = ""});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(second.status().message().find(
                absl::StrCat("address in use ", first->address())),
            absl::string_view::npos)
      << second.status();
}

TEST(GrpcControlTest, AHostOfAnotherMachineIsAnErrorThatNamesIt) {
  const auto transport =
      GrpcControl::Listen({.listen = "198.51.100.1:0", .advertise = ""});
  EXPECT_EQ(transport.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(transport.status().message().find("198.51.100.1:0"),
            absl::string_view::npos)
      << transport.status();
}

TEST(GrpcControlTest, AMalformedAddressIsAnError) {
  EXPECT_EQ(
      GrpcControl::Listen({.listen = "::1", .advertise = ""}).status().code(),
      absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      Listen()->Join("::1", "127.0.0.1:1", "", TestDeadline()).status().code(),
      absl::StatusCode::kInvalidArgument);
}

TEST(GrpcControlTest, ANameIsListenedOnAndJoinedAt) {
  TestNode head = StartNode(Listen("localhost:0"), kCluster, Node(1, 1));
  EXPECT_EQ(HostOf(head->address()), "localhost");
  const auto joiner = Listen();
  std::thread admitting([&] { AdmitNext(head, kCluster, Node(2, 2)); });
  const auto welcome =
      joiner->Join(head->address(), "127.0.0.1:1", "", TestDeadline());
  admitting.join();
  EXPECT_TRUE(welcome.ok()) << welcome.status();
}

TEST(GrpcControlTest, AWildcardIsNeverAdvertised) {
  for (const std::string listen : {"0.0.0.0:0", "[::]:0"}) {
    SCOPED_TRACE(listen);
    const auto transport = Listen(listen);
    ASSERT_NE(transport, nullptr);
    EXPECT_FALSE(HostPort::Parse(transport->address())->is_wildcard());
  }
}

TEST(GrpcControlTest, WhoJoinsAdvertisesItsAddressOnTheWayToTheHead) {
  TestNode head = StartNode(Listen(), kCluster, Node(1, 1));
  const auto joiner = Listen("0.0.0.0:0");
  Welcome sent;
  std::thread admitting([&] { sent = AdmitNext(head, kCluster, Node(2, 2)); });
  const auto welcome =
      joiner->Join(head->address(), "0.0.0.0:777", "", TestDeadline());
  admitting.join();
  ASSERT_TRUE(welcome.ok()) << welcome.status();
  EXPECT_EQ(HostOf(sent.self.control_address), "127.0.0.1");
  EXPECT_EQ(sent.self.data_address, "127.0.0.1:777");
  EXPECT_EQ(joiner->address(), sent.self.control_address);
}

TEST(GrpcControlTest, AnAdvertisedHostIsTakenAsItIs) {
  TestNode head = StartNode(Listen(), kCluster, Node(1, 1));
  const auto joiner = Listen("0.0.0.0:0", "node-7.example");
  EXPECT_EQ(HostOf(joiner->address()), "node-7.example");
  Welcome sent;
  std::thread admitting([&] { sent = AdmitNext(head, kCluster, Node(2, 2)); });
  const auto welcome =
      joiner->Join(head->address(), "0.0.0.0:777", "", TestDeadline());
  admitting.join();
  ASSERT_TRUE(welcome.ok()) << welcome.status();
  EXPECT_EQ(HostOf(sent.self.control_address), "node-7.example");
  EXPECT_EQ(sent.self.data_address, "node-7.example:777");
}

TEST(GrpcControlTest, GarbageOnThePortHarmsNobody) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  Random random(seed);
  TestNode node = StartNode(Listen(), kCluster, Node(1, 1));
  for (int i = 0; i < 20; ++i) {
    RawSocket socket(node->address());
    ASSERT_TRUE(socket.connected());
    // Half of them begin as HTTP/2 does.
    std::string bytes = i % 2 == 0 ? "" : "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    for (int j = 0; j < 1000; ++j) {
      bytes.push_back(static_cast<char>(random.Below(256)));
    }
    socket.Write(bytes);
  }
  ExpectAlive(node);
}

// grpc/grpc#19221: one message of a gigabyte brought the server down.
TEST(GrpcControlTest, AnOversizeBatchEndsItsStreamOnly) {
  TestNode node = StartNode(Listen(), kCluster, Node(1, 1));
  wire::Batch batch = RawStream::Hello(Node(2, 2), node.ref());
  for (int i = 0; i < 40; ++i) {
    auto* grant = batch.add_messages()->mutable_grant_inline();
    grant->set_object(std::string(28, 'o'));
    grant->set_payload(std::string(60000, 'x'));
  }
  // The sender's own limit is the same, so this tries the receiver's.
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(-1);
  auto stub = wire::Control::NewStub(
      grpc::CreateCustomChannel(ToGrpcTarget(*HostPort::Parse(node->address())),
                                grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  auto raw = stub->Exchange(&context);
  raw->Write(batch);
  wire::Batch answer;
  while (raw->Read(&answer)) {
  }
  EXPECT_FALSE(raw->Finish().ok());
  ExpectAlive(node);
  EXPECT_FALSE(node.inbox->Has<event::MessageReceived>());
}

TEST(GrpcControlTest, AMessageThatIsNotValidEndsItsStreamAndSaysWhy) {
  TestNode node = StartNode(Listen(), kCluster, Node(1, 1));
  RawStream stream(node->address());
  wire::Batch batch = RawStream::Hello(Node(2, 2), node.ref());
  batch.add_messages()->mutable_release()->set_target(std::string(27, 'o'));
  stream.Write(batch);
  EXPECT_FALSE(stream.AwaitEnd().ok());
  EXPECT_EQ(node.inbox->Next<event::PeerLost>().peer, Node(2, 2));
  ExpectAlive(node);
}

// A killed process was missed for as long as a silent one: its streams were
// gone before its port, so the head's new attempt was reset and not refused,
// and no other followed.
TEST(GrpcControlTest, WhoResetsANewStreamIsAskedAgainWhetherHeLives) {
  TestNode node = StartNode(Listen(), kCluster, Node(1, 1));
  const NodeRef peer = Node(2, 2);
  ResettingPort port;
  node->Learn({.ref = peer, .control_address = port.address()});
  RawStream stream(node->address());
  stream.Write(RawStream::Hello(peer, node.ref()));
  wire::Batch taken;
  ASSERT_TRUE(stream.Read(taken));
  stream.Break();
  port.ResetOne();
  EXPECT_EQ(node.inbox->Next<event::PeerDied>().peer, peer);
}

TEST(GrpcControlTest, AStreamIsRefusedWithTheReason) {
  TestNode node = StartNode(Listen(), kCluster, Node(1, 1));
  node->Forget(Node(3, 3));
  struct Case {
    wire::Batch first;
    std::string reason;
    grpc::StatusCode code = grpc::StatusCode::FAILED_PRECONDITION;
  };
  // Whom the caller means is not here: to him that one is dead.
  constexpr auto kDead = grpc::StatusCode::NOT_FOUND;
  std::vector<Case> cases = {
      {wire::Batch(), "no hello"},
      {RawStream::Hello(Node(2, 2), node.ref()), "protocol version"},
      {RawStream::Hello(Node(2, 2), node.ref()), "cluster", kDead},
      {RawStream::Hello(Node(3, 3), node.ref()), "no longer a member"},
      {RawStream::Hello(Node(2, 2), Node(1, 9)), "not the node", kDead},
      {RawStream::Hello(NodeRef(), node.ref()), "no node"},
  };
  cases[1].first.mutable_hello()->set_protocol_version(99);
  cases[2].first.mutable_hello()->set_cluster(99);
  for (const Case& one : cases) {
    SCOPED_TRACE(one.reason);
    RawStream stream(node->address());
    stream.Write(one.first);
    const grpc::Status status = stream.AwaitEnd();
    EXPECT_EQ(status.error_code(), one.code);
    EXPECT_NE(status.error_message().find(one.reason), std::string::npos)
        << status.error_message();
  }
  ExpectAlive(node);
}

TEST(GrpcControlTest, AJoinInAnotherProtocolVersionIsRefused) {
  TestNode head = StartNode(Listen(), kCluster, Node(1, 1));
  auto stub =
      wire::Control::NewStub(MakeChannel(*HostPort::Parse(head->address())));
  grpc::ClientContext context;
  wire::JoinRequest request;
  request.set_protocol_version(wire::kProtocolVersion + 1);
  wire::JoinReply reply;
  const grpc::Status status = stub->Join(&context, request, &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_NE(status.error_message().find("protocol version"), std::string::npos);
}

TEST(GrpcControlTest, AJoinWithAnUnusableAddressIsRefused) {
  TestNode head = StartNode(Listen(), kCluster, Node(1, 1));
  const auto refusal = [&](const std::string& agent_address) {
    const auto welcome = Listen()->Join(head->address(), "127.0.0.1:1",
                                        agent_address, TestDeadline());
    EXPECT_EQ(welcome.status().code(), absl::StatusCode::kFailedPrecondition);
    return std::string(welcome.status().message());
  };
  EXPECT_NE(refusal("nonsense").find("own address is unusable"),
            std::string::npos);
  const std::string too_long = std::string(wire::kAddressBytesMax, 'x') + ":1";
  EXPECT_NE(refusal(too_long).find("it is too long"), std::string::npos);
}

TEST(GrpcControlTest, AFirstBatchIsAnsweredThatTheHelloWasTaken) {
  TestNode node = StartNode(Listen(), kCluster, Node(1, 1));
  RawStream stream(node->address());
  wire::Batch batch = RawStream::Hello(Node(2, 2), node.ref());
  *batch.add_messages() = *wire::Encode(Numbered(5));
  stream.Write(batch);
  wire::Batch answer;
  ASSERT_TRUE(stream.Read(answer));
  EXPECT_TRUE(answer.hello_taken());
  EXPECT_EQ(NumberOf(node.inbox->NextMessage()), 5);
}

// A link that is down for a while may end a stream for one side, which opens
// another, long before the other side hears of it.
TEST(GrpcControlTest, WhoIsLostFromSightHearsOfItOnTheNewStreamAndUsesIt) {
  TestNode node = StartNode(Listen(), kCluster, Node(1, 1));
  const NodeRef peer = Node(2, 2);
  RawStream earlier(node->address());
  earlier.Write(RawStream::Hello(peer, node.ref()));
  wire::Batch batch;
  ASSERT_TRUE(earlier.Read(batch));
  RawStream later(node->address());
  batch = RawStream::Hello(peer, node.ref());
  batch.set_sight_lost(true);
  *batch.add_messages() = *wire::Encode(Numbered(1));
  later.Write(batch);
  EXPECT_EQ(node.inbox->Next<event::PeerLost>().peer, peer);
  EXPECT_EQ(node.inbox->Next<event::PeerReturned>().peer, peer);
  EXPECT_EQ(NumberOf(node.inbox->NextMessage()), 1);
  node->Send(peer, Numbered(2));
  do {
    batch.Clear();
    ASSERT_TRUE(later.Read(batch));
  } while (batch.messages().empty());
  EXPECT_EQ(NumberOf(*wire::Decode(batch.messages(0))), 2);
}

TEST(GrpcControlTest, WhatComesLateOnAStreamThatItsSenderHasLeftIsDropped) {
  TestNode node = StartNode(Listen(), kCluster, Node(1, 1));
  const NodeRef peer = Node(2, 2);
  const auto with_number = [](wire::Batch batch, int number) {
    *batch.add_messages() = *wire::Encode(Numbered(number));
    return batch;
  };
  RawStream left(node->address());
  left.Write(with_number(RawStream::Hello(peer, node.ref()), 1));
  EXPECT_EQ(NumberOf(node.inbox->NextMessage()), 1);
  RawStream used(node->address());
  used.Write(with_number(RawStream::Hello(peer, node.ref()), 2));
  EXPECT_EQ(NumberOf(node.inbox->NextMessage()), 2);
  // The pong says that all of the batch was taken.
  wire::Batch late = with_number(wire::Batch(), 3);
  late.set_ping(99);
  left.Write(late);
  wire::Batch answer;
  do {
    answer.Clear();
    ASSERT_TRUE(left.Read(answer));
  } while (answer.pong() != 99);
  used.Write(with_number(wire::Batch(), 4));
  EXPECT_EQ(NumberOf(node.inbox->NextMessage()), 4);
}

TEST(GrpcControlTest, WhoseOtherStreamHasEndedIsToldOnTheOneThatStands) {
  TestNode node = StartNode(Listen(), kCluster, Node(1, 1));
  const NodeRef peer = Node(2, 2);
  RawStream ends(node->address());
  ends.Write(RawStream::Hello(peer, node.ref()));
  wire::Batch batch;
  ASSERT_TRUE(ends.Read(batch));
  RawStream stands(node->address());
  stands.Write(RawStream::Hello(peer, node.ref()));
  ASSERT_TRUE(stands.Read(batch));
  EXPECT_FALSE(batch.sight_lost());
  ends.Break();
  EXPECT_EQ(node.inbox->Next<event::PeerLost>().peer, peer);
  EXPECT_EQ(node.inbox->Next<event::PeerReturned>().peer, peer);
  do {
    batch.Clear();
    ASSERT_TRUE(stands.Read(batch));
  } while (!batch.sight_lost());
}

}  // namespace
}  // namespace hoplite
