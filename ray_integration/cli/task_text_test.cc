#include "ray_integration/cli/task_text.h"

#include <nlohmann/json.hpp>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hoplite::task {
namespace {

using ::testing::HasSubstr;

std::string Report() {
  return nlohmann::json(
             {{"host", "host3"},
              {"free", {{"cpu", 1.0}}},
              {"total", {{"cpu", 2.0}}},
              {"queued", 4},
              {"leased", 2},
              {"blocked", 0},
              {"actors", 1},
              {"idle", 1},
              {"processes",
               {{{"number", 1}, {"driver", true}, {"program", "/bin/learn"}},
                {{"number", 2},
                 {"driver", false},
                 {"leased_by", "worker 1 of node 3"},
                 {"actor", "MakeCounter"},
                 {"running", "0a1b"},
                 {"function", "Counter::Add"},
                 {"running_seconds", 1.25}},
                {{"number", 3},
                 {"driver", false},
                 {"leased_by", "worker 1 of node 3"},
                 {"running", ""}},
                {{"number", 4}, {"driver", false}}}}})
      .dump();
}

TEST(TaskTextTest, ShowsWhatEachProcessDoesOnALine) {
  const std::string text = TaskText(Report());
  EXPECT_THAT(text, HasSubstr("tasks on host3: cpu 1 of 2 free; 4 wait"));
  EXPECT_THAT(text, HasSubstr("\n  driver 1: /bin/learn\n"));
  EXPECT_THAT(text, HasSubstr("\n  worker 2: actor of MakeCounter, leased by "
                              "worker 1 of node 3, runs Counter::Add for 1.2 "
                              "s, result 0a1b\n"));
  EXPECT_THAT(text, HasSubstr("\n  worker 3: leased by worker 1 of node 3, "
                              "runs nothing\n"));
  EXPECT_THAT(text, HasSubstr("\n  worker 4: idle\n"));
}

TEST(TaskTextTest, OfNoReportIsEmpty) { EXPECT_EQ(TaskText("no JSON"), ""); }

TEST(TaskTextTest, ReadsResourcesAndSaysWhatIsWrongWithThem) {
  const auto resources = ParseResources("cpu=4,gpu=0.5");
  ASSERT_TRUE(resources.ok()) << resources.status();
  EXPECT_EQ(resources->milli("cpu"), 4000);
  EXPECT_EQ(resources->milli("gpu"), 500);
  EXPECT_FALSE(ParseResources("cpu").ok());
  EXPECT_FALSE(ParseResources("cpu=-1").ok());
}

}  // namespace
}  // namespace hoplite::task
