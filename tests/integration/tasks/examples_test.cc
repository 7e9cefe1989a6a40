// Each example of the task runtime runs, and says what it should.

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/tasks/task_cluster.h"

namespace hoplite {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// One cluster for all, as a user has it.
class ExamplesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { cluster_ = std::make_unique<TaskCluster>(3); }
  static void TearDownTestSuite() { cluster_.reset(); }

  void SetUp() override { ASSERT_TRUE(cluster_->ok()); }

  // What the example prints; a failure of the test where it fails.
  static std::string OutputOf(const std::string& example) {
    const DriverOutcome outcome =
        cluster_->Run(1, absl::StrCat("ray_integration/examples/", example));
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.error;
    return outcome.out;
  }

 private:
  static std::unique_ptr<TaskCluster> cluster_;
};

std::unique_ptr<TaskCluster> ExamplesTest::cluster_;

TEST_F(ExamplesTest, OfHelloTakesAResultBeforeItIsThere) {
  EXPECT_EQ(OutputOf("hello"), "HELLO, WORLD!\n");
}

TEST_F(ExamplesTest, OfATaskGraphCountsPrimes) {
  EXPECT_EQ(OutputOf("task_graph"), "there are 78498 primes below 1000000\n");
}

TEST_F(ExamplesTest, OfActorsKeepsALedger) {
  EXPECT_EQ(OutputOf("actors"),
            "after 300 deposits of at most 3 the balance is 1600\n");
}

TEST_F(ExamplesTest, OfLateArrivalsReducesThoseThatAreThere) {
  const std::string three = "is made of the workers [0-5], [0-5], [0-5]: ";
  EXPECT_THAT(OutputOf("late_reduce"),
              ContainsRegex(absl::StrCat("the first step ", three,
                                         ".*\nthe second step ", three)));
}

TEST_F(ExamplesTest, OfFailureSaysWhatHappened) {
  const std::string output = OutputOf("failure");
  EXPECT_THAT(output, HasSubstr("a task died once, and ended at attempt 2\n"));
  EXPECT_THAT(output, ContainsRegex("an error says: .*division by zero"));
  EXPECT_THAT(output, HasSubstr("started anew, it counts from 1\n"));
}

}  // namespace
}  // namespace hoplite
