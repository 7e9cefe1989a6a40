// Reductions that lose members, at every moment of their lives.
//
// Method: a run without a fault tells when anything happens; then one run for
// each such moment, in which a node dies just before. Spares are there, so
// everybody who lives must get the target, soon, and the checkers see that it
// holds each source once. (A target that is final, and only on nodes that die
// then, is lost.) The times are judged for one that loses a leaf or an
// inner member half way.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hoplite/base/digest.h"
#include "hoplite/sim/checkers.h"
#include "hoplite/sim/observer.h"
#include "hoplite/sim/scenario.h"
#include "hoplite/sim/script.h"

namespace hoplite::sim {
namespace {

constexpr absl::Duration kStart = absl::Seconds(1);
constexpr absl::Duration kDetection = absl::Milliseconds(10);
constexpr std::uint64_t kSmall = 8 << 10;

// When events happen, and who fills which position.
class Witness final : public Observer {
 public:
  void OnEvent(absl::Time now, NodeRef node, const Event& event) override {
    if (moments.empty() || moments.back() != now) moments.push_back(now);
    const auto* got = std::get_if<event::MessageReceived>(&event);
    if (got == nullptr) return;
    const auto* place = std::get_if<message::Assignment>(&got->message);
    if (place == nullptr) return;
    members[place->position] = node.node;
    ++assignments;
  }

  void OnCommand(absl::Time now, NodeRef, const Command& command) override {
    const auto* send = std::get_if<command::Send>(&command);
    if (send == nullptr) return;
    const auto* last = std::get_if<message::Final>(&send->message);
    const auto* whole = std::get_if<message::GrantInline>(&send->message);
    const ObjectId target = IdFromName("sum");
    if ((last != nullptr && last->object == target) ||
        (whole != nullptr && whole->object == target)) {
      final_at = std::min(final_at, now);
    }
  }

  absl::Time final_at = absl::InfiniteFuture();
  std::vector<absl::Time> moments;
  std::map<std::uint32_t, NodeId> members;
  std::size_t assignments = 0;
};

struct Death {
  absl::Time time;
  NodeId node;
};

// Seven nodes; 2 and 3 host the shards, and live. `count` of the sources of
// nodes 3 to 7 are reduced; everybody wants the target.
std::string RunSmall(std::uint64_t size, std::uint32_t count,
                     const std::vector<Death>& deaths, Witness* witness) {
  constexpr absl::Duration kSoon = absl::Seconds(5);
  SimulationOptions options;
  options.node_count = 7;
  options.shard_host_count = 2;
  options.data_plane.frame_bytes_min = 64 << 10;
  Scenario scenario(options, CheckerOptions{.faults = true});
  scenario.simulation().AddObserver(witness);
  Script& script = scenario.script();
  const std::vector<std::string> sources = Names("source", 5);
  std::vector<std::pair<std::uint32_t, Script::Step>> asked;
  for (std::uint32_t i = 0; i < sources.size(); ++i) {
    const auto put = script.Put(i + 3, sources[i], size);
    if (size <= kSmall) put.WithPayload();
  }
  // One of the callers may die.
  for (std::uint32_t caller : {3, 7}) {
    asked.emplace_back(caller, script.Reduce(caller, "sum", sources, count));
  }
  for (std::uint32_t node = 1; node <= 7; ++node) {
    asked.emplace_back(node, script.Get(node, "sum"));
  }
  for (const auto& [node, step] : asked) {
    step.At(kStart).Within(kSoon).MayFail();
  }
  for (const Death& death : deaths) {
    scenario.simulation().agenda().At(death.time, [&scenario, death] {
      scenario.simulation().Crash(death.node, kDetection);
    });
  }
  scenario.Run();
  std::string problems = scenario.Problems();
  const bool may_be_lost = std::ranges::any_of(deaths, [&](const Death& death) {
    return witness->final_at < death.time + kDetection;
  });
  for (const auto& [node, step] : asked) {
    const absl::StatusCode code = scenario.Code(step);
    const NodeId asker(node);
    const bool dead = std::ranges::count(deaths, asker, &Death::node) > 0;
    if (dead || code == absl::StatusCode::kOk) continue;
    if (may_be_lost && code == absl::StatusCode::kDataLoss) continue;
    absl::StrAppend(&problems, "node ", node, ": ",
                    absl::StatusCodeToString(code), "\n");
  }
  return problems;
}

// The moments of the reduction itself, some of them.
std::vector<absl::Time> MomentsOf(std::uint64_t size, std::uint32_t count,
                                  std::size_t most) {
  Witness witness;
  EXPECT_EQ(RunSmall(size, count, {}, &witness), "");
  std::vector<absl::Time> moments;
  for (absl::Time each : witness.moments) {
    if (each >= absl::UnixEpoch() + kStart) moments.push_back(each);
  }
  const std::size_t step = std::max<std::size_t>(moments.size() / most, 1);
  std::vector<absl::Time> some;
  for (std::size_t i = 0; i < moments.size(); i += step) {
    some.push_back(moments[i]);
  }
  return some;
}

TEST(MendTest, AMemberMayDieAtAnyMoment) {
  for (const std::uint64_t size : {std::uint64_t{512 << 10}, kSmall}) {
    for (absl::Time moment : MomentsOf(size, 4, 150)) {
      for (std::uint32_t node = 4; node <= 7; ++node) {
        Witness witness;
        ASSERT_EQ(RunSmall(size, 4, {{moment, NodeId(node)}}, &witness), "")
            << size << " bytes, node " << node << " at " << moment;
      }
    }
  }
}

TEST(MendTest, TwoMayDieAtOnceAndAnotherDuringTheMend) {
  constexpr std::uint64_t kSize = 512 << 10;
  const absl::Duration between_deaths[] = {absl::ZeroDuration(), kDetection / 2,
                                           kDetection + absl::Microseconds(200),
                                           kDetection + absl::Milliseconds(1)};
  for (absl::Time moment : MomentsOf(kSize, 3, 30)) {
    for (std::uint32_t node = 4; node <= 7; ++node) {
      for (absl::Duration between : between_deaths) {
        const std::uint32_t next = node == 7 ? 4 : node + 1;
        Witness witness;
        ASSERT_EQ(
            RunSmall(kSize, 3,
                     {{moment, NodeId(node)}, {moment + between, NodeId(next)}},
                     &witness),
            "")
            << "node " << node << " at " << moment << ", the next " << between
            << " later";
      }
    }
  }
}

// --- Time. ------------------------------------------------------------------

constexpr std::uint32_t kHosts = 16;
constexpr std::uint64_t kLarge = 32 << 20;

// All but one of the sources of 16 nodes, at 250 Mbit/s. At `death` the node
// that fills the position dies. Node 1 asks, and has the root.
absl::Duration RunLarge(absl::Duration death, std::uint32_t position,
                        Witness* witness) {
  SimulationOptions options;
  options.node_count = kHosts;
  options.shard_host_count = 1;
  options.network.bytes_per_second = 31'250'000;
  Scenario scenario(options);
  scenario.simulation().AddObserver(witness);
  const std::vector<std::string> sources = Names("source", kHosts);
  for (std::uint32_t i = 0; i < kHosts; ++i) {
    scenario.script().Put(i + 1, sources[i], kLarge);
  }
  scenario.script().Reduce(1, "sum", sources, kHosts - 1).At(kStart);
  const auto get = scenario.script().Get(1, "sum").At(kStart);
  if (death < absl::InfiniteDuration()) {
    scenario.simulation().agenda().At(
        absl::UnixEpoch() + kStart + death, [&, position] {
          const NodeId node = witness->members.at(position);
          ASSERT_GT(node, NodeId(2)) << "it has the shards, or asks";
          scenario.simulation().Crash(node, kDetection);
        });
  }
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  return scenario.Took(get);
}

TEST(MendTest, ALossHalfWayCostsHalfAsMuchAgain) {
  Witness undisturbed;
  const absl::Duration usual =
      RunLarge(absl::InfiniteDuration(), 0, &undisturbed);
  for (std::uint32_t position = 0; position < 10; position += 3) {
    if (undisturbed.members.at(position) <= NodeId(2)) ++position;
    Witness witness;
    const absl::Duration time = RunLarge(usual / 2, position, &witness);
    EXPECT_LE(absl::FDivDuration(time - kDetection, usual), 1.6)
        << "position " << position;
    // It, and its ancestors.
    EXPECT_EQ(witness.assignments - undisturbed.assignments,
              kHosts - 1 - position);
  }
}

}  // namespace
}  // namespace hoplite::sim
