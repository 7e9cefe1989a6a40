// The checkers find what they are there to find.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "hoplite/sim/violations.h"
#include "ray_integration/scheduler/sim/mistake.h"
#include "ray_integration/scheduler/sim/options.h"
#include "ray_integration/scheduler/sim/simulation.h"

namespace hoplite::task::sim {
namespace {

// Seeds that are tried until a mistake has been made and found.
constexpr std::uint64_t kSeeds = 40;

// Those one of which is to find it.
std::vector<std::string> WhoFinds(Mistake mistake) {
  switch (mistake) {
    case Mistake::kNone:
      return {};
    case Mistake::kLoseRequest:
    case Mistake::kLoseRefusal:
    case Mistake::kForgetReturn:
    case Mistake::kForgetOwner:
    case Mistake::kLoseTask:
      return {"end"};
    case Mistake::kLoseGrant:
      return {"end", "answers"};
    case Mistake::kForgetWorker:
      return {"end", "workers"};
    case Mistake::kForgetResumed:
    case Mistake::kOvercommit:
      return {"resources"};
    case Mistake::kTakeUnready:
    case Mistake::kTakeResultsRoom:
      return {"room"};
    case Mistake::kReverseDepth:
      return {"order"};
    case Mistake::kForgetHops:
    case Mistake::kAnswerTwice:
      return {"answers"};
    case Mistake::kGrantTwice:
      return {"workers"};
    case Mistake::kReclaimAtOnce:
      return {"reclaim"};
    case Mistake::kFailCalls:
    case Mistake::kTooManyWorkers:
    case Mistake::kQueueTooLong:
      return {"bounds"};
    case Mistake::kAcceptTwice:
      return {"tasks"};
  }
  return {};
}

SimulationOptions OptionsFor(std::uint64_t seed, Mistake mistake) {
  SimulationOptions options = DrawOptions(seed);
  options.mistake = mistake;
  options.limit = absl::Minutes(1);
  options.nodes = 4;
  options.queued_max = 8;
  options.levels = 2;
  options.roots = 20;
  return options;
}

class SchedulerCanaryTest : public testing::TestWithParam<Mistake> {};

TEST_P(SchedulerCanaryTest, AMistakeIsFoundByTheCheckerThatIsThereForIt) {
  bool made = false;
  std::string found;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const SimulationResult result =
        Simulation(OptionsFor(seed, GetParam())).Run();
    made |= result.mistake_made;
    for (const hoplite::sim::Violation& each : result.violations) {
      for (const std::string& checker : WhoFinds(GetParam())) {
        if (each.checker == checker) return;
      }
      found += each.checker + ": " + each.what + "\n";
    }
  }
  ADD_FAILURE() << ToString(GetParam()) << " was "
                << (made ? "made and not found" : "never made") << "\n"
                << found;
}

std::string NameOf(const testing::TestParamInfo<Mistake>& info) {
  std::string name;
  bool begins = true;
  for (const char c : ToString(info.param)) {
    if (c < 'a' || c > 'z') {
      begins = true;
      continue;
    }
    name += begins ? static_cast<char>(c - 'a' + 'A') : c;
    begins = false;
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, SchedulerCanaryTest,
                         testing::ValuesIn(AllMistakes()), NameOf);

}  // namespace
}  // namespace hoplite::task::sim
