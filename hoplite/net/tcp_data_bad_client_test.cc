// What a client may do to who serves it.

#include <gtest/gtest.h>

#include <cstddef>
#include <iostream>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hoplite/base/random.h"
#include "hoplite/net/tcp_data_raw_peer.h"
#include "hoplite/net/tcp_data_testing.h"
#include "hoplite/wire/frame.h"

namespace hoplite {
namespace {

constexpr std::uint64_t kFrame = 4096;
constexpr ClusterId kCluster{7};
const PullKey kKey{.object = TestObject(1)};

PullRequest ValidRequest(std::uint64_t size) {
  return {.transfer = TransferId(1),
          .key = kKey,
          .generation = TestGeneration(1),
          .begin = 0,
          .size = size,
          .frame_bytes = kFrame};
}

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

  DataNode server_{1};
  DataNode client_{2};
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

}  // namespace
}  // namespace hoplite
