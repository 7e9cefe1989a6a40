#include "hoplite/core/broadcast/server_selector.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "hoplite/core/testing/values.h"

namespace hoplite {
namespace {

using testing::Ref;

// A record that a test builds copy by copy.
class ServerSelectorTest : public ::testing::Test {
 protected:
  ServerSelectorTest() { record_.degree = 1; }

  void AddComplete(std::uint32_t node) {
    record_.copies[NodeId(node)] = {.node = Ref(node), .complete = true};
  }
  void AddProducer(std::uint32_t node) {
    record_.copies[NodeId(node)] = {.node = Ref(node), .producer = true};
  }
  // A partial copy that fetches from `server`; from nobody where it is 0.
  void AddPartial(std::uint32_t node, std::uint32_t server) {
    Copy copy{.node = Ref(node)};
    copy.sequence = ++sequence_;
    record_.copies[NodeId(node)] = copy;
    if (server == 0) return;
    record_.TakeServer(*record_.Find(Ref(node)), *record_.Find(Ref(server)),
                       loads_);
  }
  // 0: nobody.
  std::uint32_t Select(std::uint32_t asker, std::uint32_t lost = 0) {
    const Copy* copy = SelectServer(record_, Ref(asker),
                                    lost == 0 ? NodeRef() : Ref(lost), loads_);
    return copy == nullptr ? 0 : copy->node.node.value();
  }

  ObjectRecord record_;
  ServingLoads loads_;
  std::uint64_t sequence_ = 0;
};

TEST_F(ServerSelectorTest, NobodyHasIt) { EXPECT_EQ(Select(9), 0u); }

TEST_F(ServerSelectorTest, ACompleteCopyServes) {
  AddComplete(1);
  EXPECT_EQ(Select(9), 1u);
}

TEST_F(ServerSelectorTest, TheProducerServesBeforeItIsComplete) {
  AddProducer(1);
  EXPECT_EQ(Select(9), 1u);
}

TEST_F(ServerSelectorTest, NoCopyServesMoreThanItsDegree) {
  AddComplete(1);
  AddPartial(2, 1);
  EXPECT_EQ(Select(9), 2u) << "the only slot of 1 is taken";
  record_.degree = 2;
  EXPECT_EQ(Select(9), 1u);
}

TEST_F(ServerSelectorTest, SimultaneousReceiversFormAChain) {
  AddComplete(1);
  for (std::uint32_t node = 2; node <= 20; ++node) {
    ASSERT_EQ(Select(node), node - 1);
    AddPartial(node, node - 1);
  }
}

TEST_F(ServerSelectorTest, SimultaneousReceiversFillATreeLevelByLevel) {
  record_.degree = 3;
  AddComplete(1);
  std::map<std::uint32_t, std::uint32_t> depths = {{1, 0}};
  for (std::uint32_t node = 2; node <= 40; ++node) {
    const std::uint32_t server = Select(node);
    ASSERT_NE(server, 0u);
    AddPartial(node, server);
    depths[node] = depths[server] + 1;
    // 3 receivers at depth 1, 9 at depth 2, 27 at depth 3.
    ASSERT_EQ(depths[node], node <= 4 ? 1u : node <= 13 ? 2u : 3u) << node;
  }
}

TEST_F(ServerSelectorTest, IdleCompleteCopiesComeFirst) {
  record_.degree = 2;
  AddProducer(1);
  AddPartial(2, 1);
  AddComplete(3);
  EXPECT_EQ(Select(9), 3u) << "1 would be free too, but is busy";
}

TEST_F(ServerSelectorTest, ABusyCompleteCopyComesBeforeAPartialOne) {
  record_.degree = 2;
  AddComplete(1);
  AddPartial(2, 1);
  EXPECT_EQ(Select(9), 1u);
}

TEST_F(ServerSelectorTest, OfEqualPartialCopiesTheOneGrantedFirstServes) {
  record_.degree = 2;
  AddComplete(1);
  AddPartial(7, 1);
  AddPartial(3, 1);
  EXPECT_EQ(Select(9), 7u) << "7 will be free of work before 3";
}

TEST_F(ServerSelectorTest, NodesBusyWithOtherObjectsComeLater) {
  AddComplete(1);
  AddComplete(2);
  loads_[NodeId(1)] = 3;
  EXPECT_EQ(Select(9), 2u);
  loads_[NodeId(2)] = 4;
  EXPECT_EQ(Select(9), 1u);
}

TEST_F(ServerSelectorTest, TheAskerIsNeverItsOwnServer) {
  AddComplete(9);
  EXPECT_EQ(Select(9), 0u);
}

TEST_F(ServerSelectorTest, WhoFetchesFromTheAskerIsNotItsServer) {
  AddComplete(1);
  AddPartial(9, 0);
  AddPartial(2, 9);
  AddPartial(3, 2);
  AddPartial(4, 1);
  AddPartial(5, 4);
  EXPECT_EQ(Select(9), 5u) << "2 and 3 would close a circle";
}

TEST_F(ServerSelectorTest, OrphansAndTheirReceiversAreNotEligible) {
  AddPartial(2, 0);
  AddPartial(3, 2);
  EXPECT_EQ(Select(9), 0u);
}

TEST_F(ServerSelectorTest, AChainThroughALaterLifeOfANodeIsBroken) {
  AddComplete(1);
  AddPartial(2, 1);
  record_.copies[NodeId(1)].node.incarnation = Incarnation(77);
  record_.copies[NodeId(1)].serving = 1;
  EXPECT_EQ(Select(9), 0u) << "2 fetches from the earlier life of 1";
}

TEST_F(ServerSelectorTest, TheServerThatFailedIsNotChosen) {
  AddComplete(1);
  EXPECT_EQ(Select(9, /*lost=*/1), 0u);
  AddComplete(2);
  EXPECT_EQ(Select(9, /*lost=*/1), 2u);
}

TEST_F(ServerSelectorTest, ALongChainIsWalkedToItsEnd) {
  AddComplete(1);
  for (std::uint32_t node = 2; node <= 300; ++node) AddPartial(node, node - 1);
  EXPECT_EQ(Select(999), 300u);
  record_.copies[NodeId(1)].complete = false;
  EXPECT_EQ(Select(999), 0u);
}

// However receivers come and go: bounds are kept, and no circle arises.
TEST_F(ServerSelectorTest, KeepsTheInvariantsUnderRandomArrivals) {
  const std::uint64_t seed = 20210823;
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  Random random(seed);
  for (int round = 0; round < 50; ++round) {
    record_ = ObjectRecord();
    loads_.clear();
    record_.degree = static_cast<std::uint32_t>(1 + random.Below(3));
    AddComplete(1);
    for (int step = 0; step < 200; ++step) {
      const auto node = static_cast<std::uint32_t>(2 + random.Below(30));
      Copy* copy = record_.Find(Ref(node));
      if (copy == nullptr) {
        const std::uint32_t server = Select(node);
        ASSERT_NE(server, 0u) << "a slot is always free somewhere";
        AddPartial(node, server);
      } else if (copy->server && random.Chance(1, 2)) {
        record_.FreeServer(*copy, loads_);
        copy->complete = true;
      } else if (copy->serving == 0) {
        record_.Erase(copy->node, loads_);
      }
      ASSERT_EQ(record_.CheckInvariants(), "");
      for (const auto& [id, each] : record_.copies) {
        ASSERT_LE(each.serving, record_.degree);
      }
    }
  }
}

TEST_F(ServerSelectorTest, PlainDrawsFromCompleteCopiesOnly) {
  Random random(7);
  AddProducer(1);
  AddPartial(2, 1);
  EXPECT_EQ(DrawCompleteCopy(record_, Ref(9), random), nullptr);
  AddComplete(3);
  AddComplete(9);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(DrawCompleteCopy(record_, Ref(9), random)->node, Ref(3));
  }
}

TEST_F(ServerSelectorTest, PlainDrawsEveryCompleteCopyHoweverBusy) {
  Random random(7);
  for (std::uint32_t node = 1; node <= 4; ++node) AddComplete(node);
  AddPartial(5, 1);
  AddPartial(6, 1);
  std::set<NodeRef> drawn;
  for (int i = 0; i < 200; ++i) {
    drawn.insert(DrawCompleteCopy(record_, Ref(9), random)->node);
  }
  EXPECT_EQ(drawn, (std::set<NodeRef>{Ref(1), Ref(2), Ref(3), Ref(4)}));
}

}  // namespace
}  // namespace hoplite
