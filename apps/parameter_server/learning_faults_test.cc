// Whatever dies, learning goes on, or ends as README.md says.

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "apps/parameter_server/learning_testing.h"
#include "hoplite/base/random.h"
#include "hoplite/testbed/host_process.h"

namespace hoplite::apps {
namespace {

constexpr int kHosts = 5;
constexpr std::size_t kWorkers = 4;

int KillCount() { return std::getenv("HOPLITE_SOAK") != nullptr ? 100 : 8; }

// Kills workers, drawn at random, until so many are dead.
void KillWorkers(const LearningCluster& cluster,
                 const testbed::HostProcess& program, int count) {
  Random random(7);
  for (int i = 0; i < count; ++i) {
    Pause(absl::Milliseconds(static_cast<double>(random.Between(100, 600))));
    const std::vector<pid_t> workers = cluster.Workers(&program);
    if (workers.empty()) continue;
    kill(workers[random.Below(workers.size())], SIGKILL);
  }
}

void LearnWhileWorkersAreKilled(const std::string& mode) {
  LearningCluster cluster(kHosts);
  ASSERT_TRUE(cluster.ok());
  const int kills = KillCount();
  const auto program = cluster.Start({absl::StrCat("--mode=", mode),
                                      absl::StrCat("--workers=", kWorkers),
                                      absl::StrCat("--seconds=", 20 + kills)});
  ASSERT_NE(program, nullptr);
  ASSERT_TRUE(cluster.AwaitWorkers(program.get(), kWorkers, 100));
  KillWorkers(cluster, *program, kills);
  const auto result = cluster.Result(*program);
  EXPECT_GE(result.value("accuracy", 0.0), 0.97);
  EXPECT_GE(result.value("replaced", 0), 1);
}

TEST(LearningFaults, WorkersThatAreKilledAreReplacedAsynchronously) {
  LearnWhileWorkersAreKilled("async");
}

TEST(LearningFaults, WorkersThatAreKilledAreReplacedSynchronously) {
  LearnWhileWorkersAreKilled("sync");
}

TEST(LearningFaults, ANodeThatIsLostTakesItsWorkersElsewhere) {
  LearningCluster cluster(kHosts);
  ASSERT_TRUE(cluster.ok());
  const auto program =
      cluster.Start({absl::StrCat("--workers=", kWorkers), "--seconds=40"});
  ASSERT_NE(program, nullptr);
  ASSERT_TRUE(cluster.AwaitWorkers(program.get(), kWorkers, 100));
  Pause(absl::Seconds(2));
  cluster.cluster().KillNode(2);
  const auto result = cluster.Result(*program);
  EXPECT_GE(result.value("accuracy", 0.0), 0.97);
  EXPECT_GE(result.value("replaced", 0), 1);
}

TEST(LearningFaults, AServerThatIsKilledGoesOnFromItsCheckpoint) {
  LearningCluster cluster(kHosts);
  ASSERT_TRUE(cluster.ok());
  const std::string path = absl::StrCat(testing::TempDir(), "/weights");
  const std::string checkpoint = absl::StrCat("--checkpoint=", path);
  const auto first =
      cluster.Start({"--workers=4", "--seconds=100", checkpoint});
  ASSERT_NE(first, nullptr);
  const absl::Time end = absl::Now() + absl::Seconds(60);
  while (absl::Now() < end && !std::filesystem::exists(path)) {
    Pause(absl::Milliseconds(50));
  }
  ASSERT_TRUE(std::filesystem::exists(path));
  ASSERT_TRUE(first->Signal(SIGKILL).ok());
  // What it owned ends with it.
  EXPECT_TRUE(cluster.AwaitWorkers(nullptr, 0, 0));
  const auto result =
      cluster.Run({"--workers=4", "--iterations=10", "--warmup=0", checkpoint});
  EXPECT_GT(result.value("updates", 0), 10);
  EXPECT_EQ(result.value("timed_updates", 0), 10);
}

}  // namespace
}  // namespace hoplite::apps
