// Tasks that kill their workers, and nodes that are killed under them: every
// result is right, and what they have taken is given back.

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "hoplite/base/random.h"
#include "tests/integration/tasks/task_cluster.h"

namespace hoplite {
namespace {

// No wave of tasks takes longer, unless it hangs.
constexpr absl::Duration kPatience = absl::Minutes(6);

struct Plan {
  std::int64_t tasks;
  std::int64_t worker_kills;
  int nodes;
  int node_kills;
};

constexpr Plan kShort{2'000, 20, 4, 1};
constexpr Plan kFull{100'000, 1'000, 8, 2};

std::uint64_t NewSeed() {
  const char* given = std::getenv("HOPLITE_SEED");
  const std::uint64_t seed =
      given != nullptr
          ? std::strtoull(given, nullptr, 10)
          : static_cast<std::uint64_t>(absl::ToUnixMicros(absl::Now()));
  std::cout << "HOPLITE_SEED=" << seed << std::endl;
  return seed;
}

// Nodes of the cluster but its head, in the order in which they are killed.
std::vector<int> DrawVictims(const Plan& plan, std::uint64_t seed) {
  std::vector<int> nodes;
  for (int node = 1; node < plan.nodes; ++node) nodes.push_back(node);
  Random random(seed);
  random.Shuffle(nodes);
  nodes.resize(static_cast<std::size_t>(plan.node_kills));
  return nodes;
}

// Reads what the driver says until it has finished, and kills a victim each
// time that another equal part of the tasks is done; false where the driver
// fails.
bool Drive(const Plan& plan, TaskCluster& cluster, testbed::HostProcess& driver,
           const std::vector<int>& victims) {
  std::size_t killed = 0;
  for (;;) {
    const auto line = driver.ReadLine(absl::Now() + kPatience);
    EXPECT_TRUE(line.ok()) << line.status() << "\n" << driver.StandardError();
    if (!line.ok()) return false;
    const nlohmann::json said = nlohmann::json::parse(*line, nullptr, false);
    EXPECT_TRUE(said.is_object()) << *line;
    if (!said.is_object()) return false;
    if (said.contains("finished")) break;
    const auto part =
        plan.tasks / static_cast<std::int64_t>(victims.size() + 1);
    if (killed < victims.size() &&
        said.value("done", std::int64_t{0}) >=
            part * static_cast<std::int64_t>(killed + 1)) {
      std::cout << *line << ": node " << victims[killed] << " is killed"
                << std::endl;
      cluster.Kill(victims[killed++]);
    }
  }
  EXPECT_EQ(killed, victims.size());
  return true;
}

// The hosts of the workers that were killed, which the files name.
std::vector<std::string> HostsOfKilled(const std::string& markers) {
  std::vector<std::string> hosts;
  for (const auto& marker : std::filesystem::directory_iterator(markers)) {
    std::ifstream file(marker.path());
    std::getline(file, hosts.emplace_back());
  }
  return hosts;
}

// ray-project/ray#2454, dask/distributed#6110 and many more: work that was lost
// with its worker, or came back twice; memory that nobody gave back.
TEST(SurvivalTest, TasksOutliveTheirWorkersAndTheirNodes) {
  const Plan plan = std::getenv("HOPLITE_SOAK") != nullptr ? kFull : kShort;
  const std::uint64_t seed = NewSeed();
  TaskCluster cluster(plan.nodes);
  ASSERT_TRUE(cluster.ok());
  const std::uint64_t bytes_before = cluster.StoreBytes();
  const std::uint64_t records_before = cluster.DirectoryRecords();
  const std::string markers = absl::StrCat(cluster.folder(), "/killed");
  std::filesystem::create_directory(markers);
  const auto driver =
      cluster.Start(0, "tests/integration/tasks/survival_driver",
                    {absl::StrCat(plan.tasks), absl::StrCat(plan.worker_kills),
                     absl::StrCat(seed), markers});
  ASSERT_NE(driver, nullptr);
  ASSERT_TRUE(Drive(plan, cluster, *driver, DrawVictims(plan, seed)));
  const std::vector<std::string> hosts = HostsOfKilled(markers);
  EXPECT_EQ(hosts.size(), plan.worker_kills);
  EXPECT_EQ(std::set<std::string>(hosts.begin(), hosts.end()).size(),
            plan.nodes)
      << "some nodes ran no tasks";
  // While the driver lives: nothing is held that is not used any more.
  EXPECT_TRUE(
      cluster.AwaitMemory(bytes_before, records_before, absl::Seconds(60)))
      << cluster.StoreBytes() << " bytes in the stores, before " << bytes_before
      << "; " << cluster.DirectoryRecords()
      << " objects in the directory, before " << records_before;
  driver->CloseInput();
  const auto code = driver->Wait(absl::Now() + kPatience);
  EXPECT_EQ(code.value_or(-1), 0) << driver->StandardError();
}

}  // namespace
}  // namespace hoplite
