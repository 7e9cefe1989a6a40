// Scripted runs in which a shard's host dies, or its messages are lost.
//
// Method: one broadcast, over and over; in each run the fault comes a little
// later, until it comes after the end. Whoever lives must be served, within a
// second, and the checkers watch.

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "hoplite/base/digest.h"
#include "hoplite/sim/scenario.h"
#include "hoplite/sim/script.h"

namespace hoplite::sim {
namespace {

constexpr std::uint32_t kNodes = 6;
constexpr std::uint32_t kHost = 4;
constexpr std::uint64_t kSize = 128 << 10;
constexpr absl::Duration kStep = absl::Microseconds(40);
constexpr absl::Duration kEnd = absl::Milliseconds(6);

// A name in a shard that node kHost hosts.
std::string NameOnHost() {
  for (int i = 0;; ++i) {
    const std::string name = absl::StrCat("object", i);
    if (2 + IdFromName(name).shard().value() % (kNodes - 1) == kHost) {
      return name;
    }
  }
}

SimulationOptions Options() {
  SimulationOptions options;
  options.node_count = kNodes;
  return options;
}

// Node 2 puts an object, all others but its shard's host Get it; then another
// is put under the same id, in vain.
void RunWith(absl::Duration time, bool small,
             void (*fault)(Simulation& simulation)) {
  SCOPED_TRACE(absl::StrCat("at ", absl::FormatDuration(time)));
  Scenario scenario(Options(), CheckerOptions{.faults = true});
  const std::string name = NameOnHost();
  Script& script = scenario.script();
  const auto put = small ? script.Put(2, name, 1000).WithPayload()
                         : script.Put(2, name, kSize);
  for (std::uint32_t node : {1u, 3u, 5u, 6u}) {
    script.Get(node, name).At((node - 1) * absl::Microseconds(500));
  }
  script.Put(5, name, kSize).At(absl::Seconds(1)).After(put).MayFail();
  script.Get(3, name).At(absl::Seconds(2));
  Simulation& simulation = scenario.simulation();
  simulation.agenda().After(time, [&] { fault(simulation); });
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  EXPECT_LT(scenario.End(), absl::Seconds(3) + absl::Milliseconds(500));
}

void Sweep(bool small, void (*fault)(Simulation& simulation)) {
  for (absl::Duration time; time < kEnd; time += kStep) {
    RunWith(time, small, fault);
  }
}

void HostDies(Simulation& simulation) {
  simulation.Crash(NodeId(kHost), absl::ZeroDuration());
}
void HostDiesAndSomeHearOfItLate(Simulation& simulation) {
  HostDies(simulation);
  for (std::uint32_t node : {2u, 5u}) {
    simulation.DelayNews(NodeId(node),
                         simulation.agenda().now() + absl::Milliseconds(300));
  }
}
void HostsStreamsBreak(Simulation& simulation) {
  for (std::uint32_t node : {2u, 3u, 5u, 6u}) {
    simulation.BreakControl(NodeId(kHost), NodeId(node),
                            absl::Microseconds(700));
  }
}

TEST(RecoveryTest, AShardsHostMayDieAtAnyTime) { Sweep(false, HostDies); }
TEST(RecoveryTest, ASmallObjectsHostMayDieAtAnyTime) { Sweep(true, HostDies); }
TEST(RecoveryTest, TheNewsOfADeathMayBeLate) {
  Sweep(false, HostDiesAndSomeHearOfItLate);
}
TEST(RecoveryTest, MessagesOfALargeObjectMayBeLostAtAnyTime) {
  Sweep(false, HostsStreamsBreak);
}
TEST(RecoveryTest, MessagesOfASmallObjectMayBeLostAtAnyTime) {
  Sweep(true, HostsStreamsBreak);
}

}  // namespace
}  // namespace hoplite::sim
