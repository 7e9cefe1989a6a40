#include "hoplite/runtime/background_thread.h"

#include <latch>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hoplite {
namespace {

using ::testing::ElementsAre;

TEST(BackgroundThreadTest, WorkIsDoneInOrderByAnotherThread) {
  BackgroundThread thread;
  std::vector<int> done;
  std::latch all(3);
  for (const int i : {1, 2, 3}) {
    EXPECT_TRUE(thread.Do([&, i, caller = std::this_thread::get_id()] {
      EXPECT_NE(caller, std::this_thread::get_id());
      done.push_back(i);
      all.count_down();
    }));
  }
  all.wait();
  EXPECT_THAT(done, ElementsAre(1, 2, 3));
}

TEST(BackgroundThreadTest, StopWaitsForWhatIsDoneAndLeavesOutTheRest) {
  BackgroundThread thread;
  std::latch begun(1);
  std::latch go_on(1);
  std::vector<int> done;
  thread.Do([&] {
    begun.count_down();
    go_on.wait();
    done.push_back(1);
  });
  thread.Do([&] { done.push_back(2); });
  begun.wait();
  std::thread other([&] { go_on.count_down(); });
  thread.Stop();
  other.join();
  // The second may have been left out or done, but never cut.
  EXPECT_EQ(done.front(), 1);
  const auto after = done;
  EXPECT_FALSE(thread.Do([&] { done.push_back(3); }));
  EXPECT_EQ(done, after);
}

}  // namespace
}  // namespace hoplite
