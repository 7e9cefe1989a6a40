#include "hoplite/cli/bench_spot.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "hoplite/base/digest.h"

namespace hoplite::cli {
namespace {

const ObjectId kObject = IdFromName("object");
const ObjectId kOther = IdFromName("other");

NodeRef Ref(int node) {
  return {.node = NodeId(static_cast<std::uint32_t>(node) + 10),
          .incarnation = Incarnation(7)};
}

std::vector<NodeStatus> Nodes(int count) {
  std::vector<NodeStatus> nodes(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    nodes[static_cast<std::size_t>(i)].self = Ref(i);
  }
  return nodes;
}

LocalObjectStatus Copy(const std::string& state, std::uint64_t bytes,
                       NodeRef server = {}, std::uint32_t pulls = 0) {
  LocalObjectStatus copy;
  copy.object = kObject;
  copy.state = state;
  copy.size = 100;
  copy.bytes = bytes;
  copy.server = server;
  copy.pulls = pulls;
  return copy;
}

PositionStatus Position(std::uint32_t number, std::vector<NodeRef> inputs,
                        std::uint64_t bytes, bool root = false) {
  PositionStatus position;
  position.target = kObject;
  position.position = number;
  position.inputs = std::move(inputs);
  position.size = 100;
  position.bytes = bytes;
  position.root = root;
  return position;
}

// Node 0 has it, 1 takes it from 0, 2 from 1, and 3 from 2.
std::vector<NodeStatus> Broadcast() {
  std::vector<NodeStatus> nodes = Nodes(4);
  nodes[0].objects = {Copy("complete", 100, {}, 1)};
  nodes[1].objects = {Copy("fetching", 30, Ref(0), 1)};
  nodes[2].objects = {Copy("fetching", 20, Ref(1), 1)};
  nodes[3].objects = {Copy("fetching", 10, Ref(2))};
  return nodes;
}

// 0 to 1 to 2 to 3, the root; node 4's source is left over.
std::vector<NodeStatus> Reduction() {
  std::vector<NodeStatus> nodes = Nodes(5);
  nodes[0].positions = {Position(0, {}, 100)};
  nodes[1].positions = {Position(1, {Ref(0)}, 30)};
  nodes[2].positions = {Position(2, {Ref(1)}, 20)};
  nodes[3].positions = {Position(3, {Ref(2)}, 10, /*root=*/true)};
  return nodes;
}

// (victim, watcher, position watched) of all that may be drawn.
using Drawn = std::set<std::tuple<int, int, std::uint32_t>>;
Drawn DrawAll(FaultPlace place, const std::vector<NodeStatus>& nodes,
              int percent = 50, int victims = 100) {
  Drawn drawn;
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    Random random(seed);
    const auto spot = FindSpot({.place = place, .percent = percent}, kObject,
                               nodes, victims, random);
    if (!spot.has_value()) continue;
    EXPECT_EQ(spot->stream.object, kObject);
    EXPECT_EQ(spot->read, place == FaultPlace::kRelay);
    drawn.insert({spot->victim, spot->watcher, spot->stream.position});
  }
  return drawn;
}

constexpr std::uint32_t kWhole = PullKey::kWholeObject;

TEST(BenchSpotTest, ARelayReceivesAndIsReadFrom) {
  EXPECT_EQ(DrawAll(FaultPlace::kRelay, Broadcast()),
            (Drawn{{1, 1, kWhole}, {2, 2, kWhole}}));
}

TEST(BenchSpotTest, TheHolderIsWatchedByTheOneThatReadsIt) {
  EXPECT_EQ(DrawAll(FaultPlace::kHolder, Broadcast()), (Drawn{{0, 1, kWhole}}));
}

TEST(BenchSpotTest, MembersOfAReductionAreWatchedByTheirParents) {
  EXPECT_EQ(DrawAll(FaultPlace::kLeaf, Reduction()), (Drawn{{0, 1, 1}}));
  EXPECT_EQ(DrawAll(FaultPlace::kInner, Reduction()),
            (Drawn{{1, 2, 2}, {2, 3, 3}}));
  EXPECT_EQ(DrawAll(FaultPlace::kRoot, Reduction()), (Drawn{{3, 3, 3}}));
}

TEST(BenchSpotTest, WhoHasComeTooFarIsNotDrawn) {
  EXPECT_EQ(DrawAll(FaultPlace::kRelay, Broadcast(), 25),
            (Drawn{{2, 2, kWhole}}));
  EXPECT_TRUE(DrawAll(FaultPlace::kRelay, Broadcast(), 5).empty());
  EXPECT_EQ(DrawAll(FaultPlace::kInner, Reduction(), 15), (Drawn{{2, 3, 3}}));
}

TEST(BenchSpotTest, WhoMustLiveIsNotDrawn) {
  EXPECT_EQ(DrawAll(FaultPlace::kRelay, Broadcast(), 50, 2),
            (Drawn{{1, 1, kWhole}}));
}

TEST(BenchSpotTest, WhoseAssignmentHasYetToComeIsNoLeaf) {
  std::vector<NodeStatus> nodes = Reduction();
  nodes[1].positions.clear();
  EXPECT_EQ(DrawAll(FaultPlace::kInner, nodes), (Drawn{{2, 3, 3}}));
  EXPECT_TRUE(DrawAll(FaultPlace::kLeaf, nodes).empty());
}

TEST(BenchSpotTest, OtherObjectsDoNotCount) {
  std::vector<NodeStatus> nodes = Broadcast();
  for (NodeStatus& node : nodes) node.objects[0].object = kOther;
  EXPECT_TRUE(DrawAll(FaultPlace::kRelay, nodes).empty());
  EXPECT_TRUE(DrawAll(FaultPlace::kHolder, nodes).empty());
  EXPECT_TRUE(DrawAll(FaultPlace::kLeaf, nodes).empty());
}

TEST(BenchSpotTest, ProgressIsThatOfTheStreamNamed) {
  const std::vector<NodeStatus> nodes = Reduction();
  EXPECT_FALSE(ProgressOf(nodes[2], {kObject}).has_value());
  EXPECT_FALSE(ProgressOf(nodes[2], {kObject, 1}).has_value());
  ASSERT_TRUE(ProgressOf(nodes[2], {kObject, 2}).has_value());
  EXPECT_EQ(ProgressOf(nodes[2], {kObject, 2})->bytes, 20);
  const std::vector<NodeStatus> receivers = Broadcast();
  ASSERT_TRUE(ProgressOf(receivers[1], {kObject}).has_value());
  EXPECT_EQ(ProgressOf(receivers[1], {kObject})->percent(), 30);
  EXPECT_EQ(ProgressOf(receivers[1], {kObject})->readers, 1);
}

}  // namespace
}  // namespace hoplite::cli
