// The whole program on real nodes: it learns, and sums are what they must be.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "apps/parameter_server/learning_testing.h"

namespace hoplite::apps {
namespace {

constexpr int kHosts = 5;

std::vector<std::string> LinesOf(const std::string& path) {
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

TEST(Learning, AsynchronouslyItReadsNinetySevenOfAHundredDigits) {
  LearningCluster cluster(kHosts);
  ASSERT_TRUE(cluster.ok());
  const std::string curves = absl::StrCat(testing::TempDir(), "/async.csv");
  const auto result = cluster.Run(
      {"--mode=async", "--workers=4", absl::StrCat("--curves=", curves)});
  EXPECT_EQ(result.value("quorum", 0), 2);
  EXPECT_EQ(result.value("updates", 0), 1000);
  EXPECT_GE(result.value("accuracy", 0.0), 0.97);
  EXPECT_EQ(result.value("replaced", -1), 0);
  const std::vector<std::string> lines = LinesOf(curves);
  ASSERT_GT(lines.size(), 10u);
  EXPECT_EQ(lines[0], "seconds,updates,samples,loss,accuracy");
}

TEST(Learning, SynchronouslyItReadsThemToo) {
  LearningCluster cluster(kHosts);
  ASSERT_TRUE(cluster.ok());
  const auto result = cluster.Run({"--mode=sync", "--workers=4"});
  EXPECT_EQ(result.value("quorum", 0), 4);
  EXPECT_GE(result.value("accuracy", 0.0), 0.97);
}

// The program itself checks every float of the last weights.
TEST(Learning, EachGradientOfThePapersGoesInOnce) {
  LearningCluster cluster(kHosts);
  ASSERT_TRUE(cluster.ok());
  for (const char* mode : {"async", "sync"}) {
    const auto result = cluster.Run(
        {absl::StrCat("--mode=", mode), "--workload=paper", "--model=resnet50",
         "--workers=4", "--compute-ms=2", "--iterations=30"});
    EXPECT_EQ(result.value("timed_updates", 0), 24) << mode;
    EXPECT_EQ(result.value("rolled_back", -1), 0) << mode;
    EXPECT_GT(result.value("samples_per_s", 0.0), 0) << mode;
  }
}

}  // namespace
}  // namespace hoplite::apps
