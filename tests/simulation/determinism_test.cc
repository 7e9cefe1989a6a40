// The same seed gives the same run: twice in one process, and in two.
//
// Method: the hash of the whole trace is compared. Two processes differ in
// the order in which hash containers iterate and in all addresses.

#include <gtest/gtest.h>
#include <stdio.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "hoplite/sim/swarm.h"
#include "tools/cpp/runfiles/runfiles.h"

namespace hoplite::sim {
namespace {

using bazel::tools::cpp::runfiles::Runfiles;

constexpr std::uint64_t kSeeds = 20;

TEST(DeterminismTest, ASeedRunsTwiceTheSameInOneProcess) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const SwarmResult first = RunSwarm(DrawSwarmOptions(seed));
    const SwarmResult second = RunSwarm(DrawSwarmOptions(seed));
    EXPECT_GT(first.trace_lines, 0u);
    EXPECT_EQ(first.trace_hash, second.trace_hash) << "seed " << seed;
  }
}

TEST(DeterminismTest, TwoSeedsRunDifferently) {
  EXPECT_NE(RunSwarm(DrawSwarmOptions(1)).trace_hash,
            RunSwarm(DrawSwarmOptions(2)).trace_hash);
}

// What the program prints.
std::string Output(const std::string& command) {
  std::string output;
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  char buffer[4096];
  while (const std::size_t count = fread(buffer, 1, sizeof(buffer), pipe)) {
    output.append(buffer, count);
  }
  pclose(pipe);
  return output;
}

TEST(DeterminismTest, ASeedRunsTheSameInTwoProcesses) {
  std::string error;
  const std::unique_ptr<Runfiles> runfiles(Runfiles::CreateForTest(&error));
  ASSERT_NE(runfiles, nullptr) << error;
  const std::string command =
      absl::StrCat("'", runfiles->Rlocation("hoplite/tests/simulation/swarm"),
                   "' --trace-hash --seeds=", kSeeds);
  const std::string first = Output(command);
  const std::string second = Output(command);
  EXPECT_NE(first.find(absl::StrCat("seed ", kSeeds, " trace ")),
            std::string::npos)
      << first;
  EXPECT_EQ(first, second);
}

}  // namespace
}  // namespace hoplite::sim
