#include "hoplite/cli/chaos_faults.h"

#include <gtest/gtest.h>

#include <map>

namespace hoplite::cli {
namespace {

std::vector<ChaosFault> AllFaults() {
  return {std::begin(kChaosFaults), std::end(kChaosFaults)};
}

TEST(ChaosFaultsTest, TheSeedSaysAll) {
  ChaosFaults first(5, AllFaults());
  ChaosFaults second(5, AllFaults());
  ChaosFaults other(6, AllFaults());
  int different = 0;
  for (int i = 0; i < 100; ++i) {
    const DrawnFault a = first.Draw();
    const DrawnFault b = second.Draw();
    EXPECT_EQ(a.fault, b.fault);
    EXPECT_EQ(a.gap, b.gap);
    EXPECT_EQ(a.length, b.length);
    EXPECT_EQ(a.victim, b.victim);
    different += other.Draw().victim == a.victim ? 0 : 1;
  }
  EXPECT_GT(different, 90);
}

TEST(ChaosFaultsTest, EachKindComesEquallyOften) {
  ChaosFaults faults(1, AllFaults());
  std::map<ChaosFault, int> count;
  for (int i = 0; i < 50; ++i) ++count[faults.Draw().fault];
  for (const ChaosFault fault : kChaosFaults) EXPECT_EQ(count[fault], 10);
}

TEST(ChaosFaultsTest, OnlyThoseThatWereAskedFor) {
  ChaosFaults faults(1, {ChaosFault::kCut});
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(faults.Draw().fault, ChaosFault::kCut);
  }
}

TEST(ChaosFaultsTest, TheyLastAsLongAsTheHelpSays) {
  ChaosFaults faults(2, AllFaults());
  int short_silences = 0;
  int long_silences = 0;
  for (int i = 0; i < 500; ++i) {
    const DrawnFault drawn = faults.Draw();
    switch (drawn.fault) {
      case ChaosFault::kKill:
        EXPECT_GE(drawn.length, absl::Seconds(1));
        EXPECT_LE(drawn.length, absl::Seconds(5));
        break;
      case ChaosFault::kRestart:
        EXPECT_EQ(drawn.length, absl::ZeroDuration());
        break;
      case ChaosFault::kStop:
      case ChaosFault::kCut:
        EXPECT_GE(drawn.length, absl::Milliseconds(100));
        EXPECT_LE(drawn.length, absl::Seconds(10));
        ++(drawn.length < absl::Seconds(1) ? short_silences : long_silences);
        break;
      case ChaosFault::kHead:
        EXPECT_LE(drawn.length, absl::Seconds(2));
        break;
    }
  }
  // Those that are noticed, and those that are over before.
  EXPECT_GT(short_silences, 60);
  EXPECT_GT(long_silences, 60);
}

}  // namespace
}  // namespace hoplite::cli
