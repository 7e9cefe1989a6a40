// What a server may do to who pulls from it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <span>
#include <string>
#include <utility>

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
  DataNode client_{1};
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
  const Bytes bytes = EncodedFrame(server_.request, *origin_, 0);
  socket.Send(std::span(bytes).first(bytes.size() - 7));
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
  EXPECT_THAT(client_.plane().TroubleWith(kRawNode),
              ::testing::HasSubstr("checksum"));
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

// dask/distributed#8006: who could not be reached was waited for, and nothing
// said why.
TEST_F(BadServerTest, AnAddressWhereNobodyListensFailsAndSaysWhy) {
  std::string refused;
  {
    const RawServer gone;
    refused = gone.member().data_address;
  }
  for (const auto& [address, why] :
       {std::pair<std::string, std::string>{refused, "refused"},
        {"no-such-host.invalid:7000", "no-such-host.invalid"},
        {"nonsense", "nonsense"}}) {
    client_.plane().Learn(
        {.ref = kRawNode, .control_address = "", .data_address = address});
    EXPECT_TRUE(client_.WaitForEnd(Pull()).has_value());
    const std::string trouble = client_.plane().TroubleWith(kRawNode);
    EXPECT_THAT(trouble, ::testing::HasSubstr(address));
    EXPECT_THAT(trouble, ::testing::HasSubstr(why));
  }
}

}  // namespace
}  // namespace hoplite
