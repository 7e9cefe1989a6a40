// A tree of files stands in for /proc and /sys.

#include "hoplite/store/memory_limit.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hoplite {
namespace {

using ::testing::HasSubstr;

class MemoryLimitTest : public ::testing::Test {
 protected:
  MemoryLimitTest()
      : root_(::testing::TempDir() +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
  }

  void Write(const std::string& path, absl::string_view text) {
    const std::string whole = root_ + path;
    std::filesystem::create_directories(
        std::filesystem::path(whole).parent_path());
    std::ofstream(whole) << text;
  }

  const std::string root_;
};

TEST_F(MemoryLimitTest, NothingToReadLimitsNothing) {
  EXPECT_EQ(FindAvailableMemory(root_).bytes, UINT64_MAX);
}

TEST_F(MemoryLimitTest, TheMachineLimits) {
  Write("/proc/meminfo",
        "MemTotal:       2000 kB\nMemFree:         10 kB\n"
        "MemAvailable:   1000 kB\n");
  const AvailableMemory available = FindAvailableMemory(root_);
  EXPECT_EQ(available.bytes, 1000u * 1024);
  EXPECT_THAT(available.limited_by, HasSubstr("machine"));
}

TEST_F(MemoryLimitTest, AGroupOfVersion2LimitsWhatIsBelowIt) {
  Write("/proc/meminfo", "MemAvailable:   1000 kB\n");
  Write("/proc/self/cgroup", "0::/outer/inner\n");
  Write("/sys/fs/cgroup/outer/inner/memory.max", "max\n");
  Write("/sys/fs/cgroup/outer/inner/memory.current", "300000\n");
  Write("/sys/fs/cgroup/outer/memory.max", "700000\n");
  Write("/sys/fs/cgroup/outer/memory.current", "400000\n");
  Write("/sys/fs/cgroup/outer/memory.stat",
        "anon 5\ninactive_file 1000\nactive_file 2000\n");
  const AvailableMemory available = FindAvailableMemory(root_);
  EXPECT_EQ(available.bytes, 303'000u);
  EXPECT_THAT(available.limited_by, HasSubstr("/outer/memory.max"));
}

TEST_F(MemoryLimitTest, AGroupOfVersion1LimitsToo) {
  Write("/proc/self/cgroup", "5:devices:/x\n4:memory:/job\n0::/\n");
  Write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "700000\n");
  Write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "690000\n");
  Write("/sys/fs/cgroup/memory/job/memory.stat",
        "inactive_file 1\ntotal_inactive_file 50\n");
  EXPECT_EQ(FindAvailableMemory(root_).bytes, 10'050u);
}

// In a container the group's path is the host's, its files are at the mount.
TEST_F(MemoryLimitTest, TheGroupAtTheMountCountsWhateverThePath) {
  Write("/proc/self/cgroup", "0::/not/here\n");
  Write("/sys/fs/cgroup/memory.max", "500\n");
  Write("/sys/fs/cgroup/memory.current", "900\n");
  EXPECT_EQ(FindAvailableMemory(root_).bytes, 0u);
}

TEST_F(MemoryLimitTest, ThisMachineHasSomeMemory) {
  EXPECT_GT(FindAvailableMemory().bytes, 0u);
}

}  // namespace
}  // namespace hoplite
