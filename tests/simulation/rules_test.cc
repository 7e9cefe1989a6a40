// Scripted runs of the protocol: what calls promise at their edges.
//
// Method: as in scenario_test; here the answers are asserted, not the times.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hoplite/base/digest.h"
#include "hoplite/sim/scenario.h"
#include "hoplite/sim/script.h"

namespace hoplite::sim {
namespace {

constexpr std::uint64_t kLarge = 4 << 20;
constexpr absl::Duration kSecond = absl::Seconds(1);

SimulationOptions Nodes(std::uint32_t count) {
  SimulationOptions options;
  options.node_count = count;
  return options;
}

TEST(RulesTest, AGetOfNothingEndsAtItsDeadline) {
  Scenario scenario(Nodes(3));
  const auto get =
      scenario.script().Get(2, "nothing").Within(kSecond).MayFail();
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  EXPECT_EQ(scenario.Code(get), absl::StatusCode::kDeadlineExceeded);
}

TEST(RulesTest, ASecondPutOfAnIdIsRefused) {
  Scenario scenario(Nodes(4));
  scenario.script().Put(2, "object", kLarge);
  const auto second =
      scenario.script().Put(3, "object", kLarge).At(kSecond).MayFail();
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  EXPECT_EQ(scenario.Code(second), absl::StatusCode::kAlreadyExists);
}

TEST(RulesTest, ASecondPutGoesOnWhereTheFirstIsGivenUp) {
  Scenario scenario(Nodes(4));
  scenario.script().Put(2, "object", kLarge).WritingFor(kSecond).Abandons();
  scenario.script().Put(3, "object", kLarge).At(kSecond / 2);
  scenario.script().Get(4, "object");
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
}

TEST(RulesTest, ADeletedObjectIsNotFoundByGetNorPut) {
  Scenario scenario(Nodes(4));
  scenario.script().Put(2, "object", kLarge);
  scenario.script().Get(3, "object");
  scenario.script().Delete(4, "object").At(kSecond);
  const auto get = scenario.script().Get(3, "object").At(2 * kSecond);
  const auto put = scenario.script().Put(2, "object", 8).At(2 * kSecond);
  get.MayFail();
  put.MayFail();
  scenario.checkers().leaks().ExpectEmptyStores();
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  EXPECT_EQ(scenario.Code(get), absl::StatusCode::kNotFound);
  EXPECT_EQ(scenario.Code(put), absl::StatusCode::kNotFound);
}

TEST(RulesTest, AReaderKeepsWhatIsDeletedAndTheMemoryComesBackWithItsPin) {
  SimulationOptions options = Nodes(3);
  options.store_capacity = kLarge + kLarge / 2;
  Scenario scenario(options);
  scenario.script().Put(2, "object", kLarge);
  const auto get = scenario.script().Get(3, "object").ReadingFor(10 * kSecond);
  const auto gone = scenario.script().Delete(2, "object").At(kSecond);
  // Node 3 has no room for this until the reader lets go.
  const auto put = scenario.script().Put(3, "next", kLarge).At(2 * kSecond);
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  EXPECT_LT(scenario.Took(gone), absl::Milliseconds(10));
  EXPECT_GE(scenario.AnsweredAt(put), scenario.AnsweredAt(get) + 10 * kSecond);
}

// The case of a store that is full of what is being read: an error at the
// deadline, and success once there is room.
TEST(RulesTest, AFullStoreRefusesAtTheDeadlineAndTakesWhenThereIsRoom) {
  constexpr std::uint64_t kSize = 25 << 20;
  SimulationOptions options = Nodes(2);
  options.store_capacity = 64 << 20;
  Scenario scenario(options);
  Script& script = scenario.script();
  for (int i = 1; i <= 2; ++i) {
    const std::string name = Names("pinned", 2)[i - 1];
    script.Put(2, name, kSize);
    script.Get(2, name).At(kSecond).ReadingFor(20 * kSecond);
  }
  const auto third =
      script.Put(2, "third", kSize).At(2 * kSecond).Within(kSecond).MayFail();
  script.Delete(1, "pinned1").At(5 * kSecond);
  const auto later = script.Put(2, "later", kSize).At(6 * kSecond);
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  EXPECT_EQ(scenario.Code(third), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(scenario.Took(third), kSecond);
  EXPECT_LE(scenario.AnsweredAt(later), 22 * kSecond);
}

TEST(RulesTest, AnObjectLargerThanTheStoreIsRefusedAtOnce) {
  SimulationOptions options = Nodes(3);
  options.store_capacity = kLarge;
  Scenario scenario(options);
  const auto put = scenario.script().Put(2, "object", 2 * kLarge).MayFail();
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  EXPECT_EQ(scenario.Code(put), absl::StatusCode::kResourceExhausted);
  EXPECT_LT(scenario.Took(put), absl::Milliseconds(1));
}

TEST(RulesTest, CopiesOfOthersMakeRoomForWhatIsPut) {
  SimulationOptions options = Nodes(3);
  options.store_capacity = 3 * kLarge;
  Scenario scenario(options);
  const std::vector<std::string> names = Names("object", 3);
  for (const std::string& name : names) {
    scenario.script().Put(2, name, kLarge);
    scenario.script().Get(3, name);
  }
  const auto put = scenario.script().Put(3, "own", 2 * kLarge).At(5 * kSecond);
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  EXPECT_LT(scenario.Took(put), absl::Milliseconds(10));
}

TEST(RulesTest, AReduceOfTheFirstKSaysWhichTheyWere) {
  constexpr std::uint32_t kCount = 8;
  Scenario scenario(Nodes(kCount));
  const std::vector<std::string> sources = Names("source", kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    const auto put = scenario.script().Put(i + 1, sources[i], kLarge);
    if (i >= 5) put.At(100 * kSecond);
  }
  const auto reduce = scenario.script().Reduce(2, "sum", sources, 5);
  scenario.script().Get(3, "sum");
  scenario.Run();
  // That the report is what the bytes hold is the checkers' affair.
  EXPECT_EQ(scenario.Problems(), "");
  EXPECT_LT(scenario.AnsweredAt(reduce), 10 * kSecond);
}

TEST(RulesTest, ACountThatCannotBeIsRefused) {
  Scenario scenario(Nodes(3));
  const std::vector<std::string> sources = Names("source", 2);
  const auto none = scenario.script().Reduce(1, "a", sources, 0).MayFail();
  const auto many = scenario.script().Reduce(1, "b", sources, 3).MayFail();
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  EXPECT_EQ(scenario.Code(none), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(scenario.Code(many), absl::StatusCode::kInvalidArgument);
}

TEST(RulesTest, SourcesOfDifferentSizesEndEveryWait) {
  Scenario scenario(Nodes(4));
  scenario.script().Put(2, "short", kLarge);
  scenario.script().Put(3, "long", 2 * kLarge);
  const auto reduce =
      scenario.script().Reduce(1, "sum", {"short", "long"}, 2).MayFail();
  const auto get = scenario.script().Get(4, "sum").MayFail();
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  EXPECT_EQ(scenario.Code(reduce), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(scenario.Code(get), absl::StatusCode::kInvalidArgument);
}

TEST(RulesTest, ASourceMayItselfBeATarget) {
  constexpr std::uint32_t kCount = 6;
  Scenario scenario(Nodes(kCount));
  const std::vector<std::string> sources = Names("source", kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    scenario.script().Put(i + 1, sources[i], kLarge).At(i * kSecond);
  }
  scenario.script().Reduce(1, "inner", {"source1", "source2", "source6"}, 3);
  scenario.script().Reduce(2, "outer",
                           {"inner", "source3", "source4", "source5"}, 4);
  scenario.script().Get(3, "outer");
  scenario.script().Get(4, "inner");
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
}

TEST(RulesTest, EmptyObjectsTakePartInEverything) {
  Scenario scenario(Nodes(4));
  const std::vector<std::string> sources = Names("empty", 3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    scenario.script().Put(i + 1, sources[i], 0);
    scenario.script().Get(4, sources[i]);
  }
  scenario.script().Reduce(4, "sum", sources, 3);
  for (std::uint32_t node = 1; node <= 4; ++node) {
    scenario.script().Get(node, "sum");
  }
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
}

TEST(RulesTest, OneNodeAloneDoesEverything) {
  Scenario scenario(Nodes(1));
  const std::vector<std::string> sources = Names("source", 5);
  for (const std::string& source : sources) {
    scenario.script().Put(1, source, kLarge);
  }
  scenario.script().Reduce(1, "sum", sources, 5);
  scenario.script().Get(1, "sum");
  scenario.script().Get(1, "source3");
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
}

// The head alone hosts all shards; what has a record stays with it.
TEST(RulesTest, AJoinMovesOnlyEmptyShards) {
  Scenario scenario(Nodes(1));
  const std::vector<std::string> names = Names("object", 20);
  for (const std::string& name : names) {
    scenario.script().Put(1, name, kLarge / 16);
    scenario.script().Get(2, name).At(3 * kSecond);
  }
  Simulation& simulation = scenario.simulation();
  for (std::uint64_t token = 1; token <= 2; ++token) {
    simulation.agenda().At(
        absl::UnixEpoch() + static_cast<std::int64_t>(token) * kSecond,
        [&simulation, token] { simulation.Join(token); });
  }
  scenario.script().Put(3, "late", kLarge).At(4 * kSecond);
  scenario.script().Get(2, "late").At(4 * kSecond);
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  ASSERT_EQ(simulation.nodes().size(), 3u);
  const NodeStatus status = simulation.machine(NodeId(1)).Status();
  std::size_t moved = 0;
  for (const ShardAssignment& shard : status.shards) {
    if (shard.host.node != NodeId(1)) ++moved;
  }
  EXPECT_GT(moved, kShardCount / 2);
  for (const std::string& name : names) {
    const ShardId shard = IdFromName(name).shard();
    EXPECT_EQ(status.shards[shard.value()].host.node, NodeId(1)) << name;
  }
}

}  // namespace
}  // namespace hoplite::sim
