// Whole transfers between data planes over loopback: content, order, ends.

#include "hoplite/net/tcp_data.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <variant>
#include <vector>

#include "hoplite/net/tcp_data_testing.h"

namespace hoplite {
namespace {

constexpr std::uint64_t kFrame = 4096;
const PullKey kKey{.object = TestObject(1)};

template <typename Kind>
bool Is(const Event& event) {
  return std::holds_alternative<Kind>(event);
}

TEST(TcpDataTest, AnObjectOfAnySizeArrivesWhole) {
  DataNode server(1);
  DataNode client(2);
  Introduce({&server, &client});
  std::uint8_t number = 10;
  for (const std::uint64_t size :
       {std::uint64_t{0}, std::uint64_t{1}, kFrame - 1, kFrame, kFrame + 1,
        3 * kFrame - 1, 3 * kFrame, 3 * kFrame + 1, 100 * kFrame + 17,
        std::uint64_t{5} << 20}) {
    SCOPED_TRACE(size);
    const PullKey key{.object = TestObject(++number)};
    const BufferPtr origin = NewFilledBuffer(size, size + 1);
    server.Offer(key, origin);
    const BufferPtr copy = NewBuffer(size);
    EXPECT_FALSE(client.WaitForEnd(client.Pull(server, key, copy, kFrame)));
    EXPECT_TRUE(copy->complete());
    EXPECT_TRUE(SameBytes(*origin, *copy));
  }
  // One connection has carried them all; nothing empty was asked for.
  EXPECT_EQ(client.plane().counters().connections_open, 1u);
  EXPECT_EQ(client.plane().counters().transfers_started, 9u);
  EXPECT_EQ(server.plane().counters().pulls_served, 9u);
  EXPECT_EQ(server.Count<event::PullEnded>(), 9u);
}

TEST(TcpDataTest, EveryFrameSizeGoes) {
  DataNode server(1);
  DataNode client(2);
  Introduce({&server, &client});
  std::uint8_t number = 0;
  for (std::uint64_t frame = 2 << 10; frame <= 1 << 20; frame *= 2) {
    SCOPED_TRACE(frame);
    const PullKey key{.object = TestObject(++number)};
    const BufferPtr origin = NewFilledBuffer(3'000'001, frame);
    server.Offer(key, origin);
    const BufferPtr copy = NewBuffer(origin->size());
    EXPECT_FALSE(client.WaitForEnd(client.Pull(server, key, copy, frame)));
    EXPECT_TRUE(SameBytes(*origin, *copy));
    EXPECT_EQ(copy->frame_bytes(), frame);
  }
}

TEST(TcpDataTest, AChainOfRelaysPassesBytesAndChecksumsOfTheOriginOn) {
  constexpr std::uint64_t kSize = 200 * kFrame + 5;
  std::vector<std::unique_ptr<DataNode>> nodes;
  std::vector<DataNode*> all;
  for (std::uint32_t i = 1; i <= 5; ++i) {
    nodes.push_back(std::make_unique<DataNode>(i));
    all.push_back(nodes.back().get());
  }
  Introduce(all);
  // All copies are pulled and offered before the origin has a single byte.
  const BufferPtr filled = NewFilledBuffer(kSize, 3);
  std::vector<BufferPtr> copies = {NewBuffer(kSize)};
  nodes[0]->Offer(kKey, copies[0]);
  std::vector<TransferId> transfers = {TransferId()};
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    copies.push_back(NewBuffer(kSize));
    nodes[i]->Offer(kKey, copies[i]);
    transfers.push_back(nodes[i]->Pull(*nodes[i - 1], kKey, copies[i], kFrame));
  }
  for (std::uint64_t at = 0; at < kSize;) {
    const std::uint64_t end = std::min(at + 1777, kSize);
    std::copy(filled->bytes().begin() + at, filled->bytes().begin() + end,
              copies[0]->data().begin() + at);
    copies[0]->Advance(end);
    at = end;
  }
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    EXPECT_FALSE(nodes[i]->WaitForEnd(transfers[i]));
    EXPECT_TRUE(SameBytes(*filled, *copies[i]));
    for (std::uint64_t frame = 0; frame * kFrame < kSize; ++frame) {
      ASSERT_TRUE(copies[i]->frame_checksum(frame).has_value());
      EXPECT_EQ(copies[i]->frame_checksum(frame),
                copies[0]->frame_checksum(frame));
    }
  }
}

TEST(TcpDataTest, ReadersFollowAWriterStepByStep) {
  constexpr std::uint64_t kSize = 8 * kFrame;
  DataNode server(1);
  DataNode client(2);
  Introduce({&server, &client});
  const BufferPtr filled = NewFilledBuffer(kSize, 3);
  const BufferPtr origin = NewBuffer(kSize);
  const BufferPtr copy = NewBuffer(kSize);
  server.Offer(kKey, origin);
  const TransferId transfer = client.Pull(server, kKey, copy, kFrame);
  for (std::uint64_t end = kFrame; end <= kSize; end += kFrame) {
    std::copy_n(filled->bytes().begin() + (end - kFrame), kFrame,
                origin->data().begin() + (end - kFrame));
    origin->Advance(end);
    // What is there comes without anything after it.
    ASSERT_TRUE(copy->WaitFor(end, absl::Now() + kPatience).ok());
  }
  EXPECT_FALSE(client.WaitForEnd(transfer));
  EXPECT_TRUE(SameBytes(*filled, *copy));
}

TEST(TcpDataTest, AnOrderWaitsUntilItsServerIsKnown) {
  DataNode server(1);
  DataNode client(2);
  const BufferPtr origin = NewFilledBuffer(kFrame, 3);
  const BufferPtr copy = NewBuffer(kFrame);
  server.Offer(kKey, origin);
  const TransferId transfer = client.Pull(server, kKey, copy, kFrame);
  client.plane().Learn(server.member());
  EXPECT_FALSE(client.WaitForEnd(transfer));
  EXPECT_TRUE(SameBytes(*origin, *copy));
}

TEST(TcpDataTest, ARefusedPullLeavesItsConnectionUsable) {
  DataNode server(1);
  DataNode client(2);
  Introduce({&server, &client});
  server.Offer(kKey, nullptr);
  const BufferPtr copy = NewBuffer(kFrame);
  const auto failed = client.WaitForEnd(client.Pull(server, kKey, copy));
  ASSERT_TRUE(failed.has_value());
  EXPECT_TRUE(failed->refused);
  EXPECT_EQ(failed->received, 0u);
  server.Offer(kKey, NewFilledBuffer(kFrame, 1));
  EXPECT_FALSE(client.WaitForEnd(client.Pull(server, kKey, copy)));
  EXPECT_EQ(server.plane().counters().connections_open, 1u);
  // The client may be done before the server says so.
  std::set<PullId> ended;
  EXPECT_TRUE(server.WaitFor([&ended](const Event& event) {
    if (const auto* end = std::get_if<event::PullEnded>(&event)) {
      ended.insert(end->pull);
    }
    return ended.size() == 2;
  }));
}

TEST(TcpDataTest, ARefusalEndsAPullThatIsServed) {
  DataNode server(1);
  DataNode client(2);
  Introduce({&server, &client});
  const BufferPtr origin = NewBuffer(2 * kFrame);
  origin->Advance(kFrame);
  const BufferPtr copy = NewBuffer(2 * kFrame);
  server.Offer(kKey, origin);
  const TransferId transfer = client.Pull(server, kKey, copy, kFrame);
  ASSERT_TRUE(copy->WaitFor(kFrame, absl::Now() + kPatience).ok());
  server.Offer(kKey, nullptr);
  const auto failed = client.WaitForEnd(transfer);
  ASSERT_TRUE(failed.has_value());
  EXPECT_TRUE(failed->refused);
  EXPECT_EQ(failed->received, kFrame);
  EXPECT_TRUE(server.WaitFor(Is<event::PullEnded>));
}

TEST(TcpDataTest, AFailedBufferIsRefusedToWhoFollowsIt) {
  DataNode server(1);
  DataNode client(2);
  Introduce({&server, &client});
  const BufferPtr origin = NewBuffer(2 * kFrame);
  origin->Advance(kFrame);
  const BufferPtr copy = NewBuffer(2 * kFrame);
  server.Offer(kKey, origin);
  const TransferId transfer = client.Pull(server, kKey, copy, kFrame);
  ASSERT_TRUE(copy->WaitFor(kFrame, absl::Now() + kPatience).ok());
  origin->Fail(absl::CancelledError("the writer is gone"));
  const auto failed = client.WaitForEnd(transfer);
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->received, kFrame);
}

TEST(TcpDataTest, ACancelledTransferEndsAtBothEndsAndResumesAtItsByte) {
  DataNode server(1);
  DataNode other(3);
  DataNode client(2);
  Introduce({&server, &client, &other});
  constexpr std::uint64_t kSize = 4 * kFrame;
  const BufferPtr whole = NewFilledBuffer(kSize, 5);
  const BufferPtr origin = NewBuffer(kSize);
  std::copy_n(whole->bytes().begin(), kSize, origin->data().begin());
  origin->Advance(2 * kFrame + 7);
  const BufferPtr copy = NewBuffer(kSize);
  server.Offer(kKey, origin);
  const TransferId transfer = client.Pull(server, kKey, copy, kFrame);
  ASSERT_TRUE(copy->WaitFor(2 * kFrame, absl::Now() + kPatience).ok());
  client.plane().CancelTransfer(transfer);
  const auto failed = client.WaitForEnd(transfer);
  ASSERT_TRUE(failed.has_value());
  EXPECT_FALSE(failed->refused);
  EXPECT_EQ(failed->received, 2 * kFrame);
  EXPECT_TRUE(server.WaitFor(Is<event::PullEnded>));
  client.plane().CancelTransfer(transfer);  // too late: nothing
  // The other server has larger frames: what is there already stays.
  ASSERT_TRUE(whole->SetFrameBytes(4 * kFrame));
  other.Offer(kKey, whole);
  copy->Advance(2 * kFrame);
  EXPECT_FALSE(
      client.WaitForEnd(client.Pull(other, kKey, copy, kFrame, 2 * kFrame)));
  EXPECT_TRUE(SameBytes(*whole, *copy));
  EXPECT_EQ(client.Count<event::TransferFailed>(), 1u);
}

TEST(TcpDataTest, APullResumesInTheMiddleOfAFrame) {
  DataNode server(1);
  DataNode client(2);
  Introduce({&server, &client});
  const BufferPtr whole = NewFilledBuffer(5 * kFrame + 9, 5);
  server.Offer(kKey, whole);
  for (const std::uint64_t begin : {std::uint64_t{1}, kFrame - 1, kFrame + 1,
                                    5 * kFrame + 1, 5 * kFrame + 8}) {
    SCOPED_TRACE(begin);
    const BufferPtr copy = NewBuffer(whole->size());
    std::copy_n(whole->bytes().begin(), begin, copy->data().begin());
    copy->Advance(begin);
    EXPECT_FALSE(
        client.WaitForEnd(client.Pull(server, kKey, copy, kFrame, begin)));
    EXPECT_TRUE(SameBytes(*whole, *copy));
  }
}

TEST(TcpDataTest, AServerThatGoesAwayEndsItsTransfersAtOnce) {
  auto server = std::make_unique<DataNode>(1);
  DataNode client(2);
  Introduce({server.get(), &client});
  const BufferPtr origin = NewBuffer(2 * kFrame);
  origin->Advance(kFrame);
  server->Offer(kKey, origin);
  const BufferPtr copy = NewBuffer(2 * kFrame);
  const TransferId transfer = client.Pull(*server, kKey, copy, kFrame);
  ASSERT_TRUE(copy->WaitFor(kFrame, absl::Now() + kPatience).ok());
  const TransferId waiting =
      client.Pull(*server, {.object = TestObject(9)}, NewBuffer(kFrame));
  ASSERT_TRUE(server->WaitFor([](const Event& event) {
    const auto* pull = std::get_if<event::PullRequested>(&event);
    return pull != nullptr && pull->key != kKey;
  }));
  server = nullptr;
  const auto failed = client.WaitForEnd(transfer);
  ASSERT_TRUE(failed.has_value());
  EXPECT_FALSE(failed->refused);
  EXPECT_EQ(failed->received, kFrame);
  EXPECT_TRUE(client.WaitForEnd(waiting).has_value());
}

TEST(TcpDataTest, AForgottenMemberIsNeitherCalledNorAnswered) {
  DataNode server(1);
  DataNode client(2);
  Introduce({&server, &client});
  const BufferPtr copy = NewBuffer(kFrame);
  const TransferId transfer = client.Pull(server, kKey, copy);
  ASSERT_TRUE(server.WaitFor(Is<event::PullRequested>));
  // The server hears of the client's death: the pull ends, new ones fail.
  server.plane().Forget(client.ref());
  EXPECT_TRUE(server.WaitFor(Is<event::PullEnded>));
  EXPECT_TRUE(client.WaitForEnd(transfer).has_value());
  EXPECT_TRUE(client.WaitForEnd(client.Pull(server, kKey, copy)).has_value());
  EXPECT_EQ(server.Count<event::PullRequested>(), 1u);
  // The client hears of the server's: it does not even try.
  client.plane().Forget(server.ref());
  const std::uint64_t before = server.plane().counters().connections_open;
  EXPECT_TRUE(client.WaitForEnd(client.Pull(server, kKey, copy)).has_value());
  EXPECT_LE(server.plane().counters().connections_open, before);
}

TEST(TcpDataTest, NoEventComesAfterShutdown) {
  DataNode server(1);
  DataNode client(2);
  Introduce({&server, &client});
  const BufferPtr origin = NewBuffer(2 * kFrame);
  server.Offer(kKey, origin);
  client.Pull(server, kKey, NewBuffer(2 * kFrame));
  ASSERT_TRUE(server.WaitFor(Is<event::PullRequested>));
  server.plane().Shutdown();
  EXPECT_TRUE(client.WaitFor(Is<event::TransferFailed>));
  origin->Advance(kFrame);
  origin->Fail(absl::CancelledError("over"));
  EXPECT_EQ(server.Count<event::PullEnded>(), 0u);
}

}  // namespace
}  // namespace hoplite
