// Scripted runs of the protocol: how objects move, and how long it takes.
//
// Method: clients ask at given times on a modelled network of idle links, all
// checkers watch, and the test asserts what is special about the scenario: who
// sent how much, or how the time compares with the least that is possible.

#include "hoplite/sim/scenario.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hoplite/base/random.h"
#include "hoplite/sim/fault_plan.h"
#include "hoplite/sim/network_model.h"
#include "hoplite/sim/script.h"

namespace hoplite::sim {
namespace {

constexpr std::uint64_t kRate = 31'250'000;  // 250 Mbit/s
constexpr std::uint64_t kLarge = 32 << 20;
// When everything that is put before has been put.
constexpr absl::Duration kStart = absl::Seconds(1);

SimulationOptions Nodes(std::uint32_t count) {
  SimulationOptions options;
  options.node_count = count;
  options.network.bytes_per_second = kRate;
  return options;
}

// S/B.
absl::Duration Bound(std::uint64_t size) {
  return NetworkModel::TimeFor(size, kRate);
}

double Ratio(absl::Duration time, absl::Duration bound) {
  return absl::FDivDuration(time, bound);
}

TEST(ScenarioTest, AChainFormsInASimultaneousBroadcast) {
  constexpr std::uint32_t kCount = 16;
  Scenario scenario(Nodes(kCount));
  scenario.script().Put(1, "object", kLarge);
  for (std::uint32_t node = 2; node <= kCount; ++node) {
    scenario.script().Get(node, "object").At(kStart);
  }
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  EXPECT_LE(Ratio(scenario.End() - kStart, Bound(kLarge)), 1.05);
  double all = 0;
  for (std::uint32_t node = 1; node <= kCount; ++node) {
    EXPECT_LE(scenario.Sent(node, kLarge), 1.0) << "node " << node;
    all += scenario.Sent(node, kLarge);
  }
  EXPECT_EQ(all, kCount - 1);
}

TEST(ScenarioTest, ABroadcastMayBeginBeforeThePut) {
  constexpr std::uint32_t kCount = 8;
  constexpr absl::Duration kWriting = absl::Milliseconds(500);
  Scenario scenario(Nodes(kCount));
  for (std::uint32_t node = 2; node <= kCount; ++node) {
    scenario.script().Get(node, "object");
  }
  scenario.script().Put(1, "object", kLarge).At(kStart).WritingFor(kWriting);
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  // The writing is overlapped: the links are the slower ones.
  EXPECT_LE(Ratio(scenario.End() - kStart, Bound(kLarge)), 1.15);
}

TEST(ScenarioTest, ABroadcastGoesOnWithoutItsHead) {
  constexpr std::uint32_t kCount = 8;
  Scenario scenario(Nodes(kCount));
  scenario.script().Put(2, "object", kLarge);
  for (std::uint32_t node = 3; node <= kCount; ++node) {
    scenario.script().Get(node, "object").At(kStart);
  }
  const auto again =
      scenario.script().Get(1, "object").At(kStart + absl::Seconds(10));
  const absl::Time crash = absl::UnixEpoch() + kStart + absl::Milliseconds(200);
  Apply({fault::HeadCrash{crash, absl::Seconds(3)}}, &scenario.simulation());
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  EXPECT_LE(Ratio(scenario.AnsweredAt(again) - kStart - absl::Seconds(10),
                  Bound(kLarge)),
            1.05)
      << "the head that came back finds what there was";
}

TEST(ScenarioTest, WhoeverArrivesLastWaitsForOneTransferOnly) {
  constexpr std::uint32_t kCount = 16;
  const absl::Duration step = absl::Milliseconds(100);
  Scenario scenario(Nodes(kCount));
  scenario.script().Put(1, "object", kLarge);
  for (std::uint32_t node = 2; node <= kCount; ++node) {
    scenario.script().Get(node, "object").At(kStart + (node - 2) * step);
  }
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  const absl::Duration last = kStart + (kCount - 2) * step;
  EXPECT_LE(Ratio(scenario.End() - last, Bound(kLarge)), 1.08);
  for (std::uint32_t node = 1; node <= kCount; ++node) {
    EXPECT_LE(scenario.Sent(node, kLarge), 2.0) << "node " << node;
  }
}

TEST(ScenarioTest, ManyGetsOnOneNodeMoveTheObjectOnce) {
  Scenario scenario(Nodes(3));
  scenario.script().Put(2, "object", kLarge);
  for (int i = 0; i < 10; ++i) {
    scenario.script().Get(3, "object").At(i * absl::Milliseconds(150));
  }
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  EXPECT_EQ(scenario.Sent(2, kLarge), 1.0);
}

TEST(ScenarioTest, ASmallObjectComesInOneRoundTrip) {
  constexpr std::uint64_t kSmall = 1 << 10;
  SimulationOptions options = Nodes(4);
  Scenario scenario(options);
  scenario.script().Put(2, "object", kSmall).WithPayload();
  const auto get = scenario.script().Get(3, "object").At(kStart);
  const auto again = scenario.script().Get(3, "object").At(2 * kStart);
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  EXPECT_LE(scenario.Took(get),
            2 * options.network.latency + absl::Microseconds(50));
  EXPECT_LE(scenario.Took(again), absl::Microseconds(5));
  EXPECT_EQ(scenario.Sent(2, kSmall), 0.0);
}

TEST(ScenarioTest, AGatherLoadsTheOneLink) {
  constexpr std::uint32_t kCount = 8;
  Scenario scenario(Nodes(kCount));
  const std::vector<std::string> parts = Names("part", kCount);
  for (std::uint32_t i = 1; i < kCount; ++i) {
    scenario.script().Put(i + 1, parts[i], kLarge);
    scenario.script().Get(1, parts[i]).At(kStart);
  }
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  EXPECT_LE(Ratio(scenario.End() - kStart, (kCount - 1) * Bound(kLarge)), 1.04);
}

TEST(ScenarioTest, AnAllgatherLoadsAllLinks) {
  constexpr std::uint32_t kCount = 8;
  constexpr std::uint64_t kSize = 4 << 20;
  Scenario scenario(Nodes(kCount));
  const std::vector<std::string> parts = Names("part", kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    scenario.script().Put(i + 1, parts[i], kSize);
    for (std::uint32_t node = 1; node <= kCount; ++node) {
      scenario.script().Get(node, parts[i]).At(kStart);
    }
  }
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  EXPECT_LE(Ratio(scenario.End() - kStart, (kCount - 1) * Bound(kSize)), 1.2);
}

// Puts a source on each node at the start.
void PutSources(Script& script, const std::vector<std::string>& sources,
                std::uint64_t size) {
  for (std::uint32_t i = 0; i < sources.size(); ++i) {
    script.Put(i + 1, sources[i], size);
  }
}

TEST(ScenarioTest, AReduceLoadsEachLinkOnce) {
  constexpr std::uint32_t kCount = 16;
  Scenario scenario(Nodes(kCount));
  const std::vector<std::string> sources = Names("source", kCount);
  PutSources(scenario.script(), sources, kLarge);
  scenario.script().Reduce(1, "sum", sources, kCount).At(kStart);
  scenario.script().Get(1, "sum").At(kStart);
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  EXPECT_LE(Ratio(scenario.End() - kStart, Bound(kLarge)), 1.06);
  for (std::uint32_t node = 1; node <= kCount; ++node) {
    EXPECT_LE(scenario.Sent(node, kLarge), 1.0) << "node " << node;
  }
}

TEST(ScenarioTest, AReduceEndsSoonAfterTheLastSource) {
  constexpr std::uint32_t kCount = 16;
  const absl::Duration step = absl::Milliseconds(100);
  Scenario scenario(Nodes(kCount));
  const std::vector<std::string> sources = Names("source", kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    scenario.script().Put(i + 1, sources[i], kLarge).At(kStart + i * step);
  }
  scenario.script().Reduce(1, "sum", sources, kCount);
  scenario.script().Get(1, "sum");
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  const absl::Duration last = kStart + (kCount - 1) * step;
  EXPECT_LE(Ratio(scenario.End() - last, Bound(kLarge)), 1.08);
}

TEST(ScenarioTest, AnAllreduceOverlapsItsTwoHalves) {
  constexpr std::uint32_t kCount = 8;
  Scenario scenario(Nodes(kCount));
  const std::vector<std::string> sources = Names("source", kCount);
  PutSources(scenario.script(), sources, kLarge);
  scenario.script().Reduce(1, "sum", sources, kCount).At(kStart);
  for (std::uint32_t node = 1; node <= kCount; ++node) {
    scenario.script().Get(node, "sum").At(kStart);
  }
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  const absl::Duration bound = 2.0 * (kCount - 1) / kCount * Bound(kLarge);
  EXPECT_LE(Ratio(scenario.End() - kStart, bound), 1.2);
}

TEST(ScenarioTest, SmallSourcesAreFoldedInOnePlace) {
  constexpr std::uint32_t kCount = 16;
  constexpr std::uint64_t kSmall = 1 << 10;
  Scenario scenario(Nodes(kCount));
  const std::vector<std::string> sources = Names("source", kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    scenario.script().Put(i + 1, sources[i], kSmall).WithPayload();
  }
  scenario.script().Reduce(1, "sum", sources, kCount).At(kStart);
  scenario.script().Get(2, "sum").At(kStart);
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  EXPECT_LE(scenario.End() - kStart, absl::Milliseconds(1.5));
  for (std::uint32_t node = 1; node <= kCount; ++node) {
    EXPECT_EQ(scenario.Sent(node, kSmall), 0.0) << "node " << node;
  }
}

// Symptom: the Reduce ended at its deadline. Cause: the copy in the way was one
// of its sources, and no copy of a source could go, whichever was reduced.
TEST(ScenarioTest, AReduceMakesRoomForItsTarget) {
  SimulationOptions options = Nodes(2);
  options.store_capacity = 2 * kLarge + (1 << 20);
  for (std::uint32_t caller = 1; caller <= 2; ++caller) {
    Scenario scenario(options);
    PutSources(scenario.script(), {"source1", "source2"}, kLarge);
    scenario.script().Get(1, "source2").At(kStart);
    const auto reduce = scenario.script()
                            .Reduce(caller, "sum", {"source1", "source2"}, 2)
                            .At(5 * kStart);
    scenario.Run();
    EXPECT_EQ(scenario.Problems(), "");
    EXPECT_LE(Ratio(scenario.Took(reduce), Bound(kLarge)), 1.1);
  }
}

// Every node has room for its source and for what it makes of it, and a copy of
// somebody's source lies there instead.
TEST(ScenarioTest, AReduceMakesRoomOnEveryNode) {
  constexpr std::uint64_t kSize = 4 << 20;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    const auto count = static_cast<std::uint32_t>(random.Between(2, 6));
    const auto any = [&] {
      return static_cast<std::uint32_t>(random.Between(1, count));
    };
    SimulationOptions options = Nodes(count);
    options.store_capacity = 2 * kSize + (1 << 20);
    Scenario scenario(options);
    const std::vector<std::string> sources = Names("source", count);
    PutSources(scenario.script(), sources, kSize);
    for (std::uint32_t node = 1; node <= count; ++node) {
      scenario.script().Get(node, sources[any() - 1]).At(kStart);
    }
    const auto reduce =
        scenario.script().Reduce(any(), "sum", sources, count).At(5 * kStart);
    scenario.Run();
    EXPECT_EQ(scenario.Problems(), "") << "seed " << seed;
    EXPECT_LE(Ratio(scenario.Took(reduce), Bound(kSize)), 1.5)
        << "seed " << seed;
  }
}

TEST(ScenarioTest, WithoutSchedulesTheSendersLinkIsTheLimit) {
  constexpr std::uint32_t kCount = 8;
  SimulationOptions options = Nodes(kCount);
  options.schedule = Schedule::kPlain;
  Scenario scenario(options);
  scenario.script().Put(1, "object", kLarge);
  for (std::uint32_t node = 2; node <= kCount; ++node) {
    scenario.script().Get(node, "object").At(kStart);
  }
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  EXPECT_GE(Ratio(scenario.End() - kStart, Bound(kLarge)), kCount - 1);
}

}  // namespace
}  // namespace hoplite::sim
