// What peers and the system may do to a data plane, with raw sockets as peers.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hoplite/base/check.h"
#include "hoplite/base/random.h"
#include "hoplite/net/host_port.h"
#include "hoplite/net/tcp_data_address.h"
#include "hoplite/net/tcp_data_testing.h"
#include "hoplite/wire/frame.h"

namespace hoplite {
namespace {

constexpr std::uint64_t kFrame = 4096;
constexpr ClusterId kCluster{7};
const PullKey kKey{.object = TestObject(1)};
constexpr NodeRef kRawNode{NodeId(99), Incarnation(99)};

using Bytes = std::vector<std::byte>;

// A blocking socket with a time limit on each call.
class RawSocket {
 public:
  explicit RawSocket(int descriptor) : descriptor_(descriptor) {
    HOPLITE_CHECK(descriptor >= 0);
    const timeval limit{.tv_sec = 30, .tv_usec = 0};
    HOPLITE_CHECK(::setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit,
                               sizeof(limit)) == 0);
  }
  static RawSocket ConnectTo(const Member& member) {
    const auto address = HostPort::Parse(member.data_address);
    const auto endpoints = Resolve(*address, Resolution::kNumericOnly);
    const Endpoint& endpoint = endpoints->front();
    const int descriptor =
        ::socket(endpoint.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    HOPLITE_CHECK(descriptor >= 0);
    HOPLITE_CHECK(::connect(descriptor, endpoint.address(), endpoint.length) ==
                  0);
    return RawSocket(descriptor);
  }
  RawSocket(RawSocket&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  RawSocket& operator=(RawSocket&&) = delete;
  ~RawSocket() { Close(); }

  void Close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }
  void Send(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent =
          ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0) return;  // the peer has closed: tests look for that
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
  }
  // Exactly so many bytes, or fewer at the end.
  Bytes Receive(std::size_t count) const {
    Bytes bytes(count);
    std::size_t got = 0;
    while (got < count) {
      const ssize_t more =
          ::recv(descriptor_, bytes.data() + got, count - got, 0);
      if (more <= 0) break;
      got += static_cast<std::size_t>(more);
    }
    bytes.resize(got);
    return bytes;
  }
  // True: the peer closes, and says nothing before.
  bool IsClosed() const {
    std::byte byte;
    const ssize_t got = ::recv(descriptor_, &byte, 1, 0);
    return got == 0 || (got < 0 && errno == ECONNRESET);
  }

 private:
  int descriptor_;
};

// Listens in the place of a node.
class RawServer {
 public:
  RawServer() {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto any =
        Resolve({.host = "127.0.0.1", .port = 0}, Resolution::kNumericOnly);
    HOPLITE_CHECK(
        ::bind(listener_, any->front().address(), any->front().length) == 0);
    HOPLITE_CHECK(::listen(listener_, 16) == 0);
  }
  ~RawServer() { ::close(listener_); }

  Member member() const {
    Endpoint endpoint;
    endpoint.length = sizeof(endpoint.storage);
    HOPLITE_CHECK(::getsockname(listener_, endpoint.mutable_address(),
                                &endpoint.length) == 0);
    return {.ref = kRawNode,
            .control_address = "",
            .data_address = endpoint.ToString()};
  }
  // The next connection, of which hello and request have been read.
  RawSocket Accept() {
    RawSocket socket(::accept(listener_, nullptr, nullptr));
    hello = socket.Receive(kHelloBytes);
    ReadRequest(socket);
    return socket;
  }
  void ReadRequest(const RawSocket& socket) {
    const Bytes bytes = socket.Receive(kPullRequestBytes);
    HOPLITE_CHECK(bytes.size() == kPullRequestBytes);
    const auto decoded =
        DecodePullRequest(std::span(bytes).first<kPullRequestBytes>());
    HOPLITE_CHECK(decoded.has_value());
    request = *decoded;
  }

  Bytes hello;
  PullRequest request;

 private:
  int listener_;
};

Bytes EncodedHello(const Hello& hello) {
  Bytes bytes(kHelloBytes);
  EncodeHello(hello, std::span(bytes).first<kHelloBytes>());
  return bytes;
}

Bytes EncodedRequest(const PullRequest& request) {
  Bytes bytes(kPullRequestBytes);
  EncodePullRequest(request, std::span(bytes).first<kPullRequestBytes>());
  return bytes;
}

Bytes EncodedHeader(const FrameHeader& header) {
  Bytes bytes(kFrameHeaderBytes);
  EncodeFrameHeader(header, std::span(bytes).first<kFrameHeaderBytes>());
  return bytes;
}

// The header of the frame at `offset` that answers the request rightly.
FrameHeader HeaderFor(const PullRequest& request, const ObjectBuffer& buffer,
                      std::uint64_t offset) {
  const std::uint64_t length =
      std::min<std::uint64_t>(request.frame_bytes, request.size - offset);
  return {.kind = FrameKind::kData,
          .transfer = request.transfer,
          .generation_digest = GenerationDigest(request.generation),
          .offset = offset,
          .frame_bytes = request.frame_bytes,
          .length = static_cast<std::uint32_t>(length),
          .checksum = Crc32c(buffer.bytes().subspan(offset, length))};
}

Bytes EncodedFrame(const PullRequest& request, const ObjectBuffer& buffer,
                   std::uint64_t offset) {
  const FrameHeader header = HeaderFor(request, buffer, offset);
  Bytes bytes = EncodedHeader(header);
  const auto payload = buffer.bytes().subspan(offset, header.length);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

PullRequest ValidRequest(std::uint64_t size) {
  return {.transfer = TransferId(1),
          .key = kKey,
          .generation = TestGeneration(1),
          .begin = 0,
          .size = size,
          .frame_bytes = kFrame};
}

double ProcessorSeconds() {
  rusage usage{};
  HOPLITE_CHECK(::getrusage(RUSAGE_SELF, &usage) == 0);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// What the process uses while it has nothing to do for so long.
double ProcessorSecondsOfAWait(absl::Duration duration) {
  const double before = ProcessorSeconds();
  Mutex mutex;
  CondVar never;
  const absl::Time deadline = absl::Now() + duration;
  MutexLock lock(mutex);
  while (never.WaitUntil(mutex, deadline)) {
  }
  return ProcessorSeconds() - before;
}

std::size_t OpenDescriptors() {
  std::size_t count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    (void)entry;
    ++count;
  }
  return count;
}

// --- A server that misbehaves. ----------------------------------------------

class BadServerTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kSize = 8 * kFrame + 100;

  BadServerTest() { client_.plane().Learn(server_.member()); }

  TransferId Pull() { return PullFrom(kKey, copy_); }
  TransferId PullFrom(PullKey key, BufferPtr buffer) {
    last_ = last_.Next();
    client_.plane().StartTransfer({.transfer = last_,
                                   .buffer = BufferId(1),
                                   .key = key,
                                   .generation = TestGeneration(1),
                                   .begin = 0,
                                   .size = buffer->size(),
                                   .frame_bytes = kFrame,
                                   .server = kRawNode},
                                  buffer);
    return last_;
  }
  // A pull that was answered wrongly from the second frame on.
  void ExpectBrokenAfterFirstFrame(const Bytes& second) {
    copy_ = NewBuffer(kSize);
    const TransferId transfer = Pull();
    const RawSocket socket = server_.Accept();
    socket.Send(EncodedFrame(server_.request, *origin_, 0));
    socket.Send(second);
    const auto failed = client_.WaitForEnd(transfer);
    ASSERT_TRUE(failed.has_value());
    EXPECT_FALSE(failed->refused);
    EXPECT_EQ(failed->received, kFrame);
    EXPECT_TRUE(socket.IsClosed());
  }

  RawServer server_;
  TestNode client_{1};
  TransferId last_;
  BufferPtr origin_ = NewFilledBuffer(kSize, 11);
  BufferPtr copy_ = NewBuffer(kSize);
};

TEST_F(BadServerTest, SaysHelloAndAsksInOneGo) {
  Pull();
  const RawSocket socket = server_.Accept();
  const auto hello = DecodeHello(
      std::span<const std::byte>(server_.hello).first<kHelloBytes>());
  ASSERT_TRUE(hello.ok());
  EXPECT_EQ(*hello, (Hello{kCluster, client_.ref(), kRawNode}));
  EXPECT_EQ(server_.request.key, kKey);
  EXPECT_EQ(server_.request.size, kSize);
}

// The reader of hoplite's first implementation took the end of a stream for
// no progress, and spun.
TEST_F(BadServerTest, AnEndInTheMiddleOfAPayloadEndsTheTransferAtOnce) {
  const TransferId transfer = Pull();
  RawSocket socket = server_.Accept();
  Bytes bytes = EncodedFrame(server_.request, *origin_, 0);
  bytes.resize(bytes.size() - 7);
  socket.Send(bytes);
  socket.Close();
  const auto failed = client_.WaitForEnd(transfer);
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->received, 0u);
  EXPECT_LT(ProcessorSecondsOfAWait(absl::Milliseconds(200)), 0.1);
}

TEST_F(BadServerTest, AFlippedBitIsCaughtAndCounted) {
  Bytes second;
  {
    PullRequest request = ValidRequest(kSize);
    second = EncodedFrame(request, *origin_, kFrame);
    second[kFrameHeaderBytes + 1000] ^= std::byte{4};
  }
  ExpectBrokenAfterFirstFrame(second);
  EXPECT_EQ(client_.plane().counters().checksum_errors, 1u);
}

TEST_F(BadServerTest, WrongHeadersBreakTheStream) {
  const auto wrong = [this](auto change) {
    PullRequest request = ValidRequest(kSize);
    request.transfer = last_.Next();
    FrameHeader header = HeaderFor(request, *origin_, kFrame);
    change(header);
    ExpectBrokenAfterFirstFrame(EncodedHeader(header));
  };
  wrong([](FrameHeader& header) { header.length = 1 << 30; });
  wrong([](FrameHeader& header) { header.length = UINT32_MAX; });
  wrong([](FrameHeader& header) { header.length = 17; });
  wrong([](FrameHeader& header) { header.offset = 2 * kFrame; });
  wrong([](FrameHeader& header) { header.offset = 0; });
  wrong([](FrameHeader& header) { header.offset = UINT64_MAX - kFrame + 1; });
  wrong([](FrameHeader& header) { header.frame_bytes *= 2; });
  wrong([](FrameHeader& header) { header.generation_digest ^= 1; });
  wrong([](FrameHeader& header) { header.transfer = TransferId(77777); });
  wrong([](FrameHeader& header) {
    header.kind = FrameKind::kKeepAlive;
    header.transfer = TransferId(77777);
  });
}

// A stream may come in any pieces, with keep-alives between any frames, and in
// frames of a size of the server's own.
TEST_F(BadServerTest, AnyPiecesOfAGoodStreamAreFine) {
  const std::uint64_t seed = absl::ToUnixMicros(absl::Now());
  std::cout << "seed " << seed << "\n";
  Random random(seed);
  for (int run = 0; run < 40; ++run) {
    const std::uint64_t size = random.Between(1, 40 * kFrame);
    const std::uint64_t begin = random.Below(size);
    const BufferPtr origin = NewFilledBuffer(size, random.Next());
    const BufferPtr copy = NewBuffer(size);
    std::copy_n(origin->bytes().begin(), begin, copy->data().begin());
    copy->Advance(begin);
    const TransferId transfer = PullFrom(kKey, copy);
    const RawSocket socket = server_.Accept();
    PullRequest request = server_.request;
    EXPECT_EQ(request.begin, begin);
    request.frame_bytes = 2048u << random.Below(6);
    const Bytes keep_alive = EncodedHeader(
        {.kind = FrameKind::kKeepAlive,
         .transfer = request.transfer,
         .generation_digest = GenerationDigest(request.generation)});
    Bytes stream;
    for (std::uint64_t at = begin - begin % request.frame_bytes; at < size;
         at += request.frame_bytes) {
      while (random.Chance(1, 4)) {
        stream.insert(stream.end(), keep_alive.begin(), keep_alive.end());
      }
      const Bytes frame = EncodedFrame(request, *origin, at);
      stream.insert(stream.end(), frame.begin(), frame.end());
    }
    const std::uint64_t largest = 1u << random.Below(18);
    for (std::size_t at = 0; at < stream.size();) {
      const std::size_t length = std::min<std::size_t>(
          stream.size() - at,
          random.Between(std::max<std::uint64_t>(largest / 4, 1), largest) +
              stream.size() / 2000);
      socket.Send(std::span(stream).subspan(at, length));
      at += length;
    }
    EXPECT_FALSE(client_.WaitForEnd(transfer));
    EXPECT_TRUE(SameBytes(*origin, *copy));
    client_.plane().Forget({NodeId(99), Incarnation(1)});
  }
}

TEST_F(BadServerTest, AClosedConnectionOfThePoolIsReplacedUnseen) {
  const TransferId first = Pull();
  {
    const RawSocket socket = server_.Accept();
    for (std::uint64_t at = 0; at < kSize; at += kFrame) {
      socket.Send(EncodedFrame(server_.request, *origin_, at));
    }
    EXPECT_FALSE(client_.WaitForEnd(first));
    // On the same connection, which ends before an answer.
    copy_ = NewBuffer(kSize);
    Pull();
    server_.ReadRequest(socket);
  }
  const RawSocket socket = server_.Accept();
  for (std::uint64_t at = 0; at < kSize; at += kFrame) {
    socket.Send(EncodedFrame(server_.request, *origin_, at));
  }
  EXPECT_FALSE(client_.WaitForEnd(last_));
  EXPECT_TRUE(SameBytes(*origin_, *copy_));
}

TEST_F(BadServerTest, AnAddressWhereNobodyListensFails) {
  std::string address;
  {
    const RawServer gone;
    address = gone.member().data_address;
  }
  client_.plane().Learn(
      {.ref = kRawNode, .control_address = "", .data_address = address});
  EXPECT_TRUE(client_.WaitForEnd(Pull()).has_value());
  client_.plane().Learn({.ref = kRawNode,
                         .control_address = "",
                         .data_address = "no-such-host.invalid:7000"});
  EXPECT_TRUE(client_.WaitForEnd(Pull()).has_value());
  client_.plane().Learn(
      {.ref = kRawNode, .control_address = "", .data_address = "nonsense"});
  EXPECT_TRUE(client_.WaitForEnd(Pull()).has_value());
}

// --- Clients that misbehave. ------------------------------------------------

class BadClientTest : public testing::Test {
 protected:
  BadClientTest() {
    Introduce({&server_, &client_});
    server_.Offer(kKey, origin_);
  }
  ~BadClientTest() override {
    // Whatever came, others are unharmed.
    const BufferPtr copy = NewBuffer(origin_->size());
    EXPECT_FALSE(client_.WaitForEnd(client_.Pull(server_, kKey, copy)));
    EXPECT_TRUE(SameBytes(*origin_, *copy));
    EXPECT_EQ(server_.Count<event::PullRequested>(), pulls_ + 1);
  }
  Hello GoodHello() const { return {kCluster, kRawNode, server_.ref()}; }

  TestNode server_{1};
  TestNode client_{2};
  BufferPtr origin_ = NewFilledBuffer(3 * kFrame + 1, 5);
  std::size_t pulls_ = 0;
};

TEST_F(BadClientTest, AWrongHelloIsCutWithoutAWord) {
  std::vector<Hello> hellos(6, GoodHello());
  hellos[0].cluster = ClusterId(8);
  hellos[1].server.node = NodeId(3);
  hellos[2].server.incarnation = Incarnation(2);
  hellos[3].client = NodeRef();
  hellos[4].client.incarnation = Incarnation(98);
  server_.plane().Forget({NodeId(99), Incarnation(98)});
  hellos[5].client.incarnation = Incarnation(97);
  for (std::size_t i = 0; i < hellos.size(); ++i) {
    SCOPED_TRACE(i);
    const RawSocket socket = RawSocket::ConnectTo(server_.member());
    socket.Send(EncodedHello(hellos[i]));
    EXPECT_TRUE(socket.IsClosed());
  }
}

TEST_F(BadClientTest, AnotherVersionIsCut) {
  Bytes hello = EncodedHello(GoodHello());
  hello[4] = std::byte{2};
  const std::uint32_t checksum =
      Crc32c(std::span(hello).first(kHelloBytes - 4));
  for (int i = 0; i < 4; ++i) {
    hello[kHelloBytes - 4 + static_cast<std::size_t>(i)] =
        static_cast<std::byte>(checksum >> (8 * i));
  }
  EXPECT_EQ(DecodeHello(std::span<const std::byte>(hello).first<kHelloBytes>())
                .status()
                .code(),
            absl::StatusCode::kFailedPrecondition);
  const RawSocket socket = RawSocket::ConnectTo(server_.member());
  socket.Send(hello);
  EXPECT_TRUE(socket.IsClosed());
}

TEST_F(BadClientTest, HalfAHelloHarmsNobody) {
  Bytes half = EncodedHello(GoodHello());
  half.resize(20);
  RawSocket gone = RawSocket::ConnectTo(server_.member());
  gone.Send(half);
  gone.Close();
  const RawSocket stays = RawSocket::ConnectTo(server_.member());
  stays.Send(half);
}

TEST_F(BadClientTest, ARequestByteByByteIsServed) {
  Bytes bytes = EncodedHello(GoodHello());
  const PullRequest request = ValidRequest(origin_->size());
  const Bytes encoded = EncodedRequest(request);
  bytes.insert(bytes.end(), encoded.begin(), encoded.end());
  const RawSocket socket = RawSocket::ConnectTo(server_.member());
  for (const std::byte& byte : bytes) socket.Send({&byte, 1});
  for (std::uint64_t at = 0; at < origin_->size(); at += kFrame) {
    const Bytes expected = EncodedFrame(request, *origin_, at);
    EXPECT_EQ(socket.Receive(expected.size()), expected);
  }
  pulls_ = 1;
}

// grpc/grpc#19221: a length that a peer claims must not be believed.
TEST_F(BadClientTest, ImpossibleRequestsAreCut) {
  std::vector<PullRequest> requests(5, ValidRequest(1 << 20));
  requests[0].frame_bytes = 0;
  requests[1].frame_bytes = UINT32_MAX;
  requests[2].frame_bytes = 3000;
  requests[3].frame_bytes = 2u << 20;
  requests[4].begin = requests[4].size + 1;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    SCOPED_TRACE(i);
    const RawSocket socket = RawSocket::ConnectTo(server_.member());
    socket.Send(EncodedHello(GoodHello()));
    socket.Send(EncodedRequest(requests[i]));
    EXPECT_TRUE(socket.IsClosed());
  }
}

TEST_F(BadClientTest, ASizeThatIsNotTheObjectsIsRefused) {
  for (const std::uint64_t size :
       {std::uint64_t{0}, origin_->size() + 1, UINT64_MAX}) {
    const RawSocket socket = RawSocket::ConnectTo(server_.member());
    socket.Send(EncodedHello(GoodHello()));
    socket.Send(EncodedRequest(ValidRequest(size)));
    const Bytes answer = socket.Receive(kFrameHeaderBytes);
    ASSERT_EQ(answer.size(), kFrameHeaderBytes);
    const auto header = DecodeFrameHeader(
        std::span<const std::byte>(answer).first<kFrameHeaderBytes>());
    ASSERT_TRUE(header.has_value());
    EXPECT_EQ(header->kind, FrameKind::kRefusal);
    ++pulls_;
  }
}

TEST_F(BadClientTest, WhoSpeaksWhileHePullsIsCut) {
  const PullKey waiting{.object = TestObject(8)};
  PullRequest request = ValidRequest(kFrame);
  request.key = waiting;
  const RawSocket socket = RawSocket::ConnectTo(server_.member());
  socket.Send(EncodedHello(GoodHello()));
  socket.Send(EncodedRequest(request));
  ASSERT_TRUE(server_.WaitFor([](const Event& event) {
    return std::holds_alternative<event::PullRequested>(event);
  }));
  socket.Send(EncodedRequest(request));
  EXPECT_TRUE(socket.IsClosed());
  EXPECT_TRUE(server_.WaitFor([](const Event& event) {
    return std::holds_alternative<event::PullEnded>(event);
  }));
  pulls_ = 1;
}

TEST_F(BadClientTest, GarbageIsCut) {
  const std::uint64_t seed = absl::ToUnixMicros(absl::Now());
  std::cout << "seed " << seed << "\n";
  Random random(seed);
  for (int run = 0; run < 200; ++run) {
    Bytes bytes = EncodedHello(GoodHello());
    const Bytes request = EncodedRequest(ValidRequest(origin_->size()));
    bytes.insert(bytes.end(), request.begin(), request.end());
    const bool is_noise = random.Chance(1, 2);
    if (is_noise) {
      bytes.resize(random.Between(kHelloBytes, 4096));
      for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(random.Next());
      }
    } else {
      const std::size_t at = random.Below(bytes.size());
      bytes[at] ^= std::byte{1} << random.Below(8);
    }
    const RawSocket socket = RawSocket::ConnectTo(server_.member());
    socket.Send(bytes);
    EXPECT_TRUE(socket.IsClosed());
  }
}

// --- Many of them, and limits of the system. --------------------------------

// open-mpi/ompi#11508: in a storm of connections none may be lost.
TEST(TcpDataLimitsTest, SixtyFourPeersConnectAtOnce) {
  constexpr std::uint32_t kPeers = 64;
  TestNode server(1);
  const BufferPtr origin = NewFilledBuffer(10 * kFrame + 3, 1);
  server.Offer(kKey, origin);
  std::vector<std::unique_ptr<TestNode>> peers;
  for (std::uint32_t i = 0; i < kPeers; ++i) {
    peers.push_back(std::make_unique<TestNode>(i + 2));
    peers.back()->plane().Learn(server.member());
  }
  std::vector<BufferPtr> copies;
  std::vector<TransferId> transfers;
  for (const auto& peer : peers) {
    copies.push_back(NewBuffer(origin->size()));
    transfers.push_back(peer->Pull(server, kKey, copies.back()));
  }
  for (std::size_t i = 0; i < peers.size(); ++i) {
    EXPECT_FALSE(peers[i]->WaitForEnd(transfers[i]));
    EXPECT_TRUE(SameBytes(*origin, *copies[i]));
  }
}

// ray-project/ray#26825: accept4 fails for want of descriptors.
TEST(TcpDataLimitsTest, WantOfDescriptorsNeitherSpinsNorLasts) {
  TestNode server(1);
  TestNode client(2);
  Introduce({&server, &client});
  const BufferPtr origin = NewFilledBuffer(kFrame, 1);
  server.Offer(kKey, origin);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(before.rlim_cur, before.rlim_max) << "the plane raises it";
  std::vector<RawSocket> sockets;
  // The lowest free descriptor and some more: half for these sockets' ends.
  const rlimit few{.rlim_cur = OpenDescriptors() + 20,
                   .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto endpoints = Resolve(*HostPort::Parse(server.member().data_address),
                                 Resolution::kNumericOnly);
  for (;;) {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) break;
    sockets.emplace_back(descriptor);
    ASSERT_EQ(::connect(descriptor, endpoints->front().address(),
                        endpoints->front().length),
              0);
  }
  EXPECT_GE(sockets.size(), 9u);
  EXPECT_LT(ProcessorSecondsOfAWait(absl::Seconds(1)), 0.2);
  sockets.clear();
  const BufferPtr copy = NewBuffer(kFrame);
  EXPECT_FALSE(client.WaitForEnd(client.Pull(server, kKey, copy)));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

// The first implementation of the paper tried again without waiting.
TEST(TcpDataLimitsTest, StalledReceiversUseNoProcessor) {
  constexpr std::uint32_t kPeers = 16;
  TestNode server(1);
  const BufferPtr origin = NewBuffer(4 * kFrame);
  origin->Advance(kFrame + 5);
  server.Offer(kKey, origin);
  std::vector<std::unique_ptr<TestNode>> peers;
  std::vector<BufferPtr> copies;
  std::vector<TransferId> transfers;
  for (std::uint32_t i = 0; i < kPeers; ++i) {
    peers.push_back(std::make_unique<TestNode>(i + 2));
    peers.back()->plane().Learn(server.member());
    copies.push_back(NewBuffer(origin->size()));
    transfers.push_back(peers.back()->Pull(server, kKey, copies.back()));
  }
  for (const BufferPtr& copy : copies) {
    ASSERT_TRUE(copy->WaitFor(kFrame, absl::Now() + kPatience).ok());
  }
  EXPECT_LT(ProcessorSecondsOfAWait(absl::Seconds(2)), 0.04);
  origin->Advance(origin->size());
  for (std::size_t i = 0; i < peers.size(); ++i) {
    EXPECT_FALSE(peers[i]->WaitForEnd(transfers[i]));
  }
}

TEST(TcpDataLimitsTest, DescriptorsStayFlatOverManyTransfers) {
  const int transfer_count =
      std::getenv("HOPLITE_SOAK") != nullptr ? 10'000 : 1'000;
  TestNode server(1);
  TestNode client(2);
  Introduce({&server, &client});
  const PullKey never{.object = TestObject(2)};
  server.Offer(kKey, NewFilledBuffer(kFrame + 1, 1));
  EXPECT_FALSE(
      client.WaitForEnd(client.Pull(server, kKey, NewBuffer(kFrame + 1))));
  const std::size_t before = OpenDescriptors();
  for (int i = 0; i < transfer_count; ++i) {
    EXPECT_FALSE(
        client.WaitForEnd(client.Pull(server, kKey, NewBuffer(kFrame + 1))));
    // A cancelled one closes its connection.
    const TransferId cancelled = client.Pull(server, never, NewBuffer(1));
    client.plane().CancelTransfer(cancelled);
    EXPECT_TRUE(client.WaitForEnd(cancelled).has_value());
  }
  // The server hears of the last ends a little later.
  const absl::Time deadline = absl::Now() + kPatience;
  while (server.plane().counters().connections_open > 1 &&
         absl::Now() < deadline) {
    EXPECT_FALSE(
        client.WaitForEnd(client.Pull(server, kKey, NewBuffer(kFrame + 1))));
  }
  EXPECT_LE(OpenDescriptors(), before + 2);
}

}  // namespace
}  // namespace hoplite
