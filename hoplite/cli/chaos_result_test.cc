#include "hoplite/cli/chaos_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hoplite::cli {
namespace {

using ::testing::HasSubstr;

TEST(ChaosResultTest, PercentilesAreValuesThatWereSeen) {
  EXPECT_EQ(Percentile({}, 50), 0);
  EXPECT_EQ(Percentile({7}, 99), 7);
  EXPECT_EQ(Percentile({3, 1, 2}, 50), 2);
  std::vector<double> hundred;
  for (int i = 100; i > 0; --i) hundred.push_back(i);
  EXPECT_EQ(Percentile(hundred, 99), 99);
  EXPECT_EQ(Percentile(hundred, 100), 100);
}

TEST(ChaosResultTest, JsonHasTheNamesThatProgramsLookFor) {
  ChaosResult result;
  result.options.nodes = 8;
  result.faults[ChaosFault::kKill] = {.count = 2, .until_done_ms = {5, 9}};
  result.undisturbed_ms = {4};
  result.operations = 12;
  result.hangs = 1;
  result.wrong_bytes = 2;
  result.leaks = {"a", "b", "c"};
  const nlohmann::ordered_json json = ToJson(result);
  EXPECT_EQ(json["faults"]["kill"]["count"], 2);
  EXPECT_EQ(json["faults"]["kill"]["median_ms"], 5);
  EXPECT_EQ(json["faults"]["kill"]["p99_ms"], 9);
  EXPECT_EQ(json["undisturbed"]["median_ms"], 4);
  EXPECT_EQ(json["operations"], 12);
  EXPECT_EQ(json["hangs"], 1);
  EXPECT_EQ(json["wrong_bytes"], 2);
  EXPECT_EQ(json["leaked"], 3);
}

TEST(ChaosResultTest, AnyOfTheFourIsBad) {
  EXPECT_TRUE(ChaosResult().good());
  EXPECT_FALSE(ChaosResult{.hangs = 1}.good());
  EXPECT_FALSE(ChaosResult{.wrong_bytes = 1}.good());
  EXPECT_FALSE(ChaosResult{.wrong_ends = 1}.good());
  EXPECT_FALSE(ChaosResult{.leaks = {"x"}}.good());
}

TEST(ChaosResultTest, PeopleReadWhatWasFound) {
  ChaosResult result;
  result.faults[ChaosFault::kCut] = {.count = 3, .until_done_ms = {1500}};
  result.leaks = {"host 3: 5 sockets"};
  const std::string text = ChaosText(result);
  EXPECT_THAT(text, HasSubstr("cut"));
  EXPECT_THAT(text, HasSubstr("1500.0"));
  EXPECT_THAT(text,
              HasSubstr("0 hangs, 0 wrong bytes, 0 wrong ends, 1 leaked"));
  EXPECT_THAT(text, HasSubstr("host 3: 5 sockets"));
}

}  // namespace
}  // namespace hoplite::cli
