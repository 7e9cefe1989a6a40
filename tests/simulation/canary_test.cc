// The checkers are tested by mistakes that are known.
//
// Method: the same scenario runs once as it is, and then once for each
// mistake, which a machine in front of a node makes at its first opportunity.
// Without a mistake no checker may say anything; with one, a checker that is
// meant for such a thing must.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
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

struct Outcome {
  bool made = false;
  Violations violations;
  std::string text;  // of the violations
};

Outcome RunWith(Mistake mistake) {
  const bool crowded = mistake == Mistake::kEvictLastCopy;
  const auto plant = std::make_shared<Plant>();
  plant->mistake = mistake;
  SimulationOptions options;
  options.node_count = kNodes;
  options.make_machine = MakeFaultyNodes(plant);
  if (crowded) options.store_capacity = kLarge + kLarge / 2;
  Scenario scenario(options);
  if (crowded) {
    WriteCrowded(scenario.script());
  } else {
    WriteBusy(scenario.script());
    scenario.checkers().leaks().ExpectEmptyStores();
  }
  scenario.Run();
  return Outcome{plant->made, scenario.checkers().violations(),
                 scenario.Problems()};
}

TEST(CanaryTest, WithoutAMistakeNoCheckerSaysAnything) {
  const Outcome outcome = RunWith(Mistake::kNone);
  EXPECT_TRUE(outcome.violations.empty()) << outcome.text;
}

struct Case {
  Mistake mistake;
  absl::string_view checker;  // that must see it
};

constexpr Case kCases[] = {
    {Mistake::kServeOtherObject, TransferChecker::kName},
    {Mistake::kServeAbandonedPut, ContentChecker::kName},
    {Mistake::kSkipBytes, TransferChecker::kName},
    {Mistake::kGrantCircle, TransferChecker::kName},
    {Mistake::kGrantTwice, TransferChecker::kName},
    {Mistake::kFetchTwice, TransferChecker::kName},
    {Mistake::kIgnorePull, RequestChecker::kName},
    {Mistake::kFoldSourceTwice, ContentChecker::kName},
    {Mistake::kDropSource, ContentChecker::kName},
    {Mistake::kReportOtherSource, ContentChecker::kName},
    {Mistake::kFoldOneLess, ContentChecker::kName},
    {Mistake::kForgetDivisor, ContentChecker::kName},
    {Mistake::kAnswerEarly, ContentChecker::kName},
    {Mistake::kAnswerBeforeFinal, ContentChecker::kName},
    {Mistake::kAnswerTwice, RequestChecker::kName},
    {Mistake::kAnswerNever, RequestChecker::kName},
    {Mistake::kAnswerLate, RequestChecker::kName},
    {Mistake::kSealEarly, RequestChecker::kName},
    {Mistake::kDenyObject, RequestChecker::kName},
    {Mistake::kKeepBuffer, LeakChecker::kName},
    {Mistake::kReleaseTwice, OrderChecker::kName},
    {Mistake::kEvictLastCopy, LeakChecker::kName},
    {Mistake::kDeleteNothing, ContentChecker::kName},
};

class MistakeTest : public testing::TestWithParam<Case> {};

TEST_P(MistakeTest, IsSeenByTheCheckerThatIsMeantForIt) {
  const Outcome outcome = RunWith(GetParam().mistake);
  ASSERT_TRUE(outcome.made) << "the scenario gave it no opportunity";
  EXPECT_TRUE(outcome.violations.FoundBy(GetParam().checker))
      << "not seen by " << GetParam().checker << "; what was found:\n"
      << outcome.text;
}

INSTANTIATE_TEST_SUITE_P(All, MistakeTest, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<Case>& info) {
                           return std::string(ToString(info.param.mistake));
                         });

TEST(CanaryTest, EveryMistakeHasACase) {
  EXPECT_EQ(AllMistakes().size(), std::size(kCases));
}

}  // namespace
}  // namespace hoplite::sim
