// The simulated world alone: the order in which things come.

#include "hoplite/sim/simulation.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "hoplite/sim/observer.h"
#include "hoplite/sim/scenario.h"
#include "hoplite/sim/script.h"

namespace hoplite::sim {
namespace {

constexpr std::uint32_t kNodes = 4;
constexpr NodeId kSlow(4);

// What each node says to each other, as it is sent and as it is heard; and
// what the store of one node does, as it is ordered and as it is heard.
class Order final : public Observer {
 public:
  using Way = std::pair<NodeRef, NodeRef>;

  void OnEvent(absl::Time, NodeRef node, const Event& event) override {
    if (const auto* got = std::get_if<event::MessageReceived>(&event)) {
      heard[{got->from, node}].push_back(got->message);
    } else if (const auto* made = std::get_if<event::BufferCreated>(&event)) {
      if (node.node == kSlow) created.push_back(made->buffer);
    }
  }
  void OnCommand(absl::Time, NodeRef node, const Command& command) override {
    if (const auto* send = std::get_if<command::Send>(&command)) {
      sent[{node, send->to}].push_back(send->message);
    } else if (const auto* made =
                   std::get_if<command::CreateBuffer>(&command)) {
      if (node.node == kSlow) ordered.push_back(made->buffer);
    }
  }

  std::map<Way, std::vector<Message>> sent;
  std::map<Way, std::vector<Message>> heard;
  std::vector<BufferId> ordered;
  std::vector<BufferId> created;
};

// All nodes put, and get, something new every 100 us.
void RunWith(void (*faults)(Simulation& simulation)) {
  SimulationOptions options;
  options.node_count = kNodes;
  Scenario scenario(options, CheckerOptions{.slack = absl::Seconds(1)});
  Order order;
  scenario.simulation().AddObserver(&order);
  const std::vector<std::string> names = Names("object", 160);
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    const absl::Duration start = i / kNodes * absl::Microseconds(100);
    scenario.script().Put(1 + i % kNodes, names[i], 64 << 10).At(start);
    scenario.script().Get(1 + (i + 1) % kNodes, names[i]).At(start);
  }
  faults(scenario.simulation());
  scenario.Run();
  EXPECT_EQ(scenario.Problems(), "");
  EXPECT_TRUE(order.heard == order.sent);
  EXPECT_EQ(order.created, order.ordered);
  EXPECT_GT(order.created.size(), 0u);
}

// Begins another fault while one is there, which lasts beyond it.
void After(Simulation& simulation, absl::Duration start,
           std::function<void()> fault) {
  simulation.agenda().At(absl::UnixEpoch() + start, std::move(fault));
}

// Found by seed 19645 of the swarm: what had come before the second fault
// waited for the end of the first one, was put off once more, and then came
// after what had come later and had known of the second one.
TEST(SimulationTest, ANodeThatIsStoppedAgainHearsAllInOrder) {
  RunWith([](Simulation& simulation) {
    simulation.Stop(kSlow, absl::Milliseconds(2));
    After(simulation, absl::Milliseconds(1),
          [&] { simulation.Stop(kSlow, absl::Milliseconds(3)); });
  });
}

TEST(SimulationTest, AWayThatIsCutAgainKeepsItsOrder) {
  RunWith([](Simulation& simulation) {
    simulation.Cut(NodeId(2), kSlow, absl::Milliseconds(2));
    After(simulation, absl::Milliseconds(1),
          [&] { simulation.Cut(NodeId(2), kSlow, absl::Milliseconds(3)); });
  });
}

TEST(SimulationTest, NewsThatAreDelayedToANodeThatIsStoppedKeepTheirOrder) {
  RunWith([](Simulation& simulation) {
    simulation.DelayNews(kSlow, absl::UnixEpoch() + absl::Milliseconds(2));
    After(simulation, absl::Milliseconds(1),
          [&] { simulation.Stop(kSlow, absl::Milliseconds(3)); });
  });
}

}  // namespace
}  // namespace hoplite::sim
