// The checkers are tested by mistakes that are known.
//
// Method: the same scenario runs once as it is, and then once for each
// mistake, which a machine in front of a node makes at its first opportunity.
// Without a mistake no checker may say anything; with one, a checker that is
// meant for such a thing must.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "hoplite/base/digest.h"
#include "hoplite/sim/checkers.h"
#include "hoplite/sim/faulty_machine.h"
#include "hoplite/sim/mistake.h"
#include "hoplite/sim/scenario.h"
#include "hoplite/sim/script.h"
#include "hoplite/sim/simulation.h"

namespace hoplite::sim {
namespace {

constexpr std::uint32_t kNodes = 7;
constexpr std::uint64_t kLarge = 1 << 20;
constexpr std::uint64_t kSource = 256 << 10;

// Broadcasts, an average, a Put given up and made again, a Get of nothing;
// then one object is deleted and asked for, and all the others are deleted.
void WriteBusy(Script& script) {
  constexpr absl::Duration kSoon = absl::Milliseconds(1);
  constexpr absl::Duration kLater = absl::Milliseconds(200);
  for (std::uint32_t node = 3; node <= kNodes; ++node) {
    script.Get(node, "a");
    script.Get(node, "b");
  }
  script.Put(2, "a", kLarge).At(kSoon);
  script.Put(2, "b", kLarge).At(kSoon);
  const std::vector<std::string> sources = Names("source", kNodes - 1);
  for (std::uint32_t i = 0; i < sources.size(); ++i) {
    script.Put(i + 2, sources[i], kSource).At(kSoon);
  }
  script.Reduce(3, "mean", sources, 4, ReduceOp::kAverage);
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    script.Get(node, "mean");
  }
  script.Put(4, "c", kLarge).At(kSoon).Abandons();
  script.Put(4, "c", kLarge).At(20 * kSoon);
  script.Get(6, "c").At(30 * kSoon);
  script.Get(5, "nothing").Within(50 * kSoon).MayFail();
  script.Delete(5, "a").At(kLater);
  script.Get(6, "a").At(2 * kLater).Within(kSoon).MayFail();
  std::vector<std::string> all = {"b", "c", "mean"};
  all.insert(all.end(), sources.begin(), sources.end());
  for (const std::string& object : all) {
    script.Delete(2, object).At(3 * kLater);
  }
}

// A store in which a second object finds no room.
void WriteCrowded(Script& script) {
  script.Put(2, "first", kLarge);
  script.Put(2, "second", kLarge)
      .At(absl::Milliseconds(50))
      .Within(absl::Milliseconds(100))
      .MayFail();
}

void WriteReduction(Script& script) {
  constexpr absl::Duration kStart = absl::Milliseconds(100);
  const std::vector<std::string> sources = Names("source", 5);
  for (std::uint32_t i = 0; i < sources.size(); ++i) {
    script.Put(i + 3, sources[i], kLarge).At(i * absl::Milliseconds(1));
  }
  script.Reduce(3, "sum", sources, 4).At(kStart).Within(absl::Seconds(10));
  for (std::uint32_t node = 1; node <= 4; ++node) {
    script.Get(node, "sum").At(kStart).Within(absl::Seconds(10));
  }
}

constexpr absl::Duration kLossAt = absl::Milliseconds(105);

void CrashAt(Scenario& scenario, absl::Duration at, std::uint32_t node) {
  Simulation& simulation = scenario.simulation();
  simulation.agenda().After(at, [&simulation, node] {
    simulation.Crash(NodeId(node), absl::Milliseconds(1));
  });
}

// A reduction that loses a member half way, and has a spare.
void WriteMended(Scenario& scenario) {
  WriteReduction(scenario.script());
  CrashAt(scenario, kLossAt, 5);
}

// A chain of receivers that loses its first relay half way.
void WriteOrphaned(Scenario& scenario) {
  Script& script = scenario.script();
  script.Put(2, "object", kLarge);
  for (std::uint32_t node = 4; node <= kNodes; ++node) {
    script.Get(node, "object")
        .At(absl::Milliseconds(100 + node / 4))
        .Within(absl::Seconds(10))
        .MayFail();
  }
  CrashAt(scenario, kLossAt, 4);
}

// A node joins, and one that lives is declared dead.
void WriteMembers(Scenario& scenario) {
  scenario.script().Put(2, "object", kLarge);
  Simulation& simulation = scenario.simulation();
  simulation.agenda().After(absl::Milliseconds(50),
                            [&simulation] { simulation.Join(1); });
  simulation.agenda().After(absl::Milliseconds(100),
                            [&simulation] { simulation.Suspect(NodeId(5)); });
  simulation.agenda().After(absl::Seconds(5), [] {});
}

// The host of an object's shard dies after it was put.
void WriteBereft(Scenario& scenario) {
  const std::uint32_t host = 2 + IdFromName("a").shard().value() % (kNodes - 1);
  scenario.script().Put(host == 2 ? 3 : 2, "a", kLarge);
  CrashAt(scenario, absl::Milliseconds(100), host);
  scenario.checkers().recovery().ExpectRecovery(absl::UnixEpoch() +
                                                absl::Seconds(1));
}

// What is going on while the mistake is made.
enum class Setting { kBusy, kCrowded, kMended, kOrphaned, kMembers, kBereft };
constexpr Setting kSettings[] = {Setting::kBusy,    Setting::kCrowded,
                                 Setting::kMended,  Setting::kOrphaned,
                                 Setting::kMembers, Setting::kBereft};

void Write(Setting setting, Scenario& scenario) {
  switch (setting) {
    case Setting::kBusy:
      WriteBusy(scenario.script());
      scenario.checkers().leaks().ExpectEmptyStores();
      return;
    case Setting::kCrowded:
      WriteCrowded(scenario.script());
      return;
    case Setting::kMended:
      WriteMended(scenario);
      return;
    case Setting::kOrphaned:
      WriteOrphaned(scenario);
      return;
    case Setting::kMembers:
      WriteMembers(scenario);
      return;
    case Setting::kBereft:
      WriteBereft(scenario);
      return;
  }
}

struct Outcome {
  bool made = false;
  Violations violations;
  std::string text;  // of the violations
};

Outcome RunWith(Mistake mistake, Setting setting) {
  const auto plant = std::make_shared<Plant>();
  plant->mistake = mistake;
  SimulationOptions options;
  options.node_count = kNodes;
  options.make_machine = MakeFaultyNodes(plant);
  if (setting == Setting::kCrowded) {
    options.store_capacity = kLarge + kLarge / 2;
  }
  const bool loses_one =
      setting == Setting::kMended || setting == Setting::kOrphaned;
  if (loses_one) options.shard_host_count = 2;  // nodes 2 and 3
  CheckerOptions checks;
  checks.faults = loses_one;
  Scenario scenario(options, checks);
  Write(setting, scenario);
  scenario.Run();
  return Outcome{plant->made, scenario.checkers().violations(),
                 scenario.Problems()};
}

TEST(CanaryTest, WithoutAMistakeNoCheckerSaysAnything) {
  for (const Setting setting : kSettings) {
    const Outcome outcome = RunWith(Mistake::kNone, setting);
    EXPECT_TRUE(outcome.violations.empty())
        << "setting " << static_cast<int>(setting) << "\n"
        << outcome.text;
  }
}

// Each rule of the protocol, a mistake against it, and who must see that.
struct Case {
  absl::string_view rule;
  Mistake mistake;
  absl::string_view checker;
  Setting setting = Setting::kBusy;
};

constexpr absl::string_view kCircle = "the fetch graph has no cycle";
constexpr absl::string_view kBound = "no copy serves more than its bound";
constexpr absl::string_view kOnce = "an object crosses into a node once";
constexpr absl::string_view kResume =
    "a receiver never goes back to byte 0 because its server died";
constexpr absl::string_view kLoss =
    "an object is lost when nobody has it, and not before";
constexpr absl::string_view kServed = "nobody sends what it does not hold";
constexpr absl::string_view kExactlyOnce =
    "a source goes in exactly once or not at all";
constexpr absl::string_view kSame = "all readers get the same bytes";
constexpr absl::string_view kFinal = "a final target never changes";
constexpr absl::string_view kReported =
    "the set that is reported is the set that is in the bytes";
constexpr absl::string_view kMending =
    "a lost position and its ancestors start again, under new generations";
constexpr absl::string_view kGeneration =
    "only the same generation of an id goes on";
constexpr absl::string_view kIds =
    "ids and incarnations are given out once, and grow";
constexpr absl::string_view kFenced =
    "an older incarnation is refused, and begins anew";
constexpr absl::string_view kVerdict = "only the head's verdict moves members";
constexpr absl::string_view kRebuilt =
    "a shard concludes nothing before all have reported";
constexpr absl::string_view kEnds = "each call ends once, by its deadline";
constexpr absl::string_view kMemory = "memory comes back, and not too early";

constexpr Case kCases[] = {
    {kServed, Mistake::kServeOtherObject, TransferChecker::kName},
    {kGeneration, Mistake::kServeAbandonedPut, ContentChecker::kName},
    {kServed, Mistake::kSkipBytes, TransferChecker::kName},
    {kCircle, Mistake::kGrantCircle, TransferChecker::kName},
    {kBound, Mistake::kGrantTwice, TransferChecker::kName},
    {kOnce, Mistake::kFetchTwice, TransferChecker::kName},
    {kEnds, Mistake::kIgnorePull, RequestChecker::kName},
    {kResume, Mistake::kStartAgain, OrderChecker::kName, Setting::kOrphaned},
    {kExactlyOnce, Mistake::kFoldSourceTwice, ContentChecker::kName},
    {kReported, Mistake::kDropSource, ContentChecker::kName},
    {kReported, Mistake::kReportOtherSource, ContentChecker::kName},
    {kExactlyOnce, Mistake::kFoldOneLess, ContentChecker::kName},
    {kExactlyOnce, Mistake::kForgetDivisor, ContentChecker::kName},
    {kMending, Mistake::kForgetAncestor, RequestChecker::kName,
     Setting::kMended},
    {kGeneration, Mistake::kKeepGeneration, TransferChecker::kName,
     Setting::kMended},
    {kMending, Mistake::kTakeLostInput, OrderChecker::kName, Setting::kMended},
    {kFinal, Mistake::kChangeFinal, ContentChecker::kName},
    {kSame, Mistake::kAnswerEarly, ContentChecker::kName},
    {kFinal, Mistake::kAnswerBeforeFinal, ContentChecker::kName},
    {kEnds, Mistake::kAnswerTwice, RequestChecker::kName},
    {kEnds, Mistake::kAnswerNever, RequestChecker::kName},
    {kEnds, Mistake::kAnswerLate, RequestChecker::kName},
    {kEnds, Mistake::kSealEarly, RequestChecker::kName},
    {kLoss, Mistake::kDenyObject, RequestChecker::kName},
    {kLoss, Mistake::kDeclareLoss, RequestChecker::kName},
    {kSame, Mistake::kAnswerPartialSum, ContentChecker::kName,
     Setting::kMended},
    {kMemory, Mistake::kKeepBuffer, LeakChecker::kName},
    {kMemory, Mistake::kReleaseTwice, OrderChecker::kName},
    {kMemory, Mistake::kEvictLastCopy, LeakChecker::kName, Setting::kCrowded},
    {kMemory, Mistake::kDeleteNothing, ContentChecker::kName},
    {kRebuilt, Mistake::kReportNothing, RequestChecker::kName,
     Setting::kBereft},
    {kRebuilt, Mistake::kTakeNoReport, RequestChecker::kName, Setting::kBereft},
    {kIds, Mistake::kAdmitAsAnother, MembershipChecker::kName,
     Setting::kMembers},
    {kIds, Mistake::kAdmitInOldLife, MembershipChecker::kName,
     Setting::kMembers},
    {kVerdict, Mistake::kMissMember, MembershipChecker::kName,
     Setting::kMembers},
    {kFenced, Mistake::kKeepTheDead, MembershipChecker::kName,
     Setting::kMembers},
    {kVerdict, Mistake::kDropOnSuspicion, MembershipChecker::kName,
     Setting::kMended},
    {kFenced, Mistake::kLiveOn, MembershipChecker::kName, Setting::kMembers},
};

class MistakeTest : public testing::TestWithParam<Case> {};

TEST_P(MistakeTest, IsSeenByTheCheckerThatIsMeantForIt) {
  const Case& planted = GetParam();
  const Outcome outcome = RunWith(planted.mistake, planted.setting);
  ASSERT_TRUE(outcome.made) << "the scenario gave it no opportunity";
  EXPECT_TRUE(outcome.violations.FoundBy(planted.checker))
      << "not seen by " << planted.checker << ", though \"" << planted.rule
      << "\"; what was found:\n"
      << outcome.text;
}

INSTANTIATE_TEST_SUITE_P(All, MistakeTest, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<Case>& info) {
                           return std::string(ToString(info.param.mistake));
                         });

TEST(CanaryTest, EveryMistakeHasACase) {
  for (const Mistake mistake : AllMistakes()) {
    EXPECT_EQ(std::ranges::count(kCases, mistake, &Case::mistake), 1)
        << ToString(mistake);
  }
}

}  // namespace
}  // namespace hoplite::sim
