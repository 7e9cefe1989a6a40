#include "hoplite/net/peer_troubles.h"

#include <gtest/gtest.h>

namespace hoplite {
namespace {

NodeRef Peer(std::uint32_t number) { return {NodeId(number), Incarnation(1)}; }

TEST(PeerTroublesTest, TheLastTroubleOfEachPeerIsKeptUntilItIsForgotten) {
  PeerTroubles troubles;
  troubles.Note(Peer(1), "refused");
  troubles.Note(Peer(2), "silent");
  troubles.Note(Peer(1), "timed out");
  EXPECT_EQ(troubles.Of(Peer(1)), "timed out");
  EXPECT_EQ(troubles.Of(Peer(2)), "silent");
  EXPECT_EQ(troubles.Of(Peer(3)), "");
  troubles.Forget(Peer(1));
  EXPECT_EQ(troubles.Of(Peer(1)), "");
}

TEST(PeerTroublesTest, TheyAreBounded) {
  PeerTroubles troubles;
  for (std::uint32_t i = 1; i <= PeerTroubles::kPeersMax + 1; ++i) {
    troubles.Note(Peer(i), "refused");
  }
  EXPECT_EQ(troubles.Of(Peer(1)), "");
  EXPECT_EQ(troubles.Of(Peer(PeerTroubles::kPeersMax + 1)), "refused");
}

}  // namespace
}  // namespace hoplite
