// Many peers at once, and the limits of the system.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hoplite/base/mutex.h"
#include "hoplite/net/host_port.h"
#include "hoplite/net/tcp_data_address.h"
#include "hoplite/net/tcp_data_raw_peer.h"
#include "hoplite/net/tcp_data_testing.h"

namespace hoplite {
namespace {

constexpr std::uint64_t kFrame = 4096;
const PullKey kKey{.object = TestObject(1)};

std::size_t OpenDescriptors() {
  std::size_t count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    (void)entry;
    ++count;
  }
  return count;
}

// open-mpi/ompi#11508: in a storm of connections none may be lost.
TEST(TcpDataLimitsTest, SixtyFourPeersConnectAtOnce) {
  constexpr std::uint32_t kPeers = 64;
  DataNode server(1);
  const BufferPtr origin = NewFilledBuffer(10 * kFrame + 3, 1);
  server.Offer(kKey, origin);
  std::vector<std::unique_ptr<DataNode>> peers;
  for (std::uint32_t i = 0; i < kPeers; ++i) {
    peers.push_back(std::make_unique<DataNode>(i + 2));
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
  DataNode server(1);
  DataNode client(2);
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
  DataNode server(1);
  const BufferPtr origin = NewBuffer(4 * kFrame);
  origin->Advance(kFrame + 5);
  server.Offer(kKey, origin);
  std::vector<std::unique_ptr<DataNode>> peers;
  std::vector<BufferPtr> copies;
  std::vector<TransferId> transfers;
  for (std::uint32_t i = 0; i < kPeers; ++i) {
    peers.push_back(std::make_unique<DataNode>(i + 2));
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

TEST(TcpDataLimitsTest, IdleConnectionsAreBounded) {
  constexpr std::uint32_t kServers = 70;
  DataNode client(1);
  std::vector<std::unique_ptr<DataNode>> servers;
  for (std::uint32_t i = 0; i < kServers; ++i) {
    servers.push_back(std::make_unique<DataNode>(i + 2));
    servers.back()->Offer(kKey, NewFilledBuffer(kFrame, 1));
    client.plane().Learn(servers.back()->member());
    EXPECT_FALSE(client.WaitForEnd(
        client.Pull(*servers.back(), kKey, NewBuffer(kFrame))));
  }
  EXPECT_LE(client.plane().counters().connections_open, 65u);
  EXPECT_GE(client.plane().counters().connections_open, 60u);
}

TEST(TcpDataLimitsTest, DescriptorsStayFlatOverManyTransfers) {
  const int transfer_count =
      std::getenv("HOPLITE_SOAK") != nullptr ? 10'000 : 1'000;
  DataNode server(1);
  DataNode client(2);
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
