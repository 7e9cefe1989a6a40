// Where a data plane listens, whom it reaches, and what it says unasked.

#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "hoplite/net/tcp_data.h"
#include "hoplite/net/tcp_data_raw_peer.h"
#include "hoplite/net/tcp_data_testing.h"
#include "hoplite/wire/frame.h"

namespace hoplite {
namespace {

constexpr std::uint64_t kFrame = 4096;
const PullKey kKey{.object = TestObject(1)};

absl::Status StatusOfListening(absl::string_view address,
                               absl::string_view advertised = "") {
  return ListenTcpData({.listen_address = std::string(address),
                        .advertise_host = std::string(advertised)})
      .status();
}

class ListenTest : public testing::TestWithParam<const char*> {};

TEST_P(ListenTest, TransfersGoOverEveryKindOfAddress) {
  DataNode server(1, GetParam());
  DataNode client(2);
  Introduce({&server, &client});
  const BufferPtr origin = NewFilledBuffer(3 * kFrame, 1);
  const BufferPtr copy = NewBuffer(origin->size());
  server.Offer(kKey, origin);
  EXPECT_FALSE(client.WaitForEnd(client.Pull(server, kKey, copy)))
      << server.member().data_address;
  EXPECT_TRUE(SameBytes(*origin, *copy));
}

INSTANTIATE_TEST_SUITE_P(Addresses, ListenTest,
                         testing::Values("127.0.0.1:0", "[::1]:0",
                                         "localhost:0"));

TEST(TcpDataListenTest, AllInterfacesNeedAHostToAdvertise) {
  EXPECT_EQ(StatusOfListening("0.0.0.0:0").code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(StatusOfListening("[::]:0").code(),
            absl::StatusCode::kInvalidArgument);
  const auto plane =
      ListenTcpData({.listen_address = "[::]:0", .advertise_host = "::1"});
  ASSERT_TRUE(plane.ok());
  EXPECT_TRUE(absl::StartsWith((*plane)->address(), "[::1]:"));
}

// ray-project/ray#14098: a start succeeded although the port was taken.
TEST(TcpDataListenTest, AnAddressThatIsTakenIsNamed) {
  const DataNode taken(1);
  const std::string address = taken.member().data_address;
  const absl::Status status = StatusOfListening(address);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(status.message(), address)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "in use")) << status;
}

TEST(TcpDataListenTest, AnAddressThatIsNoneIsRefused) {
  EXPECT_EQ(StatusOfListening("::1").code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(StatusOfListening("localhost").code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(StatusOfListening("no-such-host.invalid:0").code(),
            absl::StatusCode::kUnavailable);
}

// Mesh-LLM/mesh-llm#542: another node may answer at the address of the one
// that is meant; its bytes would be good ones of the wrong object.
TEST(TcpDataListenTest, AnotherNodeAtTheSameAddressIsNotTakenForTheRightOne) {
  DataNode other(1);
  DataNode client(2);
  other.Offer(kKey, NewFilledBuffer(kFrame, 1));
  client.plane().Learn({.ref = kRawNode,
                        .control_address = "",
                        .data_address = other.member().data_address});
  client.plane().StartTransfer({.transfer = TransferId(1),
                                .buffer = BufferId(1),
                                .key = kKey,
                                .generation = TestGeneration(1),
                                .begin = 0,
                                .size = kFrame,
                                .frame_bytes = kFrame,
                                .server = kRawNode},
                               NewBuffer(kFrame));
  EXPECT_TRUE(client.WaitForEnd(TransferId(1)).has_value());
  EXPECT_EQ(other.Count<event::PullRequested>(), 0u);
}

TEST(TcpDataListenTest, AServerWithNothingToSendSaysSo) {
  DataNode server(1);
  const BufferPtr origin = NewBuffer(2 * kFrame);
  origin->Advance(kFrame);
  server.Offer(kKey, origin);
  const PullRequest request{.transfer = TransferId(1),
                            .key = kKey,
                            .generation = TestGeneration(1),
                            .begin = 0,
                            .size = origin->size(),
                            .frame_bytes = kFrame};
  const RawSocket socket = RawSocket::ConnectTo(server.member());
  socket.Send(EncodedHello({ClusterId(7), kRawNode, server.ref()}));
  socket.Send(EncodedRequest(request));
  const Bytes first = EncodedFrame(request, *origin, 0);
  EXPECT_EQ(socket.Receive(first.size()), first);
  const Bytes keep_alive = EncodedHeader(
      {.kind = FrameKind::kKeepAlive,
       .transfer = request.transfer,
       .generation_digest = GenerationDigest(request.generation)});
  EXPECT_EQ(socket.Receive(keep_alive.size()), keep_alive);
  EXPECT_EQ(socket.Receive(keep_alive.size()), keep_alive);
  origin->Advance(2 * kFrame);
  const Bytes last = EncodedFrame(request, *origin, kFrame);
  EXPECT_EQ(socket.Receive(last.size()), last);
}

TEST(TcpDataListenTest, LargeTransfersMeasureTheirLink) {
  DataNode server(1);
  DataNode client(2);
  Introduce({&server, &client});
  server.Offer(kKey, NewFilledBuffer(60 << 10, 1));
  EXPECT_FALSE(
      client.WaitForEnd(client.Pull(server, kKey, NewBuffer(60 << 10))));
  EXPECT_EQ(client.Count<event::BandwidthMeasured>(), 0u);
  server.Offer(kKey, NewFilledBuffer(64 << 10, 1));
  EXPECT_FALSE(
      client.WaitForEnd(client.Pull(server, kKey, NewBuffer(64 << 10))));
  EXPECT_EQ(client.Count<event::BandwidthMeasured>(), 1u);
  EXPECT_TRUE(client.WaitFor([](const Event& event) {
    const auto* measured = std::get_if<event::BandwidthMeasured>(&event);
    return measured != nullptr && measured->bytes_per_second > 1e6;
  }));
}

}  // namespace
}  // namespace hoplite
